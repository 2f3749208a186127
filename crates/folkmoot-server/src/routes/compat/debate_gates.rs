//! `/v1/debate/{debate_id}/gates…`, in the format of HelixAgent's gate API. Shows only that
//! debate's gates.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, GateDecision, GateRequest, GateRequests, Problem};
use folkmoot_core::{GateId, GateStatus, Principal, Refusal, Run, RunId, gate::Choice};
use folkmoot_engine::{Caller, Error};
use folkmoot_store::GateView;
use serde_json::Value;

use crate::{
    app::App,
    auth::PageReader,
    debates,
    error::ApiError,
    extract::{AuthenticatedCall, PathText, unknown_gate, unknown_run},
    view,
};

/// Lists the gates at which a debate waits
///
/// In the format of HelixAgent's gate API.
#[utoipa::path(get, path = "/v1/debate/{debate_id}/gates", operation_id = "pending_gate_requests", tag = "debates",
    params(("debate_id" = String, Path)),
    responses((status = 200, body = GateRequests), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    PathText(debate): PathText,
) -> Result<Json<GateRequests>, ApiError> {
    let id: RunId = debate.parse().map_err(|_| unknown_run())?;
    let run = debates::run(&app.engine, &who.principal, &id).await?;
    let mut gates = Vec::new();
    for found in debates::gates(&app.engine, &who.principal, &run, Some(GateStatus::Pending)).await? {
        gates.push(request(&app, &run, found).await?);
    }
    Ok(Json(GateRequests { gates }))
}

/// Shows a gate of a debate
///
/// In the format of HelixAgent's gate API.
#[utoipa::path(get, path = "/v1/debate/{debate_id}/gates/{request_id}", operation_id = "show_gate_request", tag = "debates",
    params(("debate_id" = String, Path), ("request_id" = String, Path)),
    responses((status = 200, body = GateRequest), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    PageReader(who): PageReader,
    Path((debate, request_id)): Path<(String, String)>,
) -> Result<Json<GateRequest>, ApiError> {
    let (run, found) = find(&app, &who.principal, &debate, &request_id).await?;
    Ok(Json(request(&app, &run, found).await?))
}

/// Approves a gate of a debate
///
/// In the format of HelixAgent's gate API.
#[utoipa::path(post, path = "/v1/debate/{debate_id}/gates/{request_id}/approve", operation_id = "approve_gate_request", tag = "debates",
    params(("debate_id" = String, Path), ("request_id" = String, Path)), request_body(content = wire::Verdict, example = json!({"reason": "the tests cover it"})),
    responses((status = 200, body = GateDecision), (status = 202, body = GateRequest, description = "Your voice counts, and more are needed"), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn approve(
    State(app): State<App>,
    Path((debate, request_id)): Path<(String, String)>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<wire::Verdict>,
) -> Result<Response, ApiError> {
    say(&app, caller, &debate, &request_id, Choice::Approve, body).await
}

/// Rejects a gate of a debate
///
/// With a reason. In the format of HelixAgent's gate API.
#[utoipa::path(post, path = "/v1/debate/{debate_id}/gates/{request_id}/reject", operation_id = "reject_gate_request", tag = "debates",
    params(("debate_id" = String, Path), ("request_id" = String, Path)), request_body(content = wire::Verdict, example = json!({"reason": "nobody handled an empty input"})),
    responses((status = 200, body = GateDecision), (status = 202, body = GateRequest, description = "Your voice counts, and more are needed"), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn reject(
    State(app): State<App>,
    Path((debate, request_id)): Path<(String, String)>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<wire::Verdict>,
) -> Result<Response, ApiError> {
    say(&app, caller, &debate, &request_id, Choice::Reject, body).await
}

async fn say(
    app: &App,
    caller: Caller,
    debate: &str,
    request_id: &str,
    choice: Choice,
    body: wire::Verdict,
) -> Result<Response, ApiError> {
    let principal = caller.principal.clone();
    let (run, found) = find(app, &principal, debate, request_id).await?;
    let gate = found.gate.id;
    let decided = app.engine.decide(caller, body.on(gate.clone(), choice)?).await?;
    match decided.decision() {
        Some(decision) => Ok(Json(GateDecision {
            request_id: gate,
            decision: decision.decision,
            reviewer: decision.reviewer.clone(),
            reason: decision.reason.clone(),
            decided_at: decision.decided_at,
        })
        .into_response()),
        // That API has no quorum, and no word for a vote that decides nothing yet.
        None => {
            let waits = request(app, &run, app.engine.gate(&principal, &gate).await?).await?;
            Ok((StatusCode::ACCEPTED, Json(waits)).into_response())
        }
    }
}

/// Finds a gate of the debate in the path.
async fn find(app: &App, principal: &Principal, debate: &str, gate: &str) -> Result<(Run, GateView), ApiError> {
    let id: RunId = debate.parse().map_err(|_| unknown_run())?;
    let gate: GateId = gate.parse().map_err(|_| unknown_gate())?;
    let run = debates::run(&app.engine, principal, &id).await?;
    let found = app.engine.gate(principal, &gate).await?;
    if !debates::is_its_own(&run, &found.gate) {
        return Err(Refusal::UnknownGate { gate }.into());
    }
    Ok((run, found))
}

async fn request(app: &App, run: &Run, found: GateView) -> Result<GateRequest, Error> {
    let whole = view::whole(&app.engine, found).await?;
    let artifacts: BTreeMap<String, Value> = whole
        .artifacts
        .into_iter()
        .map(|artifact| {
            let is_json = artifact.media_type == "application/json";
            let content = artifact.content.map_or(Value::Null, |text| match serde_json::from_str(&text) {
                Ok(json) if is_json => json,
                _ => Value::String(text),
            });
            (artifact.name, content)
        })
        .collect();
    Ok(GateRequest {
        id: whole.id,
        debate_id: run.start.id.clone(),
        session_id: run.start.session_id.clone(),
        phase: whole.phase,
        summary: whole.summary.unwrap_or_default(),
        artifacts,
        requested_at: whole.requested_at,
        status: whole.status,
    })
}
