use folkmoot_core::{
    Digest, Gate, GateStatus, Refusal, Timeout,
    gate::{self, Choice, GateKind, GateState, Review},
};
use folkmoot_store::Store;
use futures_util::future::join_all;

use crate::support::*;

pub(crate) async fn a_late_decision_is_told_who_won(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let won = gate_of(store.execute(approve(&gate.id, "alice")).await);
    let decision = won.decision().unwrap().clone();
    assert_eq!((won.status(), decision.reviewer.as_str()), (GateStatus::Approved, "alice"));
    let late = refusal_of(store.execute(reject(&gate.id, "bob")).await);
    assert_eq!(late, Refusal::Decided { decision: Box::new(decision) });
}

pub(crate) async fn of_many_decisions_at_once_one_wins_and_every_loser_is_told(world: &World<impl Place>) {
    for _ in 0..5 {
        let gate = an_open_gate(&*world.store).await;
        let reviewers = (0..64).map(|n| {
            let (store, id) = (world.store.clone(), gate.id.clone());
            let choice = if n % 2 == 0 { Choice::Approve } else { Choice::Reject };
            let by = reviewer(&format!("reviewer-{n}"));
            tokio::spawn(async move { store.execute(decide(&id, by, choice)).await })
        });
        let answers: Vec<_> = join_all(reviewers).await.into_iter().map(Result::unwrap).collect();
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 63));
        let won = gate_of(won.into_iter().next().unwrap());
        let told = Refusal::Decided { decision: Box::new(won.decision().unwrap().clone()) };
        for loser in lost {
            assert_eq!(refusal_of(loser), told);
        }
        let row = world.store.gate(&gate.id).await.unwrap().unwrap().gate;
        assert_eq!(row, Gate { seq: 65, ..won });
    }
    assert_sound(&*world.store).await;
}

pub(crate) async fn a_refused_attempt_is_logged_and_changes_only_the_count(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let refusal = refusal_of(store.execute(decide(&gate.id, agent("agent-b"), Choice::Approve)).await);
    assert_eq!(refusal.code(), "role_may_not");
    let row = store.gate(&gate.id).await.unwrap().unwrap().gate;
    assert_eq!(row, Gate { seq: 2, ..gate });
    let event = all_events(store).await.pop().unwrap();
    assert_eq!((event.fact.kind.as_ref(), event.fact.actor.as_str()), ("gate.refused", "agent-b"));
    assert!(event.fact.payload.contains("role_may_not"), "{}", event.fact.payload);
    assert_sound(store).await;
}

pub(crate) async fn a_refusal_leaves_its_batch_neighbours_alone(store: &impl Store) {
    let decided = an_open_gate(store).await;
    store.execute(approve(&decided.id, "alice")).await.unwrap();
    let commands = (0..300).map(|n| match n % 5 {
        0 => approve(&decided.id, "bob"),
        1 => approve(&id("gate-nobody-knows"), "bob"),
        2 => retitle(&decided.id, "Too late"),
        _ => open(agent("agent-a"), new_gate()),
    });
    let answers = join_all(commands.map(|command| store.execute(command))).await;
    for (n, answer) in answers.into_iter().enumerate() {
        match n % 5 {
            0 | 2 => assert_eq!(refusal_of(answer).code(), "gate_decided"),
            1 => assert_eq!(refusal_of(answer).code(), "unknown_gate"),
            _ => {
                let gate = gate_of(answer);
                assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate);
            }
        }
    }
    assert_eq!(assert_sound(store).await.len(), 2 + 60 + 120);
}

