//! `GET /v1/runs/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};

use super::shown;
use crate::{app::App, auth::PageReader, error::ApiError, extract::RunPath};

/// Shows a run
///
/// With its input, what it waits for, and its output.
#[utoipa::path(get, path = "/v1/runs/{id}", operation_id = "show_run", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, body = wire::Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
) -> Result<Json<wire::Run>, ApiError> {
    let run = app.engine.run(&who.principal, &id).await?;
    let input = app.engine.input(&run).await?;
    Ok(Json(shown(&app.engine, run).await?.given(input)))
}
