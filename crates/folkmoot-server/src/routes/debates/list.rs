//! `GET /v1/debates`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, DebateList, Problem};
use folkmoot_engine::RunSummaryQuery;
use folkmoot_workflows::debate::records;

use crate::{
    app::App,
    auth::PageReader,
    debates,
    error::ApiError,
    extract::{Query, limit},
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 200;

/// Lists debates
///
/// The newest first. Agents see their own.
#[utoipa::path(get, path = "/v1/debates", operation_id = "list_debates", tag = "debates", params(wire::DebateListParams),
    responses((status = 200, body = DebateList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(query): Query<wire::DebateListParams>,
) -> Result<Json<DebateList>, ApiError> {
    let query = RunSummaryQuery {
        status: query.status,
        after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(query.limit, LIMIT, LIMIT_MAX)?,
        ..RunSummaryQuery::default()
    };
    let page = records::debates(&app.engine, &who.principal, query).await?;
    let mut shown = Vec::with_capacity(page.items.len());
    for view in page.items {
        shown.push(debates::of_view(&app, &who.principal, view).await?.on_the_wire());
    }
    Ok(Json(DebateList { debates: shown, next: page.next.map(|next| next.to_string()) }))
}
