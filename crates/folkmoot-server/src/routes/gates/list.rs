//! `GET /v1/gates`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, GateList, Problem};
use folkmoot_core::GateStatus;
use folkmoot_store::GateQuery;

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, limit},
    view,
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

/// Lists gates
///
/// Pending ones by risk, deadline and age; others newest first. Agents see their own, and those of
/// workflows in their runs. `interleaved=true` alternates between requesters, so that nobody's
/// gates hide another's.
#[utoipa::path(get, path = "/v1/gates", operation_id = "list_gates", tag = "gates", params(wire::GateListParams),
    responses((status = 200, body = GateList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(query): Query<wire::GateListParams>,
) -> Result<Json<GateList>, ApiError> {
    let limit = limit(query.limit, LIMIT, LIMIT_MAX)?;
    let (items, next) = if query.interleaved {
        only_pending(&query)?;
        (app.engine.interleaved_gates(&who.principal, limit, query.brief).await?, None)
    } else {
        let query = GateQuery {
            status: query.status,
            run: query.run,
            session: query.session,
            requester: query.requested_by,
            brief: query.brief,
            after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
            limit,
        };
        let page = app.engine.gates(&who.principal, query).await?;
        (page.items, page.next)
    };
    let mut gates = Vec::with_capacity(items.len());
    for item in items {
        gates.push(view::with_edited(&app.engine, item).await?);
    }
    Ok(Json(GateList { gates, next: next.map(|next| next.to_string()) }))
}

/// Interleaving is available only for all pending gates.
fn only_pending(query: &wire::GateListParams) -> Result<(), ApiError> {
    let narrowed = query.run.is_some() || query.session.is_some() || query.requested_by.is_some();
    if narrowed || query.cursor.is_some() || query.status.is_some_and(|status| status != GateStatus::Pending) {
        let detail = "interleaved lists pending gates of all requesters; leave out status, run, session, requested_by and cursor";
        return Err(ApiError::bad_request("bad_query", detail));
    }
    Ok(())
}
