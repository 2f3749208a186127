//! The planner API: `/api/plan`, `/api/approve`, `/api/execute-plan`. Errors have its format too.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{ApprovalResponse, Fault, PlanAnswer, PlanError, PlanRequest, StartPlan};
use folkmoot_core::{Principal, Refusal, RunId, SessionId, gate::Review};
use folkmoot_debate::plan::{self, ApprovalStatus, ApprovalType, code};
use folkmoot_engine::{Caller, Error};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    auth::{Authenticated, while_it_stands},
    error::ApiError,
    extract::{AuthenticatedCall, PathText, Query},
    plans::{self, PlanGate, PlanSnapshot, compat},
    routes::plans::events::stream,
};

/// How long a call waits for the next gate or the end.
const NEXT_GATE_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a plan (planner API)
///
/// Answers with the proposal to approve, or with the plan if it has one iteration; after 30 seconds
/// with its progress.
#[utoipa::path(post, path = "/api/plan", operation_id = "plan", tag = "planner", request_body = PlanRequest,
    responses((status = 200, body = PlanAnswer), (status = "4XX", body = PlanError)))]
pub(crate) async fn plan(
    State(app): State<App>,
    call: Result<AuthenticatedCall<PlanRequest>, ApiError>,
) -> Result<Json<PlanAnswer>, PlannerError> {
    let AuthenticatedCall { caller, body } = call?;
    let (principal, token) = (caller.principal.clone(), caller.token.clone());
    let named = body.session_id.clone();
    let wanted = StartPlan {
        goal: body.goal,
        max_iterations: body.max_iterations,
        checkpoint_interval: body.checkpoint_interval,
        session_id: body.session_id,
        entities: body.entities,
        ..StartPlan::default()
    };
    let in_session = |error: Error| {
        let error = match (error.refusal(), &named) {
            (Some(refusal @ Refusal::RunExists { .. }), Some(session)) => {
                let message = format!("session {session} has a plan already; use another session_id");
                PlannerError::new(StatusCode::CONFLICT, refusal.code(), message)
            }
            _ => error.into(),
        };
        PlannerError { session_id: named.clone(), ..error }
    };
    let run = plans::start(&app, caller, wanted).await.map_err(in_session)?;
    let settled = plans::settled(&app, &principal, &run.start.id, None, NEXT_GATE_TIMEOUT, true);
    let planned = while_it_stands(&app, token.as_ref(), settled).await?;
    answer(planned)
}

/// Shows the state of a plan (planner API)
#[utoipa::path(get, path = "/api/plan/{session_id}", operation_id = "plan_state", tag = "planner", params(("session_id" = String, Path)),
    responses((status = 200, body = PlanAnswer), (status = "4XX", body = PlanError)))]
pub(crate) async fn state(
    State(app): State<App>,
    who: Result<Authenticated, ApiError>,
    PathText(session): PathText,
) -> Result<Json<PlanAnswer>, PlannerError> {
    let id = of_session(&session)?;
    answer(plans::planned(&app.engine, &who?.principal, &id).await.map_err(|error| unknown(error, &session))?)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfSession {
    session_id: String,
}

/// Follows a plan (planner API)
///
/// As `/v1/plans/{id}/events`. It starts nothing.
#[utoipa::path(get, path = "/api/execute-plan", operation_id = "execute_plan", tag = "planner",
    params(OfSession, ("Last-Event-ID" = Option<u64>, Header, description = "The last position you have")),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = "4XX", body = PlanError)))]
pub(crate) async fn execute_plan(
    State(app): State<App>,
    who: Result<Authenticated, ApiError>,
    headers: HeaderMap,
    query: Result<Query<OfSession>, ApiError>,
) -> Result<Response, PlannerError> {
    let (who, Query(OfSession { session_id })) = (who?, query?);
    let id = of_session(&session_id)?;
    plans::planned(&app.engine, &who.principal, &id).await.map_err(|error| unknown(error, &session_id))?;
    Ok(stream(app, who, &headers, id).await?)
}

