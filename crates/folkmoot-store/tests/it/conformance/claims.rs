//! One worker has a run, for as long as its node lives, and only it can write for it.

use std::time::Duration;

use folkmoot_core::{Action, Actor, Outcome, Role, node, run};
use folkmoot_store::{Error, JournalQuery, Store};

use crate::support::*;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) async fn an_orphan_is_a_run_whose_node_is_dead(world: &World<impl Place>) {
    let store = &*world.store;
    store.execute(beat("n1", seconds(60))).await.unwrap();
    store.execute(beat("n2", seconds(90))).await.unwrap();
    a_worked_on_run(store, "r1").await;
    run_of(store.execute(start(new_run("r2"))).await);
    claimed_of(store.execute(claim("r2", "n2")).await);
    a_parked_run(store, "r3").await;
    run_of(store.execute(start(new_run("r4"))).await);
    run_of(store.execute(start(folkmoot_core::run::NewRun { workflow: None, ..new_run("r5") })).await);
    assert_eq!(orphans(store).await, [""; 0]);
    world.clock.advance(seconds(59));
    assert_eq!(orphans(store).await, [""; 0]);
    assert_eq!(refusal_of(store.execute(claim("r1", "n3")).await).code(), "run_not_ready");
    world.clock.advance(seconds(1));
    assert_eq!(orphans(store).await, ["r1"], "at its moment a life is over");
    assert_eq!(store.orphans(&[workflow("other@1")], 10).await, Ok(vec![]));
    store.execute(beat("n1", seconds(60))).await.unwrap();
    assert_eq!(orphans(store).await, [""; 0], "a node that was only late goes on");
    store.execute(leave("n1")).await.unwrap();
    assert_eq!(orphans(store).await, ["r1"]);
    let (taken, _) = claimed_of(store.execute(claim("r1", "n2")).await);
    assert_eq!(taken.epoch, 2);
    assert_eq!(orphans(store).await, [""; 0]);
    world.clock.advance(seconds(30));
    assert_eq!(orphans(store).await, ["r1", "r2"]);
    assert_eq!(store.orphans(&[workflow("draft@1")], 1).await, Ok(vec![run_id("r1")]));
    let refused = command(admin("root"), node::Action::Heartbeat { node: name("n2"), span: seconds(60), alone: true });
    assert_eq!(
        refusal_of(store.execute(refused).await),
        folkmoot_core::Refusal::RoleMayNot { role: Role::Admin, verb: "be a node" }
    );
    assert_eq!(orphans(store).await, ["r1", "r2"]);
    assert_sound(store).await;
}

/// Where nobody else can reach the database, whoever starts is alone, and what others held is free
/// at once.
pub(crate) async fn a_node_that_is_alone_ends_all_others(store: &impl Store) {
    store.execute(beat("n1", seconds(60))).await.unwrap();
    a_worked_on_run(store, "r1").await;
    let alone = command(Actor::System, node::Action::Heartbeat { node: name("n2"), span: seconds(60), alone: true });
    store.execute(alone).await.unwrap();
    let free: &[&str] = if store.is_shared() { &[] } else { &["r1"] };
    assert_eq!(orphans(store).await, free);
    run_of(store.execute(start(new_run("r2"))).await);
    claimed_of(store.execute(claim("r2", "n2")).await);
    assert_eq!(orphans(store).await, free);
}

/// What a node says of its life counts for whatever comes after it in the batch.
pub(crate) async fn a_nodes_life_counts_within_a_batch_too(world: &World<impl Place>) {
    let store = &*world.store;
    store.execute(beat("n1", seconds(60))).await.unwrap();
    a_worked_on_run(store, "r1").await;
    world.clock.advance(seconds(70));
    let [beaten, late] = all_at_once(store, [beat("n1", seconds(60)), claim("r1", "n2")]).await;
    beaten.unwrap();
    assert_eq!(refusal_of(late).code(), "run_not_ready", "its node was late, and lives");
    let [left, taken, again] = all_at_once(store, [leave("n1"), claim("r1", "n2"), claim("r1", "n3")]).await;
    left.unwrap();
    assert_eq!(claimed_of(taken).0.epoch, 2);
    assert_eq!(claimed_of(again).0.epoch, 3, "a node that never lived holds nothing");
    let back = [leave("n3"), beat("n3", seconds(60)), claim("r1", "n1")];
    let [left, back, late] = all_at_once(store, back).await;
    left.unwrap();
    back.unwrap();
    assert_eq!(refusal_of(late).code(), "run_not_ready");
    let gone = [beat("n3", seconds(99)), leave("n3")];
    let [beaten, left] = all_at_once(store, gone).await;
    beaten.unwrap();
    left.unwrap();
    assert_eq!(orphans(store).await, ["r1"]);
}

