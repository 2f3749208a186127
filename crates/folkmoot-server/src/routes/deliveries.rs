//! `/v1/deliveries`

use axum::{Json, extract::State, http::StatusCode};
use folkmoot_api::wire::{self, Delivery, DeliveryList, Problem};
use folkmoot_core::DeliveryId;
use folkmoot_engine::DeliveryQuery;

use super::webhooks::Empty;
use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{AuthenticatedCall, PathText, Query, limit},
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

/// Lists deliveries
///
/// The newest first; `state=dead` are those that failed for good. Admins only.
#[utoipa::path(get, path = "/v1/deliveries", operation_id = "list_deliveries", tag = "webhooks", params(wire::DeliveryListParams),
    responses((status = 200, body = DeliveryList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Authenticated,
    Query(query): Query<wire::DeliveryListParams>,
) -> Result<Json<DeliveryList>, ApiError> {
    let query = DeliveryQuery {
        status: query.state,
        channel: query.channel,
        after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(query.limit, LIMIT, LIMIT_MAX)?,
    };
    let page = app.engine.deliveries(&who.principal, query).await?;
    let deliveries = page.items.into_iter().map(Delivery::from).collect();
    Ok(Json(DeliveryList { deliveries, next: page.next.map(|next| next.to_string()) }))
}

/// Shows a delivery
///
/// How often it was tried, why that failed, and when it is tried next. Admins only.
#[utoipa::path(get, path = "/v1/deliveries/{id}", operation_id = "show_delivery", tag = "webhooks",
    params(("id" = String, Path)),
    responses((status = 200, body = Delivery), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<Delivery>, ApiError> {
    Ok(Json(app.engine.delivery(&who.principal, &parse_id(&id)?).await?.into()))
}

/// Sends a delivery again
///
/// Now, under the same id, in any state. Admins only.
#[utoipa::path(post, path = "/v1/deliveries/{id}/resend", operation_id = "resend_delivery", tag = "webhooks",
    params(("id" = String, Path)), request_body = Empty,
    responses((status = 200, body = Delivery), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn resend(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body: Empty {} }: AuthenticatedCall<Empty>,
) -> Result<Json<Delivery>, ApiError> {
    Ok(Json(app.engine.redeliver(caller, parse_id(&id)?).await?.into()))
}

/// An invalid id is an unknown delivery.
fn parse_id(text: &str) -> Result<DeliveryId, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_FOUND, "unknown_delivery", "there is no delivery with this id");
    text.parse().map_err(unknown)
}
