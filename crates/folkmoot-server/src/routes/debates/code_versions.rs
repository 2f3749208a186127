//! `GET /v1/debates/{id}/code-versions`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, CodeVersionList, Problem};
use folkmoot_core::Refusal;
use folkmoot_debate::record::VersionQuery;
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

/// Reads the versions of a debate's code
///
/// The first first, each with what changed, how much of its tests it passes, and how good it was
/// judged to be.
#[utoipa::path(get, path = "/v1/debates/{id}/code-versions", operation_id = "code_versions", tag = "debates",
    params(("id" = String, Path), wire::VersionListParams),
    responses((status = 200, body = CodeVersionList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn code_versions(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
    Query(query): Query<wire::VersionListParams>,
) -> Result<Json<CodeVersionList>, ApiError> {
    let run = debates::run(&app.engine, &who.principal, &id).await?;
    let bad = |_| Refusal::invalid("cursor", "is invalid; use the `next` of the previous page unchanged");
    let shown = limit(query.limit, LIMIT, LIMIT_MAX)?;
    let after = query.cursor.map(|cursor| cursor.parse().map_err(bad)).transpose()?;
    // One more than the page holds, to know whether there is another.
    let query = VersionQuery { debate: id, after, limit: shown + 1 };
    let mut found = records::versions(&app.engine, &who.principal, query).await?;
    let more = found.len() > shown as usize;
    found.truncate(shown as usize);
    let next = found.last().filter(|_| more).map(|view| view.version_number.to_string());
    Ok(Json(CodeVersionList { versions: found.into_iter().map(|view| debates::version(&run, view)).collect(), next }))
}