pub(crate) async fn of_many_claims_at_once_one_wins(store: &impl Store) {
    for node in 0..16 {
        store.execute(beat(&format!("n{node}"), seconds(60))).await.unwrap();
    }
    for round in 0..5 {
        let run = format!("run-{round}");
        run_of(store.execute(start(new_run(&run))).await);
        let claims = |run: &str| (0..16).map(|n| claim(run, &format!("n{n}"))).collect::<Vec<_>>();
        let answers = at_once(store, claims(&run)).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 15), "a new run");
        assert!(lost.into_iter().all(|lost| refusal_of(lost).code() == "run_not_ready"));
        run_of(store.execute(park(park_request(&run, 1, 0))).await);
        store.execute(wake(&run)).await.unwrap();
        let won = at_once(store, claims(&run)).await.into_iter().filter(Result::is_ok).count();
        assert_eq!(won, 1, "a woken run");
        let node = store.run(&run_id(&run)).await.unwrap().unwrap();
        let folkmoot_core::run::RunState::Running { node, .. } = &node.state else { panic!("{node:?}") };
        store.execute(leave(node.as_str())).await.unwrap();
        let others: Vec<_> = claims(&run)
            .into_iter()
            .filter(|other| !matches!(&other.action, Action::Run(run::Action::Claim { node: claimant, .. }) if claimant == node))
            .collect();
        let won = at_once(store, others).await.into_iter().filter(Result::is_ok).count();
        assert_eq!(won, 1, "a run whose node is gone");
        store.execute(beat(node.as_str(), seconds(60))).await.unwrap();
        // Its successor, in the batch in which it is started.
        let next = format!("next-{round}");
        let mut commands = vec![start(new_run(&next))];
        commands.extend(claims(&next));
        let won = at_once(store, commands).await.into_iter().filter(Result::is_ok).count();
        assert_eq!(won, 2, "the start and one claim");
    }
    assert_sound(store).await;
}

pub(crate) async fn who_lost_a_run_writes_nothing_for_it(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    let before = store.head().await.unwrap().position;
    let mut commands = vec![claim("r1", "n2")];
    let late = || {
        vec![
            record("r1", 1, "draft", done("1")),
            record("r1", 1, "ok", opens("gate-1")),
            park(park_request("r1", 1, 0)),
            stop("r1", 1),
            end("r1", 1, "1"),
        ]
    };
    commands.extend(late());
    let mut answers = at_once(store, commands).await;
    answers.extend(at_once(store, late()).await);
    claimed_of(answers.remove(0));
    for answer in answers {
        assert_eq!(refusal_of(answer).code(), "lease_lost");
    }
    assert_eq!(store.head().await.unwrap().position, before + 1);
    assert_eq!(store.gate(&id("gate-1")).await, Ok(None));
    assert_sound(store).await;
}

pub(crate) async fn the_same_record_twice_is_one_event(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    let before = store.head().await.unwrap().position;
    let commands = [
        record("r1", 1, "draft", done("1")),
        record("r1", 1, "draft", done("1")),
        record("r1", 1, "ok", opens("gate-1")),
        record("r1", 1, "ok", opens("gate-2")),
        record("r1", 1, "draft", done("2")),
    ];
    let answers = at_once(store, commands.clone()).await;
    let told = |answer: &Result<Outcome, Error>| match answer {
        Ok(Outcome::Entry(entry)) => (entry.clone(), true),
        Ok(Outcome::Stands(entry)) => (entry.clone(), false),
        other => panic!("{other:?}"),
    };
    let first: Vec<_> = answers[..4].iter().map(told).collect();
    assert_eq!(first[0].0, first[1].0);
    assert_eq!(first[2].0, first[3].0, "the gate that was opened first is the one");
    assert_eq!([first[0].1, first[1].1, first[2].1, first[3].1], [true, false, true, false], "who wrote it is told so");
    assert_eq!(refusal_of(answers[4].clone()).code(), "step_recorded");
    assert_eq!(store.head().await.unwrap().position, before + 3);
    let again = at_once(store, commands).await;
    for (again, (entry, _)) in again.iter().zip(&first) {
        assert_eq!(told(again), (entry.clone(), false));
    }
    assert_eq!(store.head().await.unwrap().position, before + 3);
    let journal = store
        .journal(JournalQuery { run: run_id("r1"), after: None, limit: 10, key: None, results: true })
        .await
        .unwrap();
    assert_eq!(journal.len(), 2);
    assert_sound(store).await;
}

/// A whole life in one batch, and nothing after its end.
pub(crate) async fn a_run_can_live_and_end_within_a_batch(store: &impl Store) {
    let commands = [
        start(new_run("r1")),
        claim("r1", "n1"),
        record("r1", 1, "draft", folkmoot_core::journal::Write::Begin),
        record("r1", 1, "draft", done("1")),
        stop("r1", 1),
        resume_run("r1"),
        claim("r1", "n1"),
        park(park_request("r1", 2, 0)),
        wake("r1"),
        claim("r1", "n1"),
        end("r1", 3, "1"),
        record("r1", 3, "late", done("1")),
        cancel_run("r1"),
        start(new_run("r1")),
    ];
    let answers = at_once(store, commands).await;
    let told: Vec<_> = answers
        .into_iter()
        .map(|answer| match answer {
            Ok(Outcome::Run(run) | Outcome::Claimed(run, _)) => run.status().word(),
            Ok(Outcome::Entry(entry) | Outcome::Stands(entry)) => entry.progress().word(),
            Ok(Outcome::ExistingRun(_)) => "existing",
            Ok(Outcome::Nothing) => "nothing",
            other => refusal_of(other).code(),
        })
        .collect();
    let expected = [
        "pending",
        "running",
        "begun",
        "done",
        "stopped",
        "pending",
        "running",
        "parked",
        "nothing",
        "running",
        "completed",
        "run_ended",
        "run_ended",
        "existing",
    ];
    assert_eq!(told, expected);
    assert_eq!((ready(store).await, orphans(store).await), (vec![], vec![]));
    assert_sound(store).await;
}
