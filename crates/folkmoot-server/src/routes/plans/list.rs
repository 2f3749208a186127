//! `GET /v1/plans`

use axum::{Json, extract::State};
use folkmoot_api::wire::{PlanList, PlanQuery, Problem};
use folkmoot_core::run::RunKind;
use folkmoot_store::RunQuery;

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, limit},
    plans,
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 200;

/// Lists plans
///
/// The newest first. Agents see their own.
#[utoipa::path(get, path = "/v1/plans", operation_id = "list_plans", tag = "plans", params(PlanQuery),
    responses((status = 200, body = PlanList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(query): Query<PlanQuery>,
) -> Result<Json<PlanList>, ApiError> {
    let query = RunQuery {
        kind: Some(RunKind::Plan),
        after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(query.limit, LIMIT, LIMIT_MAX)?,
        ..RunQuery::default()
    };
    let page = app.engine.runs(&who.principal, query).await?;
    let mut shown = Vec::new();
    for run in page.items {
        // A run of this kind that was started with another input is not a plan.
        match plans::of_run(&app.engine, &who.principal, run).await {
            Ok(planned) => shown.push(planned.on_the_wire(false)),
            Err(error) if error.refusal().is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Json(PlanList { plans: shown, next: page.next.map(|next| next.to_string()) }))
}
