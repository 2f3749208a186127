//! `/v1/webhooks`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{ChangeWebhook, NewWebhook, Problem, Tested, Webhook, WebhookList};
use folkmoot_core::{Name, Refusal, WebhookId, webhook};

use super::notify::tested;
use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
    notify,
};

/// Creates a webhook
///
/// It receives events as signed messages according to standardwebhooks.com. The secret is only in
/// this response. Admins only.
#[utoipa::path(post, path = "/v1/webhooks", operation_id = "create_webhook", tag = "webhooks", request_body = NewWebhook,
    responses((status = 201, body = Webhook), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn create(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<NewWebhook>,
) -> Result<Response, ApiError> {
    // Check the role first: callers without the right learn nothing about the address.
    app.engine.webhooks(&caller.principal).await?;
    let host = check_url(&app, &body.url)?;
    let name = match body.name {
        Some(name) => name,
        None => host.parse::<Name>().map_err(|_| Refusal::invalid("name", "cannot be the host's; say a name"))?,
    };
    let (id, key) = (app.engine.new_webhook_id(), app.key.public().id());
    let new = webhook::NewWebhook { id, name, url: body.url, events: body.events, key };
    let id = new.id.clone();
    let made = app.engine.create_webhook(caller, new).await?;
    // A repeated request returns the existing webhook, whose secret was already shown.
    let secret = (made.id == id).then(|| notify::secret(&app.key, &made).reveal());
    let location = format!("/v1/webhooks/{}", made.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(Webhook::new(made, secret))).into_response())
}

/// Lists webhooks
///
/// Without their secrets. Admins only.
#[utoipa::path(get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks",
    responses((status = 200, body = WebhookList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(State(app): State<App>, who: Authenticated) -> Result<Json<WebhookList>, ApiError> {
    let webhooks = app.engine.webhooks(&who.principal).await?;
    Ok(Json(WebhookList { webhooks: webhooks.into_iter().map(|webhook| Webhook::new(webhook, None)).collect() }))
}

/// Shows a webhook
///
/// Without its secret. Admins only.
#[utoipa::path(get, path = "/v1/webhooks/{id}", operation_id = "show_webhook", tag = "webhooks", params(("id" = String, Path)),
    responses((status = 200, body = Webhook), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<Webhook>, ApiError> {
    Ok(Json(Webhook::new(app.engine.webhook(&who.principal, &parse_id(&id)?).await?, None)))
}

/// Changes a webhook
///
/// Its address, its events, or whether it is enabled. Admins only.
#[utoipa::path(patch, path = "/v1/webhooks/{id}", operation_id = "change_webhook", tag = "webhooks",
    params(("id" = String, Path)), request_body = ChangeWebhook,
    responses((status = 200, body = Webhook), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn change(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body }: AuthenticatedCall<ChangeWebhook>,
) -> Result<Json<Webhook>, ApiError> {
    let ChangeWebhook { url, events, disabled } = body;
    let webhook = app.engine.webhook(&caller.principal, &parse_id(&id)?).await?.id;
    if let Some(url) = &url {
        check_url(&app, url)?;
    }
    let change = webhook::WebhookChange { webhook, url, events, disabled, rotate: None };
    Ok(Json(Webhook::new(app.engine.change_webhook(caller, change).await?, None)))
}

/// Gives a webhook a new secret
///
/// New messages are signed with it, and for a day also with the previous one. The secret is only in
/// this response. Admins only.
#[utoipa::path(post, path = "/v1/webhooks/{id}/rotate", operation_id = "rotate_webhook", tag = "webhooks",
    params(("id" = String, Path)), request_body = Empty,
    responses((status = 200, body = Webhook), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn rotate(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body: Empty {} }: AuthenticatedCall<Empty>,
) -> Result<Json<Webhook>, ApiError> {
    let before = app.engine.webhook(&caller.principal, &parse_id(&id)?).await?;
    let rotate = Some(app.key.public().id());
    let change = webhook::WebhookChange { rotate, ..webhook::WebhookChange::of(before.id) };
    let rotated = app.engine.change_webhook(caller, change).await?;
    // A repeated request returns the current state, whose secret was already shown.
    let secret = (rotated.generation > before.generation).then(|| notify::secret(&app.key, &rotated).reveal());
    Ok(Json(Webhook::new(rotated, secret)))
}

/// Removes a webhook
///
/// Its undelivered messages are dead. Admins only.
#[utoipa::path(delete, path = "/v1/webhooks/{id}", operation_id = "remove_webhook", tag = "webhooks",
    params(("id" = String, Path)),
    responses((status = 200, body = Webhook), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn remove(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<Webhook>, ApiError> {
    let removed = app.engine.remove_webhook(who.into(), parse_id(&id)?).await?;
    Ok(Json(Webhook::new(removed, None)))
}

/// Sends a test message to a webhook
///
/// Once and at once; the response has the result. Admins only.
#[utoipa::path(post, path = "/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "webhooks",
    params(("id" = String, Path)), request_body = Empty,
    responses((status = 200, body = Tested), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn test(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body: Empty {} }: AuthenticatedCall<Empty>,
) -> Result<Json<Tested>, ApiError> {
    let webhook = app.engine.webhook(&caller.principal, &parse_id(&id)?).await?;
    app.engine.must_show_person(&caller)?;
    app.engine.must_stand(caller.token.as_ref()).await?;
    Ok(Json(tested(webhook.name.as_str(), app.notifier.test_webhook(&webhook, app.engine.now()).await)))
}

/// An empty body.
#[derive(serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Empty {}

/// Refuses an address that could never be sent to, as far as is known now. Returns its host.
fn check_url(app: &App, url: &str) -> Result<String, Refusal> {
    let url = app.notifier.guard().check(url).map_err(|refused| Refusal::invalid("url", refused.to_string()))?;
    Ok(url.host_str().unwrap_or_default().to_owned())
}

/// An invalid id is an unknown webhook.
fn parse_id(text: &str) -> Result<WebhookId, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_FOUND, "unknown_webhook", "there is no webhook with this id");
    text.parse().map_err(unknown)
}
