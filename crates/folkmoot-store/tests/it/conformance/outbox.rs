use folkmoot_core::{
    GateStatus, Timeout,
    gate::{GateState, NewGate},
};
use folkmoot_store::Store;
use futures_util::future::join_all;

use crate::support::*;

fn told(channels: &[&str]) -> NewGate {
    NewGate { notification_channels: channels.iter().map(ToString::to_string).collect(), ..new_gate() }
}

pub(crate) async fn openings_and_decisions_are_told_to_each_channel(world: &World<impl Place>) {
    let store = &*world.store;
    let gate = opened(store, told(&["ops", "mail"])).await;
    let amended = gate_of(store.execute(retitle(&gate.id, "Not told")).await);
    store.execute(approve_seen(&amended, "alice")).await.unwrap();
    let id = gate.id.as_str();
    let rows = world.place.sql("SELECT position, channel, subject, type, status FROM outbox ORDER BY 1, 2").await;
    let expected = [
        ["1", "mail", id, "gate.opened", "waiting"],
        ["1", "ops", id, "gate.opened", "waiting"],
        ["3", "mail", id, "gate.decided", "waiting"],
        ["3", "ops", id, "gate.decided", "waiting"],
    ];
    assert_eq!(rows, expected);
}

pub(crate) async fn a_decision_wakes_its_run_once(world: &World<impl Place>) {
    let store = &*world.store;
    let of_run = NewGate { run_id: Some("run-1".parse().unwrap()), quorum: Some(2), ..new_gate() };
    let gate = opened(store, of_run).await;
    let wakes = async || world.place.sql("SELECT wakes FROM runs WHERE id = 'run-1'").await[0][0].clone();
    let voted = gate_of(store.execute(approve(&gate.id, "alice")).await);
    assert!(matches!(voted.state, GateState::Pending { .. }));
    assert_eq!(wakes().await, "0");
    assert_eq!(gate_of(store.execute(approve(&gate.id, "bob")).await).status(), GateStatus::Approved);
    assert_eq!(wakes().await, "1");
    refusal_of(store.execute(reject(&gate.id, "carol")).await);
    assert_eq!(wakes().await, "1");
}

pub(crate) async fn wakes_within_one_batch_are_all_counted(world: &World<impl Place>) {
    let store = &*world.store;
    let of_run = |n: u64| NewGate { run_id: Some(format!("run-{}", n % 3).parse().unwrap()), ..new_gate() };
    let gates = join_all((0..30).map(|n| opened(store, of_run(n)))).await;
    join_all(gates.iter().map(|gate| store.execute(approve(&gate.id, "alice")))).await;
    let wakes = world.place.sql("SELECT id, wakes FROM runs ORDER BY id").await;
    assert_eq!(wakes, [["run-0", "10"], ["run-1", "10"], ["run-2", "10"]]);
}

pub(crate) async fn a_lapsed_gate_and_its_successor_are_both_told(world: &World<impl Place>) {
    let store = &*world.store;
    let question = || NewGate {
        dedupe_key: Some("deploy".to_owned()),
        timeout: Some(Timeout::After(minutes(1))),
        run_id: Some("run-1".parse().unwrap()),
        ..told(&["ops"])
    };
    let lapsed = opened(store, question()).await;
    world.clock.advance(minutes(2));
    let successor = opened(store, question()).await;
    let rows = world.place.sql("SELECT position, subject, type FROM outbox ORDER BY position").await;
    let expected = [
        ["2", lapsed.id.as_str(), "gate.opened"],
        ["3", lapsed.id.as_str(), "gate.decided"],
        ["4", successor.id.as_str(), "gate.opened"],
    ];
    assert_eq!(rows, expected);
    assert_eq!(world.place.sql("SELECT wakes FROM runs").await, [["1"]]);
    assert_sound(store).await;
}

pub(crate) async fn deliveries_that_arrived_long_ago_can_be_forgotten(world: &World<impl Place>) {
    let store = &*world.store;
    opened(store, told(&["a", "b", "c", "d"])).await;
    let moment = noon().as_micros();
    world
        .place
        .sql(&format!("UPDATE outbox SET status = 'delivered', due = NULL, ended_at = {moment} WHERE channel <> 'd'"))
        .await;
    assert_eq!(store.forget_deliveries(noon(), 10).await, Ok(0), "they arrived at that moment, not before");
    let later = noon().plus(minutes(1));
    assert_eq!(store.forget_deliveries(later, 2).await, Ok(2));
    assert_eq!(store.forget_deliveries(later, 2).await, Ok(1));
    assert_eq!(world.place.sql("SELECT channel FROM outbox").await, [["d"]], "what is still to be delivered stays");
}
