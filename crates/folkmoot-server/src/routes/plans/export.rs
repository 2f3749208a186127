//! `GET /v1/plans/{id}/export` and `GET /v1/plans/{id}/entities/{name}`

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{ExportPlan, PlanEntity, Problem};
use folkmoot_core::{Principal, Refusal, RunId};
use folkmoot_workflows::plan::{self, Plan, Planner};

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, RunPath},
    plans,
};

/// Exports a plan
///
/// As Markdown, or as a self-contained HTML page. An unfinished, cancelled or failed plan is
/// exported with its proposal and its iterations, each marked as accepted or undecided; 409 only if
/// there is nothing yet.
#[utoipa::path(get, path = "/v1/plans/{id}/export", operation_id = "export_plan", tag = "plans", params(("id" = String, Path), ExportPlan),
    responses((status = 200, body = String, content_type = "text/markdown"), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn export(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
    Query(as_what): Query<ExportPlan>,
) -> Result<Response, ApiError> {
    let (media_type, written) = match as_what.format.as_deref() {
        None | Some("markdown") => ("text/markdown; charset=utf-8", plan::markdown as fn(&Plan) -> String),
        Some("html") => ("text/html; charset=utf-8", plan::html as fn(&Plan) -> String),
        Some(other) => {
            let shown: String = other.chars().take(80).collect();
            return Err(ApiError::bad_request("bad_query", format!("format is {shown:?}; use markdown or html")));
        }
    };
    let text = written(&complete_or_draft(&app, &who.principal, &id).await?);
    // In a browser it is a separate page without any rights.
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, text).into_response())
}

/// Shows a part of a finished plan
#[utoipa::path(get, path = "/v1/plans/{id}/entities/{name}", operation_id = "show_plan_entity", tag = "plans",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = PlanEntity), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn entity(
    State(app): State<App>,
    PageReader(who): PageReader,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<PlanEntity>, ApiError> {
    let shown: String = format!("{id}/{name}").chars().take(200).collect();
    let unknown = || ApiError::from(Refusal::UnknownEntity { entity: shown.clone() });
    let id: RunId = id.parse().map_err(|_| unknown())?;
    let plan = complete(&app, &who.principal, &id).await?;
    let found = plan.entities.into_iter().find(|entity| entity.name == name).ok_or_else(unknown)?;
    Ok(Json(found.into()))
}

/// A plan, complete or not.
async fn complete_or_draft(app: &App, principal: &Principal, id: &RunId) -> Result<Plan, ApiError> {
    let planned = plans::planned(&app.engine, principal, id).await?;
    let message = planned.message();
    if let Some(plan) = planned.result {
        return Ok(plan);
    }
    let (workflows, draft) = Planner::replaying(Arc::clone(&app.voices));
    {
        let _one_of_few = app.replaying.acquire().await.expect("nobody closes it");
        app.engine.replay(principal, id, &workflows).await?;
    }
    draft.take().ok_or_else(|| {
        let detail = format!("there is nothing of this plan yet: {message}");
        ApiError::new(StatusCode::CONFLICT, "plan_not_complete", detail)
    })
}

async fn complete(app: &App, principal: &Principal, id: &RunId) -> Result<Plan, ApiError> {
    let planned = plans::planned(&app.engine, principal, id).await?;
    let message = planned.message();
    planned.result.ok_or_else(|| {
        let detail = format!("this plan is not complete: {message}");
        ApiError::new(StatusCode::CONFLICT, "plan_not_complete", detail)
    })
}
