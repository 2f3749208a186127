//! `GET /v1/debates/{id}/gates`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateGateQuery, GateList, Problem};

use crate::{
    app::App,
    auth::PageReader,
    debates,
    error::ApiError,
    extract::{Query, RunPath},
    view,
};

/// Lists the gates of a debate
///
/// Those that it opened itself, the newest first, at most 200.
#[utoipa::path(get, path = "/v1/debates/{id}/gates", operation_id = "debate_gates", tag = "debates",
    params(("id" = String, Path), DebateGateQuery),
    responses((status = 200, body = GateList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn gates(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
    Query(query): Query<DebateGateQuery>,
) -> Result<Json<GateList>, ApiError> {
    let run = debates::run(&app.engine, &who.principal, &id).await?;
    let mut gates = Vec::new();
    for found in debates::gates(&app.engine, &who.principal, &run, query.status).await? {
        gates.push(view::with_edited(&app.engine, found).await?);
    }
    Ok(Json(GateList { gates, next: None }))
}