/// Decides on a proposal or a checkpoint
///
/// Answers with the next approval, or with the plan; after 30 seconds with its progress.
#[utoipa::path(post, path = "/api/approve", operation_id = "approve_plan", tag = "planner", request_body = ApprovalResponse,
    responses((status = 200, body = PlanAnswer), (status = "4XX", body = PlanError)))]
pub(crate) async fn approve(
    State(app): State<App>,
    call: Result<AuthenticatedCall<ApprovalResponse>, ApiError>,
) -> Result<Json<PlanAnswer>, PlannerError> {
    let AuthenticatedCall { caller, body } = call?;
    let approval_id: String = body.approval_id.chars().take(400).collect();
    let named = body.session_id.clone();
    decide(&app, caller, body).await.map_err(|error| PlannerError {
        approval_id: Some(approval_id),
        session_id: error.session_id.clone().or(named),
        ..error
    })
}

async fn decide(app: &App, caller: Caller, body: ApprovalResponse) -> Result<Json<PlanAnswer>, PlannerError> {
    let (principal, token) = (caller.principal.clone(), caller.token.clone());
    let PlanGateMatch { id, session, asked } = find(app, &principal, &body).await?;
    let in_session = |error: PlannerError| PlannerError { session_id: Some(session.clone()), ..error };
    let review = review(&asked, &body).map_err(in_session)?;
    let decided = app.engine.decide(caller, review).await;
    decided.map_err(|error| in_session(expired_or(error)))?;
    match (asked.request.approval_type, body.approval_status) {
        (ApprovalType::Proposal, ApprovalStatus::Rejected) => {
            return Ok(Json(compat::cancelled(code::REJECTED_PROPOSAL, "", session)));
        }
        (_, ApprovalStatus::Paused) => return Ok(Json(PlanAnswer::Paused(compat::paused(&asked, session)))),
        _ => {}
    }
    let settled = plans::settled(app, &principal, &id, Some(&asked.gate.id), NEXT_GATE_TIMEOUT, true);
    let planned = while_it_stands(app, token.as_ref(), settled).await?;
    answer(planned)
}

/// Translates the call into a gate's decision, with the digest of the gate that was found.
fn review(asked: &PlanGate, body: &ApprovalResponse) -> Result<Review, PlannerError> {
    let allowed = asked.request.approval_type.statuses();
    if !allowed.contains(&body.approval_status) {
        let words: Vec<&str> = allowed.iter().map(|status| status.word()).collect();
        let message = format!(
            "a {} takes no approval_status {:?}; say one of {}",
            asked.request.approval_type,
            body.approval_status.word(),
            words.join(", ")
        );
        return Err(PlannerError::new(StatusCode::BAD_REQUEST, "not_allowed", message));
    }
    let edited = match asked.request.approval_type {
        ApprovalType::Proposal if body.adjusted_strategy.is_some() => {
            return Err(misplaced("adjusted_strategy", "a checkpoint"));
        }
        ApprovalType::Checkpoint if body.adjusted_proposal.is_some() => {
            return Err(misplaced("adjusted_proposal", "a proposal"));
        }
        ApprovalType::Proposal => body.adjusted_proposal.clone(),
        ApprovalType::Checkpoint => body.adjusted_strategy.clone(),
    };
    // Forms send empty fields.
    let edited = edited.filter(|text| !text.trim().is_empty());
    // The planner API asks for no reason, but a rejection needs one.
    let said = body.feedback.clone().filter(|feedback| !feedback.trim().is_empty());
    let reason = said.clone().unwrap_or_else(|| format!("{} at /api/approve", body.approval_status));
    Ok(Review {
        edited,
        feedback: said,
        reviewer: body.reviewer.clone(),
        ..Review::on(&asked.gate, body.approval_status.choice(), reason)
    })
}

fn misplaced(field: &str, place: &str) -> PlannerError {
    PlannerError::new(StatusCode::BAD_REQUEST, "invalid", format!("{field} belongs to {place}; leave it out here"))
}

/// After the deadline, the planner API's error for an expired session.
fn expired_or(error: Error) -> PlannerError {
    let late = match error.refusal() {
        Some(Refusal::Overdue { .. }) => true,
        Some(Refusal::Decided { decision }) => decision.decision == folkmoot_core::gate::DecisionWord::TimedOut,
        _ => false,
    };
    if late { expired() } else { error.into() }
}

