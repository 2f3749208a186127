//! `/v1/models`

use axum::{Json, extract::State};
use folkmoot_api::wire::{AskedModel, AskedModelQuery, Problem, ProviderList};
use folkmoot_core::{Refusal, Role};

use crate::{app::App, auth::Authenticated, error::ApiError, extract::Query, models};

/// Lists providers
///
/// All providers of this server's configuration and environment, with what each still needs. Not
/// for agents.
#[utoipa::path(get, path = "/v1/models", operation_id = "list_providers", tag = "operations",
    responses((status = 200, body = ProviderList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(State(app): State<App>, who: Authenticated) -> Result<Json<ProviderList>, ApiError> {
    let role = who.principal.role;
    if !role.sees_everything() {
        return Err(Refusal::RoleMayNot { role, verb: "list providers" }.into());
    }
    Ok(Json(models::list(&*app.voices).await))
}

/// Returns the provider that this server would ask
///
/// The provider and model, and why they are chosen. Nothing is sent to them.
#[utoipa::path(get, path = "/v1/models/asked", operation_id = "show_asked_model", tag = "operations", params(AskedModelQuery),
    responses((status = 200, body = AskedModel), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn asked(
    State(app): State<App>,
    who: Authenticated,
    Query(query): Query<AskedModelQuery>,
) -> Result<Json<AskedModel>, ApiError> {
    let asked = models::asked(&*app.voices, query.provider).await;
    let mut asked = asked.map_err(|problem| Refusal::invalid("provider", problem))?;
    if who.principal.role == Role::Agent {
        asked.base_url = None;
    }
    Ok(Json(asked))
}
