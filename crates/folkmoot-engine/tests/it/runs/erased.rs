//! What a run is replayed with is not erased under it.

use std::time::Duration;

use folkmoot_core::{
    Digest, Role, Timeout,
    erase::Erasure,
    gate::{Choice, Review},
};
use folkmoot_engine::{Ctx, EngineSettings, Failure, GateSpec, Retention, Workflows};

use super::{House, start};
use crate::moot::{alice, principal};

/// Has a text edited, has a child double a number, and waits for somebody to say that it is done.
async fn parent(ctx: Ctx, n: u32) -> Result<(Option<String>, u32), Failure> {
    let draft = GateSpec::new("The draft").allow([Choice::Approve, Choice::Reject, Choice::Adjust]);
    let text = ctx.gate("text", draft).await?.edited;
    let doubled = ctx.child("child", "double@1", &n).await?;
    ctx.gate("last", GateSpec::new("Done?").timeout(Timeout::Never)).await?;
    Ok((text, doubled))
}

async fn double(_: Ctx, n: u32) -> Result<u32, Failure> {
    Ok(n * 2)
}

fn workflows() -> Workflows {
    Workflows::new().with("parent@1", parent).with("double@1", double)
}

/// A run that waits at its last gate.
async fn at_its_last_gate(house: &House) -> folkmoot_core::RunId {
    let id = house.start("parent@1", &21_000).await;
    let first = house.gate(&id).await;
    let review = Review { edited: Some("the better text".to_owned()), ..Review::on(&first, Choice::Adjust, "so") };
    house.engine.decide(alice().into(), review).await.unwrap();
    house.until(&id, |run| run.steps >= 3).await;
    house.parked(&id).await;
    id
}

#[tokio::test]
async fn neither_an_admin_nor_age_erases_what_a_run_that_is_not_over_is_replayed_with() {
    let mut house = House::with(workflows()).await;
    let id = at_its_last_gate(&house).await;
    house.engine.close().await;
    let day = Duration::from_secs(24 * 3600);
    let retention = Retention { contents: Some(day * 30), ..Retention::default() };
    house.engine =
        start(&house.store, EngineSettings { workflows: workflows(), retention, ..EngineSettings::default() }).await;
    for text in ["the better text", "42000"] {
        let erasure = Erasure { digests: vec![Digest::of(text.as_bytes())], reason: "a key".to_owned() };
        let refused = house.engine.erase(principal("root", Role::Admin).into(), erasure).await.unwrap_err();
        assert_eq!(refused.refusal().unwrap().code(), "content_in_use", "{text}");
    }
    house.clock.advance(day * 40);
    assert_eq!(house.engine.retire().await, Ok(0), "its gate and its child are over, but the run is not");
    house.approve(&id).await;
    assert_eq!(house.outcome(&id).await.unwrap(), serde_json::json!(["the better text", 42_000]));
    house.clock.advance(day * 40);
    assert!(house.engine.retire().await.unwrap() >= 4, "now all of it is over");
    assert_eq!(house.engine.verify(&alice()).await.unwrap().problems, []);
}

#[tokio::test]
async fn a_run_whose_edited_text_is_gone_fails_instead_of_going_on_without_it() {
    let mut house = House::with(workflows()).await;
    let id = at_its_last_gate(&house).await;
    // As an older version did it: the engine refuses this.
    let erasure = Erasure { digests: vec![Digest::of(b"the better text")], reason: "a key".to_owned() };
    let erase = folkmoot_core::Command {
        id: "erase-1".parse().unwrap(),
        by: folkmoot_core::Actor::Principal(principal("root", Role::Admin)),
        token: None,
        claims: None,
        idempotency: None,
        action: folkmoot_core::Action::Content(folkmoot_core::erase::Action::Erase(erasure)),
        quota: Default::default(),
        subscriptions: std::sync::Arc::default(),
    };
    folkmoot_store::Store::execute(&house.store, erase).await.unwrap();
    house.restart(workflows()).await;
    house.approve(&id).await;
    let failed = house.outcome(&id).await.unwrap_err();
    assert!(failed.starts_with("failed erased: the text that was decided on gate "), "{failed}");
}
