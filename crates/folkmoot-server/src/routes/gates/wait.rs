//! `GET /v1/gates/{id}/wait` and `POST /v1/gates/wait`: bounded waits, so that a client's own
//! timeout loses nothing.

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response, Sse, sse},
};
use folkmoot_api::wire::{self, Problem, WaitFor, WaitMany, Waited};
use folkmoot_core::GateId;
use folkmoot_engine::{GateView, Waiter};
use futures_util::{Stream, stream};
use tokio::time::{Instant, sleep_until};

use crate::{
    app::App,
    auth::{Authenticated, SendPermit},
    error::ApiError,
    extract::{AuthenticatedCall, GatePath, Query},
    view,
};

const TIMEOUT_MS: u64 = 30_000;
const TIMEOUT_MS_MAX: u64 = 60_000;
const GATES_MAX: usize = 10_000;
/// An answer about many gates ends after so many bytes of their texts.
const PAGE_BYTES: usize = 4 << 20;

/// Waits for a decision
///
/// Answers when the gate is decided, or at the timeout with its current state. An earlier decision
/// is returned at once.
#[utoipa::path(get, path = "/v1/gates/{id}/wait", operation_id = "wait_for_gate", tag = "gates", params(("id" = String, Path), WaitFor),
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    who: Authenticated,
    sending: SendPermit,
    GatePath(id): GatePath,
    Query(wait): Query<WaitFor>,
) -> Result<Json<wire::Gate>, ApiError> {
    let timeout = patience(wait.timeout_ms);
    sending.release();
    let found = tokio::select! {
        found = app.engine.wait(&who.principal, &id, timeout) => found?,
        () = app.closing.cancelled() => app.engine.gate(&who.principal, &id).await?,
    };
    if view::is_long(&found) {
        sending.hold_page(&app, &who.principal).await;
    }
    Ok(Json(view::waited_for(&app.engine, found).await?))
}

/// Waits for many gates
///
/// On one connection. Answers at the first decision (or when all are decided), or at the timeout.
/// With `Accept: text/event-stream` each gate is sent when it is decided, until all are. An answer
/// holds about 4 MiB of texts; decided gates beyond that stay in `pending`: wait for those again.
#[utoipa::path(post, path = "/v1/gates/wait", operation_id = "wait_for_gates", tag = "gates", request_body = WaitMany,
    responses((status = 200, body = Waited), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait_many(
    State(app): State<App>,
    headers: HeaderMap,
    sending: SendPermit,
    AuthenticatedCall { caller, body }: AuthenticatedCall<WaitMany>,
) -> Result<Response, ApiError> {
    if body.ids.len() > GATES_MAX {
        let detail = format!("ids has {} entries; wait for at most {GATES_MAX} on one connection", body.ids.len());
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail));
    }
    let mut waiter = app.engine.waiter(&caller.principal, body.ids).await?;
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/event-stream") {
        let heartbeat = sse::KeepAlive::new().interval(app.heartbeat());
        return Ok(Sse::new(decisions(app, waiter)).keep_alive(heartbeat).into_response());
    }
    sending.release();
    let decided = decided(&app, &mut waiter, body.all, patience(body.timeout_ms)).await?;
    sending.hold_page(&app, &caller.principal).await;
    let (mut shown, mut bytes) = (Vec::new(), 0);
    let mut pending: Vec<GateId> = waiter.pending().cloned().collect();
    for found in decided {
        // The rest can be waited for again.
        if bytes > PAGE_BYTES {
            pending.push(found.gate.id);
            continue;
        }
        let gate = view::waited_for(&app.engine, found).await?;
        let edited = gate.decision.as_ref().and_then(|decision| decision.edited.as_ref());
        bytes += gate.summary.as_ref().map_or(0, String::len) + edited.map_or(0, String::len);
        shown.push(gate);
    }
    Ok(Json(Waited { decided: shown, pending }).into_response())
}

/// Those of the gates that are decided at the timeout, or as soon as there are enough.
async fn decided(app: &App, waiter: &mut Waiter, all: bool, timeout: Duration) -> Result<Vec<GateView>, ApiError> {
    let deadline = Instant::now() + timeout;
    let mut decided = Vec::new();
    loop {
        // When one is enough and there is one, only take those that are already decided.
        let enough = !all && !decided.is_empty();
        let next = tokio::select! {
            biased;
            next = waiter.next() => next?,
            () = std::future::ready(()), if enough => None,
            () = sleep_until(deadline) => None,
            () = app.closing.cancelled() => None,
        };
        match next {
            Some(found) => decided.push(found),
            None => return Ok(decided),
        }
    }
}

fn decisions(app: App, waiter: Waiter) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(Some((app, waiter)), |state| async move {
        let (app, mut waiter) = state?;
        let next = tokio::select! {
            next = waiter.next() => next,
            () = app.closing.cancelled() => Ok(None),
        };
        let shown = match next {
            Ok(Some(found)) => view::waited_for(&app.engine, found).await.map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match shown {
            Ok(Some(gate)) => {
                let text = serde_json::to_string(&gate).unwrap_or_default();
                Some((Ok(sse::Event::default().event("gate").data(text)), Some((app, waiter))))
            }
            Ok(None) => Some((Ok(sse::Event::default().event("end").data("{}")), None)),
            Err(error) => {
                tracing::warn!("a stream of decisions ends early: {error}");
                None
            }
        }
    })
}

pub(crate) fn patience(timeout_ms: Option<u64>) -> Duration {
    Duration::from_millis(timeout_ms.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MS_MAX))
}
