//! `GET /v1/runs`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, RunList};
use folkmoot_store::RunQuery;

use super::brief;
use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, limit},
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

/// Lists runs
///
/// The newest first. Agents see their own.
#[utoipa::path(get, path = "/v1/runs", operation_id = "list_runs", tag = "runs", params(wire::RunListParams),
    responses((status = 200, body = RunList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(query): Query<wire::RunListParams>,
) -> Result<Json<RunList>, ApiError> {
    let query = RunQuery {
        status: query.status,
        session: query.session,
        parent: query.parent,
        initiator: None,
        kind: None,
        after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(query.limit, LIMIT, LIMIT_MAX)?,
    };
    let page = app.engine.runs(&who.principal, query).await?;
    let runs = page.items.into_iter().map(|run| brief(&app.engine, run)).collect();
    Ok(Json(RunList { runs, next: page.next.map(|next| next.to_string()) }))
}
