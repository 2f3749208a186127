//! `GET /v1/gates`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, GateList, Problem};
use folkmoot_store::GateQuery;

use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{Query, limit},
    view,
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

/// Lists gates
///
/// Pending ones by risk, then deadline, then age; others newest first. Agents see their own.
#[utoipa::path(get, path = "/v1/gates", operation_id = "list_gates", tag = "gates", params(wire::GateQuery),
    responses((status = 200, body = GateList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Authenticated,
    Query(query): Query<wire::GateQuery>,
) -> Result<Json<GateList>, ApiError> {
    let query = GateQuery {
        status: query.status,
        run: query.run,
        session: query.session,
        requester: None,
        after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(query.limit, LIMIT, LIMIT_MAX)?,
    };
    let page = app.engine.gates(&who.principal, query).await?;
    let mut gates = Vec::with_capacity(page.items.len());
    for item in page.items {
        gates.push(view::with_edited(&app.engine, item).await?);
    }
    Ok(Json(GateList { gates, next: page.next.map(|next| next.to_string()) }))
}
