//! Contents of what was decided long ago go; nothing else does.

use std::time::Duration;

use folkmoot_core::{Digest, Gate, Role, gate::Amendment};
use folkmoot_engine::{EngineSettings, Retention};

use crate::moot::{Moot, agent, alice, principal};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn moot() -> Moot {
    let retention = Retention { contents: Some(DAY * 30), ..Retention::default() };
    Moot::with(EngineSettings { retention, ..EngineSettings::default() }).await
}

/// Opens a gate with this summary that waits for as long as it takes.
async fn open(moot: &Moot, summary: &str) -> Gate {
    let mut request = moot.request("merge", None);
    request.new_gate.summary = summary.to_owned();
    request.new_gate.timeout = Some(folkmoot_core::Timeout::Never);
    moot.engine.open(agent().into(), request).await.unwrap().gate
}

async fn is_kept(moot: &Moot, summary: &str) -> bool {
    moot.engine.contents(vec![Digest::of(summary.as_bytes())]).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn contents_go_when_all_that_shows_them_was_decided_long_ago() {
    let moot = moot().await;
    let old = open(&moot, "old").await;
    let amendment =
        Amendment { gate: old.id.clone(), title: None, summary: Some("newer".to_owned()), risk: None, artifacts: None };
    let old = moot.engine.amend(agent().into(), amendment, None).await.unwrap();
    moot.approve(&old).await.unwrap();
    let shared = open(&moot, "shared").await;
    moot.approve(&shared).await.unwrap();
    open(&moot, "pending").await;
    // Opened as long ago, and decided not long ago.
    let late = open(&moot, "late").await;
    moot.clock.advance(DAY * 29);
    let younger = open(&moot, "shared").await;
    moot.approve(&late).await.unwrap();
    assert_eq!(moot.engine.retire().await, Ok(0), "nothing is old enough");
    moot.clock.advance(DAY * 3);
    assert_eq!(moot.engine.retire().await, Ok(2));
    for (summary, kept) in [("old", false), ("newer", false), ("shared", true), ("pending", true), ("late", true)] {
        assert_eq!(is_kept(&moot, summary).await, kept, "{summary}");
    }
    assert_eq!(moot.engine.retire().await, Ok(0), "once is enough");
    moot.approve(&younger).await.unwrap();
    moot.clock.advance(DAY * 32);
    assert_eq!(moot.engine.retire().await, Ok(2), "what was shared and what was late; the rest still waits");
    assert!(is_kept(&moot, "pending").await);
    let view = moot.engine.gate(&alice(), &old.id).await.unwrap();
    assert_eq!((view.summary, view.gate.decision().is_some()), (None, true));
    let report = moot.engine.verify(&alice()).await.unwrap();
    assert_eq!(report.problems, []);
    let (receipt, events, checkpoint) = moot.engine.receipt(&alice(), &old.id).await.unwrap();
    assert_eq!(receipt.check(&events, &checkpoint), [], "the receipt says that it was erased");
}

#[tokio::test]
async fn without_a_limit_everything_is_kept() {
    let moot = Moot::start().await;
    let gate = open(&moot, "old").await;
    moot.approve(&gate).await.unwrap();
    moot.clock.advance(DAY * 10_000);
    assert_eq!(moot.engine.retire().await, Ok(0));
    assert!(is_kept(&moot, "old").await);
}

#[tokio::test]
async fn what_was_erased_is_no_longer_in_memory_either() {
    let moot = Moot::start().await;
    let gate = open(&moot, "sk-secret").await;
    assert_eq!(moot.engine.summary(&gate).await.unwrap().as_deref(), Some("sk-secret"));
    let admin = principal("root", Role::Admin);
    let refused = moot.engine.erase_gate(admin.clone().into(), &gate.id, "a key".to_owned()).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code(), "content_in_use");
    moot.approve(&gate).await.unwrap();
    let erased = moot.engine.erase_gate(admin.into(), &gate.id, "a key".to_owned()).await.unwrap();
    assert_eq!((erased.digests, erased.scrubbed), (vec![gate.content.summary], true));
    assert_eq!(moot.engine.summary(&gate).await.unwrap(), None);
    let again = async |moot: &Moot| {
        let mut request = moot.request("merge", None);
        request.new_gate.summary = "sk-secret".to_owned();
        let refused = moot.engine.open(agent().into(), request).await.unwrap_err();
        assert_eq!(refused.refusal().unwrap().code(), "content_erased");
        assert_eq!(moot.engine.summary(&gate).await.unwrap(), None);
    };
    again(&moot).await;
    let moot = moot.restart().await;
    again(&moot).await;
    assert_eq!(moot.engine.verify(&alice()).await.unwrap().problems, []);
}
