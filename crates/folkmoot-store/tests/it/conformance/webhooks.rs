use folkmoot_core::{
    Webhook,
    webhook::{PREVIOUS_FOR, WebhookChange},
};
use folkmoot_store::Store;

use crate::support::*;

pub(crate) async fn a_webhook_reads_back_through_its_whole_life(world: &World<impl Place>) {
    let store = &*world.store;
    let made = webhook_of(store.execute(hook("w1", "ops")).await);
    assert_eq!(store.webhooks().await, Ok(vec![made.clone()]));
    assert_eq!((made.generation, made.events.len(), made.created_at), (1, 7, noon()));
    let change = WebhookChange {
        url: Some("http://[::1]:8080/ä?\"='".to_owned()),
        events: Some(vec!["*".parse().unwrap()]),
        disabled: Some(true),
        rotate: Some("key-1".parse().unwrap()),
        ..WebhookChange::of(made.id.clone())
    };
    let changed = webhook_of(store.execute(rehook(change)).await);
    assert_eq!((changed.generation, changed.disabled, changed.seq), (2, true, 2));
    assert_eq!((&changed.key, &made.key), (&Some("key-1".parse().unwrap()), &changed.key));
    assert_eq!((made.previous_until, changed.previous_until), (None, Some(noon().plus(PREVIOUS_FOR))));
    assert_eq!(store.webhooks().await, Ok(vec![changed.clone()]));
    world.clock.advance(minutes(1));
    let removed = webhook_of(store.execute(unhook("w1")).await);
    assert_eq!(removed, Webhook { removed_at: Some(noon().plus(minutes(1))), seq: 3, ..changed });
    assert_eq!(store.webhooks().await, Ok(vec![removed]));
    assert_eq!(assert_sound(store).await.len(), 3);
}

pub(crate) async fn a_name_is_one_webhooks_within_a_batch_too(store: &impl Store) {
    let (first, second) = tokio::join!(biased; store.execute(hook("w1", "ops")), store.execute(hook("w2", "ops")));
    webhook_of(first);
    assert_eq!(refusal_of(second).code(), "channel_taken");
    let (gone, next) = tokio::join!(biased; store.execute(unhook("w1")), store.execute(hook("w2", "ops")));
    webhook_of(gone);
    webhook_of(next);
    let change = WebhookChange { rotate: Some("key-1".parse().unwrap()), ..WebhookChange::of("w1".parse().unwrap()) };
    assert_eq!(refusal_of(store.execute(rehook(change)).await).code(), "unknown_webhook");
    assert_eq!(refusal_of(store.execute(unhook("w3")).await).code(), "unknown_webhook");
    assert_eq!(store.webhooks().await.unwrap().len(), 2);
}
