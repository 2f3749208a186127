use std::time::Duration;

use folkmoot_core::{
    Refusal, Timeout,
    gate::{Choice, GateKind, OnTimeout, Risk, SelfReview},
};
use folkmoot_store::{Error, GateView, Store};

use crate::support::*;

pub(crate) async fn an_opened_gate_reads_back_with_its_summary(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let summary = Some("Deploy 1.4.2 to production".to_owned());
    assert_eq!(store.gate(&gate.id).await, Ok(Some(GateView { gate, summary })));
}

pub(crate) async fn an_unknown_gate_is_nothing(store: &impl Store) {
    assert_eq!(store.gate(&id("gate-nobody-knows")).await, Ok(None));
    let refusal = refusal_of(store.execute(approve(&id("gate-nobody-knows"), "alice")).await);
    assert_eq!(refusal, Refusal::UnknownGate { gate: id("gate-nobody-knows") });
    assert_eq!(store.head().await.unwrap().position, 0);
}

pub(crate) async fn a_gate_that_names_a_new_run_starts_it(world: &World<impl Place>) {
    let store = &*world.store;
    let mut new_gate = new_gate();
    new_gate.run_id = Some("run-7".parse().unwrap());
    let gate = opened(store, new_gate).await;
    assert_eq!(gate.session_id, Some("run-7".parse().unwrap()));
    assert_eq!(gate.initiator, Some(name("agent-a")));
    let kinds: Vec<_> = all_events(store).await.into_iter().map(|event| event.fact.kind).collect();
    assert_eq!(kinds, ["run.started", "gate.opened"]);
    let runs = world.place.sql("SELECT id, kind, session_id, initiator, wakes FROM runs").await;
    assert_eq!(runs, [["run-7", "external", "run-7", "agent-a", "0"]]);
    assert_eq!(world.place.sql("SELECT id FROM sessions").await, [["run-7"]]);
}

pub(crate) async fn a_run_belongs_to_whoever_started_it(store: &impl Store) {
    let of_run = || {
        let mut new_gate = new_gate();
        new_gate.run_id = Some("run-7".parse().unwrap());
        new_gate
    };
    // Sent together: the second must already see the run that the first starts.
    let (mine, theirs) =
        tokio::join!(store.execute(open(agent("agent-a"), of_run())), store.execute(open(agent("agent-b"), of_run())),);
    gate_of(mine);
    assert_eq!(refusal_of(theirs), Refusal::NotYourRun { run: "run-7".parse().unwrap() });
    let again = opened(store, of_run()).await;
    assert_eq!(again.initiator, Some(name("agent-a")));
    assert_sound(store).await;
}

pub(crate) async fn a_gate_id_is_used_once(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let mut again = new_gate();
    again.id = gate.id.clone();
    again.summary = "Something else".to_owned();
    let (before, copy, after) = tokio::join!(
        store.execute(open(agent("agent-a"), new_gate())),
        store.execute(open(agent("agent-a"), again)),
        store.execute(open(agent("agent-a"), new_gate())),
    );
    assert!(matches!(copy, Err(Error::Database(_))), "{copy:?}");
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate);
    for neighbour in [gate_of(before), gate_of(after)] {
        assert_eq!(store.gate(&neighbour.id).await.unwrap().unwrap().gate, neighbour);
    }
    assert_eq!(assert_sound(store).await.len(), 3);
}

pub(crate) async fn pending_gates_are_counted(store: &impl Store) {
    assert_eq!(store.pending().await, Ok(0));
    let gate = an_open_gate(store).await;
    an_open_gate(store).await;
    assert_eq!(store.pending().await, Ok(2));
    store.execute(approve(&gate.id, "alice")).await.unwrap();
    assert_eq!(store.pending().await, Ok(1));
}

pub(crate) async fn every_field_survives_the_row(store: &impl Store) {
    for who in ["alice", "bob", "carol"] {
        store.execute(mint(&format!("tok-{who}"), who, folkmoot_core::Role::Reviewer, who)).await.unwrap();
    }
    let mut new_gate = new_gate();
    new_gate.run_id = Some("run-7".parse().unwrap());
    new_gate.session_id = Some("session-9".parse().unwrap());
    new_gate.title = Some("Ärger mit „Zitaten“ '\";-- \u{1f5f3}".to_owned());
    new_gate.summary = "Zeile eins\nZeile zwei\r\n\t\u{7f}\u{feff}\u{10ffff}".to_owned();
    new_gate.kind = GateKind::Checkpoint;
    new_gate.risk = Risk::Critical;
    new_gate.allowed = Some(vec![Choice::Pause, Choice::Reject, Choice::Approve]);
    new_gate.timeout = Some(Timeout::Never);
    new_gate.on_timeout = Some(OnTimeout::Escalate);
    new_gate.reviewers = Some(vec![name("carol"), name("alice"), name("bob")]);
    new_gate.quorum = Some(2);
    new_gate.self_review = Some(SelfReview::Deny);
    new_gate.dedupe_key = Some("schlüssel".to_owned());
    new_gate.notification_channels = vec!["ops".to_owned(), "mail".to_owned()];
    new_gate.on_behalf_of = Some(name("helper"));
    let summary = new_gate.summary.clone();
    let gate = gate_of(store.execute(open_with(agent("agent-a"), new_gate, vec![("change.diff", b"+1")])).await);
    let view = store.gate(&gate.id).await.unwrap().unwrap();
    assert_eq!(view, GateView { gate: gate.clone(), summary: Some(summary) });
    let voted = decide(&gate.id, reviewer("alice"), Choice::Approve);
    let voted = match voted.action {
        folkmoot_core::Action::Gate(folkmoot_core::gate::Action::Decide(review)) => {
            let seen = folkmoot_core::gate::Review { digest: Some(gate.digest), ..review };
            command(reviewer("alice"), folkmoot_core::gate::Action::Decide(seen))
        }
        other => unreachable!("{other:?}"),
    };
    let voted = gate_of(store.execute(voted).await);
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, voted);
    assert_sound(store).await;
}

/// A row holds milliseconds in 63 bits, and the log as JSON; both must say the same of what a
/// client may send.
pub(crate) async fn a_wait_beyond_all_measure_is_refused(store: &impl Store) {
    let waiting = |millis| {
        let mut new_gate = new_gate();
        new_gate.timeout = Some(Timeout::After(Duration::from_millis(millis)));
        store.execute(open(agent("agent-a"), new_gate))
    };
    for millis in [u64::MAX, u64::MAX / 2] {
        let refusal = refusal_of(waiting(millis).await);
        assert!(matches!(refusal, Refusal::Invalid { field: "timeout_ms", .. }), "{refusal:?}");
    }
    for millis in [1, 1000 * 60 * 60 * 24 * 365 * 100, u64::MAX / 2 - 1] {
        let gate = gate_of(waiting(millis).await);
        assert_eq!(gate.timeout, Timeout::After(Duration::from_millis(millis)));
    }
    assert_sound(store).await;
}
