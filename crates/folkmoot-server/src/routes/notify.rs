//! `/v1/notify`

use axum::{Json, extract::State, http::StatusCode};
use folkmoot_api::wire::{Channel, ChannelList, Delivery, Problem, TestChannel, Tested};
use folkmoot_core::{Principal, delivery::DeliveryStatus};
use folkmoot_engine::DeliveryQuery;
use folkmoot_notify::{SendFailure, settings::ChannelKind};

use crate::{app::App, auth::Authenticated, error::ApiError, extract::AuthenticatedCall};

/// Lists channels
///
/// Configured channels and webhooks, with their events and last failures. Admins only.
#[utoipa::path(get, path = "/v1/notify/channels", operation_id = "list_channels", tag = "webhooks",
    responses((status = 200, body = ChannelList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn channels(State(app): State<App>, who: Authenticated) -> Result<Json<ChannelList>, ApiError> {
    let webhooks = app.engine.webhooks(&who.principal).await?;
    let configured = app.notifier.channels().list().into_iter().map(|listed| Channel {
        name: listed.name,
        kind: listed.kind.to_string(),
        events: listed.events,
        problem: listed.problem,
        last_failure: None,
    });
    let webhooks = webhooks.into_iter().map(|webhook| Channel {
        problem: if webhook.disabled {
            Some("it is disabled".to_owned())
        } else {
            app.notifier.of_another_key(&webhook)
        },
        last_failure: None,
        name: webhook.name.to_string(),
        kind: ChannelKind::Webhook.to_string(),
        events: webhook.events,
    });
    let mut channels: Vec<Channel> = configured.chain(webhooks).collect();
    for channel in &mut channels {
        channel.last_failure = last_failure(&app, &who.principal, &channel.name).await?;
    }
    Ok(Json(ChannelList { channels }))
}

/// The last failed attempt of a waiting message, else of the newest dead one.
async fn last_failure(app: &App, principal: &Principal, channel: &str) -> Result<Option<Delivery>, ApiError> {
    for status in [DeliveryStatus::Waiting, DeliveryStatus::Dead] {
        let query = DeliveryQuery {
            status: Some(status),
            channel: Some(channel.to_owned()),
            limit: 1,
            ..DeliveryQuery::default()
        };
        let newest = app.engine.deliveries(principal, query).await?.items.pop();
        if let Some(failed) = newest.filter(|delivery| delivery.last_error.is_some()) {
            return Ok(Some(failed.into()));
        }
    }
    Ok(None)
}

/// Sends a test to a channel
///
/// Once and at once; the response has the result. Admins only.
#[utoipa::path(post, path = "/v1/notify/test", operation_id = "test_channel", tag = "webhooks", request_body = TestChannel,
    responses((status = 200, body = Tested), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn test(
    State(app): State<App>,
    AuthenticatedCall { caller, body: TestChannel { channel } }: AuthenticatedCall<TestChannel>,
) -> Result<Json<Tested>, ApiError> {
    let webhooks = app.engine.webhooks(&caller.principal).await?;
    app.engine.must_show_person(&caller)?;
    app.engine.must_stand(caller.token.as_ref()).await?;
    let told = if app.notifier.channels().has(&channel) {
        app.notifier.test_channel(&channel).await
    } else if let Some(webhook) = webhooks.iter().find(|webhook| webhook.name.as_str() == channel) {
        app.notifier.test_webhook(webhook, app.engine.now()).await
    } else {
        let detail = "there is no channel of this name; `folkmoot notify list` shows those there are";
        return Err(ApiError::new(StatusCode::NOT_FOUND, "unknown_channel", detail));
    };
    Ok(Json(tested(&channel, told)))
}

/// The result of a test.
pub(super) fn tested(channel: &str, told: Result<(), SendFailure>) -> Tested {
    let reason = told.err().map(|undelivered| undelivered.reason);
    Tested { channel: channel.to_owned(), delivered: reason.is_none(), reason }
}
