//! `GET /v1/debates/{id}/turns`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateTurnList, DebateTurnQuery, Problem};
use folkmoot_core::Refusal;
use folkmoot_debate::record::TurnQuery;
use folkmoot_workflows::debate::records;

use crate::{
    app::App,
    auth::PageReader,
    debates,
    error::ApiError,
    extract::{Query, RunPath, limit},
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 200;

/// Reads what was said in a debate
///
/// Every turn, also those that do not count, in the order in which they were recorded.
#[utoipa::path(get, path = "/v1/debates/{id}/turns", operation_id = "debate_turns", tag = "debates",
    params(("id" = String, Path), DebateTurnQuery),
    responses((status = 200, body = DebateTurnList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn turns(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
    Query(query): Query<DebateTurnQuery>,
) -> Result<Json<DebateTurnList>, ApiError> {
    let run = debates::run(&app.engine, &who.principal, &id).await?;
    let bad = |_| Refusal::invalid("cursor", "is invalid; use the `next` of the previous page unchanged");
    let shown = limit(query.limit, LIMIT, LIMIT_MAX)?;
    let query = TurnQuery {
        debate: id,
        phase: query.phase,
        agent: query.agent,
        round: query.round,
        after: query.cursor.map(|cursor| cursor.parse().map_err(bad)).transpose()?,
        // One more than the page holds, to know whether there is another.
        limit: shown + 1,
    };
    let mut found = records::turns(&app.engine, &who.principal, query).await?;
    let more = found.len() > shown as usize;
    found.truncate(shown as usize);
    let next = found.last().filter(|_| more).map(|view| view.place.to_string());
    Ok(Json(DebateTurnList { turns: found.into_iter().map(|view| debates::turn(&run, view)).collect(), next }))
}
