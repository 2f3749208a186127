//! `GET /api/ws`: pending and resolved decisions, in the format of front ends for quality gates.

use axum::{extract::State, http::HeaderMap, response::Response};
use folkmoot_api::wire::{
    self,
    compat::decision_frame::{DecisionFrame, DecisionFrameBody, Required, Resolved},
};
use folkmoot_core::{
    Event, Gate,
    gate::{Decision, GateEvent, Next},
};
use folkmoot_engine::Error;

use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::Query,
    routes::events::{self, FeedEnd, From},
    socket::{SocketDialect, SocketUpgrade},
};

/// Follows decisions over a WebSocket
///
/// Sends a text frame `decision_required` for each gate that opens or is amended, and
/// `decision_resolved` for each decision. Access and position are as for `/v1/ws`. Everything is
/// subscribed; messages from the client are ignored.
#[utoipa::path(get, path = "/api/ws", operation_id = "decisions_ws", tag = "feed", params(From),
    responses((status = 101, description = "Frames follow", body = DecisionFrame),
        (status = "4XX", body = wire::Problem, content_type = "application/problem+json")))]
pub(crate) async fn ws(
    State(app): State<App>,
    knock: SocketUpgrade,
    headers: HeaderMap,
    Query(from): Query<From>,
) -> Result<Response, ApiError> {
    let position = events::begin(&app, &headers, from).await?;
    Ok(knock.admit(app, position, Decisions))
}

struct Decisions;

impl SocketDialect for Decisions {
    fn begin(&self, _: u64) -> Option<String> {
        None
    }

    async fn tell(&self, app: &App, who: &Authenticated, event: &Event) -> Result<Option<String>, FeedEnd> {
        let Ok(happened) = GateEvent::read(&event.fact) else { return Ok(None) };
        let told = match happened {
            GateEvent::Opened(gate) => required(app, who, *gate).await,
            GateEvent::Amended { content, .. } => match gate(app, who, event).await? {
                Some(gate) => required(app, who, Gate { content: *content, ..gate }).await,
                None => return Ok(None),
            },
            GateEvent::Decided { decision, .. } => match gate(app, who, event).await? {
                Some(gate) => Ok(DecisionFrameBody::DecisionResolved(resolved(&gate, *decision))),
                None => return Ok(None),
            },
            GateEvent::Vote { .. }
            | GateEvent::Extended { .. }
            | GateEvent::Reminded { .. }
            | GateEvent::Escalated { .. }
            | GateEvent::Refused { .. } => return Ok(None),
        };
        let frame = DecisionFrame::new(event.position, told.map_err(|error| ended(&error))?);
        Ok(serde_json::to_string(&frame).ok())
    }

    fn hear(&self, _: &str) -> Result<Option<u64>, &'static str> {
        Ok(None)
    }
}

/// The event's gate; `None` if it is gone.
async fn gate(app: &App, who: &Authenticated, event: &Event) -> Result<Option<Gate>, FeedEnd> {
    let Ok(id) = event.fact.stream.parse() else { return Ok(None) };
    match app.engine.gate(&who.principal, &id).await {
        Ok(view) => Ok(Some(view.gate)),
        Err(error) if error.refusal().is_some() => Ok(None),
        Err(error) => Err(ended(&error)),
    }
}

/// A frame that cannot be built now is not skipped: the client must reconnect.
fn ended(error: &Error) -> FeedEnd {
    tracing::warn!("a socket ends early: {error}");
    FeedEnd::Unreadable
}

async fn required(app: &App, who: &Authenticated, gate: Gate) -> Result<DecisionFrameBody, Error> {
    let context = app.engine.summary(&gate).await?.unwrap_or_default();
    let title = match &gate.run_id {
        Some(run) => match app.engine.run(&who.principal, run).await {
            Ok(run) => Some(run.start.title).filter(|title| !title.is_empty()),
            Err(error) if error.refusal().is_some() => None,
            Err(error) => return Err(error),
        },
        None => None,
    };
    Ok(DecisionFrameBody::DecisionRequired(Required {
        decision_id: gate.id.clone(),
        task_id: task(&gate),
        task_title: title.unwrap_or_else(|| gate.content.title.clone()),
        phase: gate.content.phase.clone(),
        gate_type: gate.gate_type,
        question: gate.content.title,
        context,
        requested_at: gate.requested_at,
    }))
}

fn resolved(gate: &Gate, decision: Decision) -> Resolved {
    Resolved {
        decision_id: decision.request_id,
        task_id: task(gate),
        phase: gate.content.phase.clone(),
        approved: decision.outcome == Next::Proceed,
        reason: decision.reason,
        resolved_by: decision.reviewer,
        resolved_at: decision.decided_at,
    }
}

/// The run, else the session, else empty.
fn task(gate: &Gate) -> String {
    let run = gate.run_id.as_ref().map(|run| run.as_str());
    run.or(gate.session_id.as_ref().map(|session| session.as_str())).unwrap_or_default().to_owned()
}
