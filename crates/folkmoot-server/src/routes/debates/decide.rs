//! `POST /v1/debates/{id}/approve` and `reject`

use axum::{Json, extract::State, http::StatusCode};
use folkmoot_api::wire::{self, Problem};
use folkmoot_core::{GateId, Refusal, RunId, gate::Choice};
use folkmoot_engine::Caller;

use crate::{
    app::App,
    debates,
    error::ApiError,
    extract::{AuthenticatedCall, RunPath},
    view,
};

/// Approves the gate at which a debate waits
///
/// Name the gate that you saw: send its id as `request_id`, or its `digest`. 409 if the debate
/// waits at no gate or is over.
#[utoipa::path(post, path = "/v1/debates/{id}/approve", operation_id = "approve_debate", tag = "debates", params(("id" = String, Path)),
    request_body = wire::Verdict,
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn approve(
    State(app): State<App>,
    RunPath(id): RunPath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<wire::Verdict>,
) -> Result<Json<wire::Gate>, ApiError> {
    say(&app, caller, &id, Choice::Approve, body).await
}

/// Rejects what a debate waits with
///
/// With a reason, and with the gate's id as `request_id` or its `digest`. What follows is as the
/// debate's `gates.on_rejected` says. 409 where it waits at no gate, also once it is over.
#[utoipa::path(post, path = "/v1/debates/{id}/reject", operation_id = "reject_debate", tag = "debates", params(("id" = String, Path)),
    request_body = wire::Verdict,
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn reject(
    State(app): State<App>,
    RunPath(id): RunPath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<wire::Verdict>,
) -> Result<Json<wire::Gate>, ApiError> {
    say(&app, caller, &id, Choice::Reject, body).await
}

async fn say(
    app: &App,
    caller: Caller,
    id: &RunId,
    choice: Choice,
    body: wire::Verdict,
) -> Result<Json<wire::Gate>, ApiError> {
    let gate = match &body.request_id {
        Some(gate) => named(app, &caller, id, gate).await?,
        None => held_at(app, &caller, id).await?,
    };
    if body.request_id.is_none() && body.digest.is_none() && caller.principal.role.decides() {
        // The debate may now wait at another gate than the one the caller saw. Callers who may not
        // decide get the refusal for their role instead.
        let detail = "say which gate you mean: send its id as `request_id`, or the `digest` of what you saw";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "gate_required", detail));
    }
    let decided = app.engine.decide(caller, body.on(gate, choice)?).await?;
    Ok(Json(view::written(&app.engine, decided).await?))
}

/// The gate of this id, if it is the debate's own.
async fn named(app: &App, caller: &Caller, id: &RunId, gate: &GateId) -> Result<GateId, ApiError> {
    let run = debates::run(&app.engine, &caller.principal, id).await?;
    let found = app.engine.gate(&caller.principal, gate).await?.gate;
    match debates::is_its_own(&run, &found) {
        true => Ok(found.id),
        false => Err(Refusal::UnknownGate { gate: found.id }.into()),
    }
}

/// The gate at which it waits. A request that is repeated with the same idempotency key gets the
/// same answer, even if the debate no longer waits there.
async fn held_at(app: &App, caller: &Caller, id: &RunId) -> Result<GateId, ApiError> {
    let run = debates::run(&app.engine, &caller.principal, id).await?;
    let mut pending = debates::pending(&app.engine, &caller.principal, &run).await?;
    let none = |code: &str, detail: String| Err(ApiError::new(StatusCode::CONFLICT, code, detail));
    match (pending.pop(), pending.is_empty()) {
        (Some(only), true) => Ok(only.id),
        (Some(_), false) => {
            let detail = "this debate waits at several gates; decide on each as /v1/gates/{id} lists it".to_owned();
            none("several_gates_pending", detail)
        }
        (None, _) => {
            let newest = debates::gates(&app.engine, &caller.principal, &run, None).await?.into_iter().next();
            match newest.filter(|_| caller.idempotency.is_some()) {
                Some(before) => Ok(before.gate.id),
                None => none("no_gate_pending", format!("this debate waits at no gate: it is {}", run.status())),
            }
        }
    }
}