pub(crate) async fn what_is_sent_at_once_acts_in_turn(store: &impl Store) {
    // The digest of what each gate shows once it was amended: another gate that shows the same has
    // it already.
    let amended =
        opened(store, folkmoot_core::gate::NewGate { title: Some("Deploy 1.4.3".to_owned()), ..new_gate() }).await;
    let stories = (0..100).map(|_| async {
        let new_gate = new_gate();
        let id = new_gate.id.clone();
        let (opened, amended, decided, late, late_amendment) = tokio::join!(
            biased;
            store.execute(open(agent("agent-a"), new_gate)),
            store.execute(retitle(&id, "Deploy 1.4.3")),
            store.execute(approve_seen(&Gate { id: id.clone(), ..amended.clone() }, "alice")),
            store.execute(reject(&id, "bob")),
            store.execute(retitle(&id, "Deploy 1.4.4")),
        );
        let (opened, amended, decided) = (gate_of(opened), gate_of(amended), gate_of(decided));
        assert_eq!((opened.revision, amended.revision, decided.revision), (1, 2, 2));
        let decision = decided.decision().unwrap().clone();
        assert_eq!((decision.revision, decision.digest), (2, amended.digest));
        let told = Refusal::Decided { decision: Box::new(decision) };
        assert_eq!((refusal_of(late), refusal_of(late_amendment)), (told.clone(), told));
        let row = store.gate(&id).await.unwrap().unwrap().gate;
        assert_eq!(row, Gate { seq: 4, ..decided });
    });
    join_all(stories).await;
    assert_eq!(assert_sound(store).await.len(), 1 + 400);
}

pub(crate) async fn a_decision_on_stale_content_is_refused_within_a_batch_too(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let seen = Review { digest: Some(gate.digest), ..review(&gate.id, Choice::Approve) };
    let (amended, decided) = tokio::join!(
        biased;
        store.execute(retitle(&gate.id, "Deploy something else")),
        store.execute(command(reviewer("alice"), gate::Action::Decide(seen))),
    );
    let current = gate_of(amended).digest;
    assert_eq!(refusal_of(decided), Refusal::StaleDigest { seen: gate.digest, current, revision: 2 });
}

pub(crate) async fn votes_are_counted_across_commands(store: &impl Store) {
    let mut new_gate = new_gate();
    new_gate.quorum = Some(3);
    let gate = opened(store, new_gate).await;
    let first = gate_of(store.execute(approve(&gate.id, "alice")).await);
    assert!(matches!(&first.state, GateState::Pending { votes } if votes.len() == 1));
    let (twice, second, third) = tokio::join!(
        biased;
        store.execute(approve(&gate.id, "alice")),
        store.execute(approve(&gate.id, "bob")),
        store.execute(approve(&gate.id, "carol")),
    );
    assert_eq!(refusal_of(twice), Refusal::AlreadyVoted { gate: gate.id.clone() });
    assert_eq!(gate_of(second).status(), GateStatus::Pending);
    let third = gate_of(third);
    let voters: Vec<_> = third.decision().unwrap().votes.iter().map(|vote| vote.reviewer.to_string()).collect();
    assert_eq!(voters, ["alice", "bob", "carol"]);
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, third);
    assert_sound(store).await;
}

pub(crate) async fn an_edited_text_is_kept(store: &impl Store) {
    let mut new_gate = new_gate();
    new_gate.kind = GateKind::Proposal;
    let gate = opened(store, new_gate).await;
    let edited = Review { edited: Some("Better so".to_owned()), ..review(&gate.id, Choice::Adjust) };
    let gate = gate_of(store.execute(command(reviewer("alice"), gate::Action::Decide(edited))).await);
    assert_eq!(gate.decision().unwrap().edited, Some(Digest::of(b"Better so")));
    assert_eq!(store.contents(vec![Digest::of(b"Better so")]).await, Ok(vec![Some(b"Better so".to_vec())]));
}

pub(crate) async fn a_decision_that_comes_at_the_deadline_is_too_late(world: &World<impl Place>) {
    let mut new_gate = new_gate();
    new_gate.timeout = Some(Timeout::After(minutes(1)));
    let gate = opened(&*world.store, new_gate).await;
    world.clock.advance(minutes(1));
    let late = refusal_of(world.store.execute(approve(&gate.id, "alice")).await);
    assert_eq!(late, Refusal::Overdue { gate: gate.id.clone(), deadline: gate.deadline });
    assert_eq!(world.store.gate(&gate.id).await.unwrap().unwrap().gate.status(), GateStatus::Pending);
}
