//! `GET, POST /v1/halts` and `DELETE /v1/halts/{id}`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, HaltStatus, HeldBy, Problem, RaiseHalt};
use folkmoot_core::{HaltId, halt::Raising};

use super::clearance::blocked;
use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Raises a halt
///
/// Whom it covers gets no clearance until an admin lifts it. Admins can, and whoever has a token
/// with the capability `halt`.
#[utoipa::path(post, path = "/v1/halts", operation_id = "raise_halt", tag = "halts", request_body = RaiseHalt,
    responses((status = 201, body = wire::Halt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn raise(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<RaiseHalt>,
) -> Result<Response, ApiError> {
    let RaiseHalt { scope, agent_id, session_id, reason } = body;
    let raising = Raising { id: app.engine.new_halt_id(), scope, agent_id, session_id, reason };
    let halt = app.engine.raise_halt(caller, raising).await?;
    let location = format!("/v1/halts/{}", halt.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(wire::Halt::from(halt))).into_response())
}

/// Lifts a halt
///
/// Admins can. No answer to a question lifts one.
#[utoipa::path(delete, path = "/v1/halts/{id}", operation_id = "lift_halt", tag = "halts", params(("id" = String, Path)),
    responses((status = 200, body = wire::Halt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn lift(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<wire::Halt>, ApiError> {
    Ok(Json(app.engine.lift_halt(who.into(), parse_id(&id)?).await?.into()))
}

/// What cannot be an id is an unknown halt.
fn parse_id(text: &str) -> Result<HaltId, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_FOUND, "unknown_halt", "there is no halt with this id");
    text.parse().map_err(unknown)
}

/// Shows a halt
///
/// Also one that was lifted, with by whom.
#[utoipa::path(get, path = "/v1/halts/{id}", operation_id = "show_halt", tag = "halts", params(("id" = String, Path)),
    responses((status = 200, body = wire::Halt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<wire::Halt>, ApiError> {
    Ok(Json(app.engine.halt(&who.principal, &parse_id(&id)?).await?.into()))
}

/// What is halted, and by what
///
/// For everyone, each session and each agent the questions and halts that hold it, oldest first.
/// Agents see what holds themselves, the sessions in which they work, and everyone.
#[utoipa::path(get, path = "/v1/halts", operation_id = "list_halts", tag = "halts",
    responses((status = 200, body = HaltStatus), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn status(State(app): State<App>, who: Authenticated) -> Result<Json<HaltStatus>, ApiError> {
    let status = app.engine.halts(&who.principal).await?;
    let held_by = HeldBy {
        system: blocked(&status.system),
        sessions: status.sessions.into_iter().map(|(session, by)| (session, blocked(&by))).collect(),
        agents: status.agents.into_iter().map(|(agent, by)| (agent, blocked(&by))).collect(),
    };
    Ok(Json(HaltStatus {
        system_halted: !held_by.system.is_empty(),
        halted_sessions: held_by.sessions.keys().cloned().collect(),
        halted_agents: held_by.agents.keys().cloned().collect(),
        held_by,
    }))
}