fn expired() -> PlannerError {
    PlannerError::new(StatusCode::GONE, code::EXPIRED, compat::EXPIRED)
}

/// The plan's gate that a call means.
struct PlanGateMatch {
    id: RunId,
    session: SessionId,
    asked: PlanGate,
}

/// Finds the gate by the session in the body or in the id. It must match both: the same name in
/// another session is another gate.
async fn find(app: &App, principal: &Principal, body: &ApprovalResponse) -> Result<PlanGateMatch, PlannerError> {
    let sessions = match &body.session_id {
        Some(session) => vec![session.clone()],
        None => plan::named(&body.approval_id).into_iter().collect(),
    };
    for session in &sessions {
        let Ok(id) = session.as_str().parse::<RunId>() else { continue };
        let run = match plans::planned(&app.engine, principal, &id).await {
            Err(Error::Refused(Refusal::UnknownRun { .. })) => continue,
            planned => planned?.run,
        };
        for gate in plans::gates(&app.engine, principal, &run, None).await? {
            let Some(asked) = plans::asked(&app.engine, &run, gate).await? else { continue };
            if asked.request.is_called(&body.approval_id, session) || asked.gate.id.as_str() == body.approval_id {
                return Ok(PlanGateMatch { id, session: session.clone(), asked });
            }
        }
    }
    if sessions.is_empty() {
        let message = "the approval_id names no session: send the session_id too";
        return Err(PlannerError::new(StatusCode::BAD_REQUEST, "session_required", message));
    }
    Err(PlannerError::new(StatusCode::NOT_FOUND, "unknown_approval", "Approval ID not found"))
}

fn of_session(session: &str) -> Result<RunId, PlannerError> {
    session.parse().map_err(|_| no_such_session(session))
}

fn no_such_session(session: &str) -> PlannerError {
    let shown: String = session.chars().take(128).collect();
    PlannerError::new(StatusCode::NOT_FOUND, "unknown_session", format!("there is no plan in session {shown:?}"))
}

fn unknown(error: Error, session: &str) -> PlannerError {
    match error.refusal() {
        Some(Refusal::UnknownRun { .. }) => no_such_session(session),
        _ => error.into(),
    }
}

fn answer(planned: PlanSnapshot) -> Result<Json<PlanAnswer>, PlannerError> {
    let session_id = planned.session().clone();
    let waits_for = planned.asked.as_ref().map(|asked| asked.request.approval_id(&session_id));
    compat::answer(planned).map(Json).map_err(|Fault { code, message }| {
        let status = if code == code::EXPIRED { StatusCode::GONE } else { StatusCode::CONFLICT };
        PlannerError {
            approval_id: waits_for,
            session_id: Some(session_id),
            ..PlannerError::new(status, &code, message)
        }
    })
}

/// An error in the planner API's body.
#[derive(Debug)]
pub(crate) struct PlannerError {
    status: StatusCode,
    code: String,
    message: String,
    approval_id: Option<String>,
    session_id: Option<SessionId>,
}

impl PlannerError {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self { status, code, message, approval_id: None, session_id: None }
    }
}

impl From<ApiError> for PlannerError {
    fn from(error: ApiError) -> Self {
        let (status, code, detail) = error.told();
        // The planner API uses one status for invalid requests.
        let is_bad = status == StatusCode::UNPROCESSABLE_ENTITY && code != Refusal::IdempotencyMismatch.code();
        Self::new(if is_bad { StatusCode::BAD_REQUEST } else { status }, code, detail)
    }
}

impl From<Error> for PlannerError {
    fn from(error: Error) -> Self {
        ApiError::from(error).into()
    }
}

impl IntoResponse for PlannerError {
    fn into_response(self) -> Response {
        let body = PlanError {
            status: "error".to_owned(),
            error: self.code.clone(),
            code: self.code,
            message: self.message,
            approval_id: self.approval_id,
            session_id: self.session_id,
        };
        (self.status, Json(body)).into_response()
    }
}
