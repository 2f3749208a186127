//! `GET, POST /v1/halts` and `DELETE /v1/halts/{id}`

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, BlockedBy, HaltStatus, HeldBy, Problem, RaiseHalt};
use folkmoot_core::{HaltId, Hold, halt::NewHalt};

use crate::{
    app::App,
    auth::{Authenticated, PageReader},
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Raises a halt
///
/// Covered agents get no clearance until an admin lifts it. For admins, and tokens with the
/// capability `halt`.
#[utoipa::path(post, path = "/v1/halts", operation_id = "raise_halt", tag = "halts", request_body = RaiseHalt,
    responses((status = 201, body = wire::Halt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn raise(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<RaiseHalt>,
) -> Result<Response, ApiError> {
    let RaiseHalt { scope, agent_id, session_id, reason } = body;
    let new_halt = NewHalt { id: app.engine.new_halt_id(), scope, agent_id, session_id, reason };
    let halt = app.engine.raise_halt(caller, new_halt).await?;
    let location = format!("/v1/halts/{}", halt.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(wire::Halt::from(halt))).into_response())
}

/// Lifts a halt
///
/// Admins only. Answering a question does not lift a halt.
#[utoipa::path(delete, path = "/v1/halts/{id}", operation_id = "lift_halt", tag = "halts", params(("id" = String, Path)),
    responses((status = 200, body = wire::Halt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn lift(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<wire::Halt>, ApiError> {
    Ok(Json(app.engine.lift_halt(who.into(), parse_id(&id)?).await?.into()))
}

/// An invalid id is an unknown halt.
fn parse_id(text: &str) -> Result<HaltId, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_FOUND, "unknown_halt", "there is no halt with this id");
    text.parse().map_err(unknown)
}

/// Shows a halt
///
/// Also a lifted one, with who lifted it.
#[utoipa::path(get, path = "/v1/halts/{id}", operation_id = "show_halt", tag = "halts", params(("id" = String, Path)),
    responses((status = 200, body = wire::Halt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<wire::Halt>, ApiError> {
    Ok(Json(app.engine.halt(&who.principal, &parse_id(&id)?).await?.into()))
}

/// Lists who is halted, and by what
///
/// For everyone, each session and each agent: the questions and halts that hold it, the oldest
/// first. Agents see what holds themselves, the sessions in which they work, and everyone.
#[utoipa::path(get, path = "/v1/halts", operation_id = "list_halts", tag = "halts",
    responses((status = 200, body = HaltStatus), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn status(State(app): State<App>, PageReader(who): PageReader) -> Result<Json<HaltStatus>, ApiError> {
    let status = app.engine.halts(&who.principal).await?;
    let sees_everything = who.principal.role.sees_everything();
    let blocked = |holds: Vec<Arc<Hold>>| {
        let raised_by = |hold: &Hold| Some(hold.by.clone()).filter(|_| sees_everything && hold.id.question().is_none());
        let shown = |hold: Arc<Hold>| BlockedBy { raised_by: raised_by(&hold), ..BlockedBy::from(hold.as_ref()) };
        holds.into_iter().map(shown).collect::<Vec<_>>()
    };
    let held_by = HeldBy {
        system: blocked(status.system),
        sessions: status.sessions.into_iter().map(|(session, by)| (session, blocked(by))).collect(),
        agents: status.agents.into_iter().map(|(agent, by)| (agent, blocked(by))).collect(),
    };
    Ok(Json(HaltStatus {
        system_halted: !held_by.system.is_empty(),
        halted_sessions: held_by.sessions.keys().cloned().collect(),
        halted_agents: held_by.agents.keys().cloned().collect(),
        held_by,
    }))
}
