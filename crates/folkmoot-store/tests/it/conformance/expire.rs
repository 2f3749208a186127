use folkmoot_core::{
    Deadline, GateStatus, Outcome,
    gate::{self, GatePolicy, OnTimeout},
};
use folkmoot_store::Store;

use crate::support::*;

pub(crate) async fn an_overdue_gate_times_out_once(world: &World<impl Place>) {
    let store = &*world.store;
    let gate = an_open_gate(store).await;
    world.clock.advance(minutes(30));
    let (first, second) = tokio::join!(biased; store.execute(expire(&gate.id)), store.execute(expire(&gate.id)));
    let expired = gate_of(first);
    assert_eq!((expired.status(), expired.seq), (GateStatus::TimedOut, 2));
    assert_eq!(gate_of(second), expired);
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, expired);
    assert_eq!(store.next_due().await, Ok(None));
    assert_eq!(assert_sound(store).await.len(), 2);
}

pub(crate) async fn an_early_timer_does_nothing(store: &impl Store) {
    let gate = an_open_gate(store).await;
    assert_eq!(gate_of(store.execute(expire(&gate.id)).await), gate);
    assert_eq!(store.head().await.unwrap().position, 1);
    assert_eq!(store.next_due().await, Ok(gate.deadline.moment()));
}

pub(crate) async fn an_escalation_waits_once_more(world: &World<impl Place>) {
    let store = &*world.store;
    let mut new_gate = new_gate();
    new_gate.on_timeout = Some(OnTimeout::Escalate);
    let gate = opened(store, new_gate).await;
    world.clock.advance(minutes(31));
    let escalated = gate_of(store.execute(expire(&gate.id)).await);
    let due = noon().plus(minutes(61));
    assert_eq!((escalated.escalated, escalated.deadline), (true, Deadline::At(due)));
    assert_eq!(store.next_due().await, Ok(Some(due)));
    world.clock.advance(minutes(30));
    assert_eq!(gate_of(store.execute(expire(&gate.id)).await).status(), GateStatus::TimedOut);
    assert_eq!(store.next_due().await, Ok(None));
    assert_sound(store).await;
}

pub(crate) async fn a_timer_of_a_gate_that_is_gone_is_cleared(world: &World<impl Place>) {
    world.place.sql("INSERT INTO timers (subject, kind, due) VALUES ('gate-gone', 'gate', 1)").await;
    let timers = world.store.due(noon(), 10).await.unwrap();
    assert_eq!(timers.len(), 1);
    assert_eq!(world.store.execute(expire(&id("gate-gone"))).await, Ok(Outcome::Nothing));
    assert_eq!(world.store.due(noon(), 10).await, Ok(Vec::new()));
}

pub(crate) async fn a_gate_that_reminds_is_due_again_and_reads_back(world: &World<impl Place>) {
    let store = &*world.store;
    let policy = GatePolicy {
        remind_before_ms: vec![60_000, 20 * 60_000],
        escalate_before_ms: Some(10 * 60_000),
        escalate_to: vec!["boss".to_owned()],
        ..GatePolicy::default()
    };
    let new_gate = Box::new(new_gate());
    let gate = gate_of(
        store.execute(command(agent("agent-a"), gate::Action::Open { new_gate, policy, contents: vec![] })).await,
    );
    for (minute, reminded, escalations) in [(10, 1, 0), (20, 1, 1), (29, 2, 1)] {
        let due = noon().plus(minutes(minute));
        assert_eq!(store.next_due().await, Ok(Some(due)));
        world.clock.advance(due.since(store.now()));
        let moved = gate_of(store.execute(expire(&gate.id)).await);
        assert_eq!((moved.reminders.reminded, moved.reminders.escalations), (reminded, escalations));
        assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, moved);
    }
    world.clock.advance(minutes(1));
    assert_eq!(gate_of(store.execute(expire(&gate.id)).await).status(), GateStatus::TimedOut);
    let told: Vec<_> = deliveries(store).await.into_iter().map(|told| (told.channel, told.kind)).collect();
    assert_eq!(told, [("boss".to_owned(), "gate.escalated".to_owned())]);
    assert_sound(store).await;
}
