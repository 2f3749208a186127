//! `DELETE /v1/debates/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, CancelDebate, Problem};

use crate::{
    app::App,
    auth::Authenticated,
    debates,
    error::ApiError,
    extract::{Query, RunPath},
};

/// Cancels a debate
///
/// In any state. Work in flight is dropped, and its gates are closed. Its turns stay readable. 409
/// if it is over.
#[utoipa::path(delete, path = "/v1/debates/{id}", operation_id = "cancel_debate", tag = "debates",
    params(("id" = String, Path), CancelDebate),
    responses((status = 200, body = wire::Debate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    who: Authenticated,
    RunPath(id): RunPath,
    Query(why): Query<CancelDebate>,
) -> Result<Json<wire::Debate>, ApiError> {
    debates::run(&app.engine, &who.principal, &id).await?;
    let run = app.engine.cancel_run(who.clone().into(), id.clone(), why.reason.unwrap_or_default()).await?;
    debates::tidy::tidy(&app, &run).await;
    Ok(Json(debates::held(&app, &who.principal, &id).await?.on_the_wire()))
}
