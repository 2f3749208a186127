//! `GET /v1/clearance` and `GET /v1/clearance/wait`: an agent's request for clearance.

use axum::{Json, extract::State};
use folkmoot_api::wire::{AnswerGiven, BlockedBy, Clearance, ClearanceFor, ClearanceWaited, Problem};
use folkmoot_core::{Hold, Name, Principal, clearance::ReleaseReason};
use folkmoot_engine::{ClearanceGranted, ClearanceRefused, Release};

use crate::{
    app::App,
    auth::{Authenticated, Reader, SendPermit},
    error::ApiError,
    extract::Query,
    routes::gates::wait::patience,
};

/// Asks whether an agent may work
///
/// Answered from memory. It may work if no open halting question and no operator's halt covers it.
/// Agents are not told why another agent is halted.
#[utoipa::path(get, path = "/v1/clearance", operation_id = "check_clearance", tag = "clearance", params(ClearanceFor),
    responses((status = 200, body = Clearance), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn check(
    State(app): State<App>,
    who: Authenticated,
    Query(query): Query<ClearanceFor>,
) -> Result<Json<Clearance>, ApiError> {
    let agent = agent(&query, &who.principal);
    let session = query.session_id.as_ref().map(|session| session.as_str());
    if app.engine.can_proceed(agent.as_str(), session) {
        return Ok(Json(Clearance { can_proceed: true, blocked_by: Vec::new(), out_of_touch: false }));
    }
    let blocked_by = told(&app, &who.principal, &app.engine.blocked_by(agent.as_str(), session)).await;
    let out_of_touch = !app.engine.in_touch();
    // The hold may have gone since the first check.
    Ok(Json(Clearance { can_proceed: blocked_by.is_empty() && !out_of_touch, blocked_by, out_of_touch }))
}

/// Waits until an agent may work
///
/// Answers when nothing halts it any more, with the answers that cleared it; when its question was
/// denied (repeatedly, until it has acknowledged that); or at the timeout. The timeout applies no
/// default answer.
#[utoipa::path(get, path = "/v1/clearance/wait", operation_id = "wait_for_clearance", tag = "clearance", params(ClearanceFor),
    responses((status = 200, body = ClearanceWaited), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    Reader(who): Reader,
    sending: SendPermit,
    Query(query): Query<ClearanceFor>,
) -> Result<Json<ClearanceWaited>, ApiError> {
    let agent = agent(&query, &who.principal);
    let session = query.session_id.as_ref();
    let timeout = patience(query.timeout_ms);
    sending.release();
    let ended = tokio::select! {
        ended = app.engine.wait_for_clearance(&who.principal, &agent, session, timeout) => ended,
        () = app.closing.cancelled() => {
            let blocked_by = app.engine.blocked_by(agent.as_str(), session.map(|session| session.as_str()));
            Err(ClearanceRefused::Timeout { blocked_by, answers: Vec::new() })
        }
    };
    Ok(Json(match ended {
        Ok(ClearanceGranted { reason, answers }) => {
            ClearanceWaited { cleared: true, reason, answers: given(answers), blocked_by: Vec::new() }
        }
        Err(ClearanceRefused::Denied { answers }) => {
            let answers = given(answers);
            ClearanceWaited { cleared: false, reason: ReleaseReason::Denied, answers, blocked_by: Vec::new() }
        }
        Err(ClearanceRefused::Timeout { blocked_by, answers }) => ClearanceWaited {
            cleared: false,
            reason: ReleaseReason::Timeout,
            answers: given(answers),
            blocked_by: told(&app, &who.principal, &blocked_by).await,
        },
        Err(ClearanceRefused::Failed(error)) => return Err(error.into()),
    }))
}

fn agent(query: &ClearanceFor, who: &Principal) -> Name {
    query.agent_id.clone().unwrap_or_else(|| who.name.clone())
}

/// What holds somebody, without the reasons that this principal may not read.
async fn told(app: &App, principal: &Principal, holds: &[std::sync::Arc<Hold>]) -> Vec<BlockedBy> {
    let mut blocked: Vec<BlockedBy> = holds.iter().map(|hold| BlockedBy::from(hold.as_ref())).collect();
    for (hold, told) in holds.iter().zip(&mut blocked) {
        if told.reason.is_some() && !app.engine.may_read_reason(principal, hold).await {
            told.reason = None;
        }
    }
    blocked
}

fn given(releases: Vec<Release>) -> Vec<AnswerGiven> {
    let given = |release: Release| AnswerGiven::new(&release.id, release.answer, release.reason, release.reason_given);
    releases.into_iter().filter_map(given).collect()
}
