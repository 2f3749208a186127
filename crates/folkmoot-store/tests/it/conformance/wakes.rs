//! A parked run is taken by a worker only after something has changed for it, and then for certain.

use std::time::Duration;

use folkmoot_core::{
    Command, Deadline, Outcome, Scope, Subject,
    halt::{self, NewHalt},
    question::{Close, NewQuestion, QuestionType},
    run::{NewRun, ParkRequest},
};
use folkmoot_store::{Clock, Store};

use crate::support::*;

pub(crate) async fn new_and_woken_runs_are_ready_those_first_that_waited_longest(world: &World<impl Place>) {
    let store = &*world.store;
    let later = || world.clock.advance(Duration::from_secs(1));
    a_parked_run(store, "r1").await;
    later();
    run_of(store.execute(start(new_run("r2"))).await);
    later();
    a_parked_run(store, "r3").await;
    later();
    a_worked_on_run(store, "r4").await;
    run_of(store.execute(start(NewRun { workflow: Some(workflow("draft@2")), ..new_run("r5") })).await);
    run_of(store.execute(start(NewRun { workflow: None, ..new_run("r6") })).await);
    a_worked_on_run(store, "r7").await;
    run_of(store.execute(stop("r7", 1)).await);
    run_of(store.execute(start(new_run("r8"))).await);
    run_of(store.execute(cancel_run("r8")).await);
    assert_eq!(ready(store).await, ["r2"]);
    for run in ["r3", "r1", "r4", "r6", "r7", "r8"] {
        store.execute(wake(run)).await.unwrap();
    }
    assert_eq!(ready(store).await, ["r1", "r2", "r3"]);
    let of = async |workflows: &[&str], limit| {
        let workflows: Vec<_> = workflows.iter().map(|name| workflow(name)).collect();
        let ready = store.ready(&workflows, limit).await.unwrap();
        ready.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of(&["draft@1"], 2).await, ["r1", "r2"]);
    assert_eq!(of(&["other@1", "draft@2"], 10).await, ["r5"]);
    assert_eq!(of(&["draft@2", "draft@1"], 10).await, ["r1", "r2", "r3", "r5"]);
    assert_eq!(of(&["other@1"], 10).await, [""; 0]);
    assert_eq!(of(&[], 10).await, [""; 0], "who knows no workflow can take none");
    assert_eq!(store.orphans(&[], 10).await, Ok(vec![]));
    later();
    run_of(store.execute(resume_run("r7")).await);
    assert_eq!(ready(store).await, ["r1", "r2", "r3", "r7"]);
    claimed_of(store.execute(claim("r1", "n1")).await);
    assert_eq!(ready(store).await, ["r2", "r3", "r7"]);
}

/// Whoever lets go of a run is told to look again, or it is ready: in whichever order both come,
/// alone or together.
async fn wakes(store: &impl Store, run: &str, park_request: ParkRequest, change: Command) {
    let parked = || park(park_request.clone());
    // One after another, and together in this order.
    let [parked_first, changed] = all_at_once(store, [parked(), change.clone()]).await;
    run_of(parked_first);
    changed.unwrap();
    assert_eq!(ready(store).await, [run]);
    let (_, wakes) = claimed_of(store.execute(claim(run, "n1")).await);
    assert!(wakes > park_request.wakes, "{wakes}");
}

/// The other order: what has changed keeps it from being parked.
async fn keeps_awake(store: &impl Store, park_request: ParkRequest, change: Command) {
    let [changed, parked] = all_at_once(store, [change, park(park_request.clone())]).await;
    changed.unwrap();
    assert!(matches!(parked, Ok(Outcome::Awake(_))), "{parked:?}");
    assert_eq!(ready(store).await, [""; 0]);
}

pub(crate) async fn a_decision_wakes_its_run(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    a_parked_run(store, "r2").await;
    for gate in ["gate-1", "gate-2", "gate-3"] {
        entry_of(store.execute(record("r1", 1, gate, opens(gate))).await);
    }
    keeps_awake(store, park_request("r1", 1, 0), approve(&id("gate-1"), "alice")).await;
    wakes(store, "r1", park_request("r1", 1, 1), reject(&id("gate-2"), "alice")).await;
    run_of(store.execute(park(park_request("r1", 2, 2))).await);
    assert_eq!(ready(store).await, [""; 0], "what woke it once does not again");
    store.execute(approve(&id("gate-3"), "alice")).await.unwrap();
    assert_eq!(ready(store).await, ["r1"]);
}

/// Opened, decided and parked, all in one batch, in either order.
pub(crate) async fn a_decision_in_the_batch_of_the_opening_wakes(store: &impl Store) {
    for (n, parks_last) in [true, false].into_iter().enumerate() {
        let (run, gate) = (format!("r{n}"), format!("gate-{n}"));
        let mut commands = vec![
            start(new_run(&run)),
            claim(&run, "n1"),
            record(&run, 1, "ok", opens(&gate)),
            park(park_request(&run, 1, 0)),
            approve(&id(&gate), "alice"),
        ];
        if parks_last {
            commands.swap(3, 4);
        }
        // The node lives, so that nobody else can take what it let go of while it was awake.
        commands.insert(0, beat("n1", minutes(5)));
        commands.push(claim(&run, "n2"));
        let answers = at_once(store, commands).await;
        match parks_last {
            true => {
                assert_eq!(answers[5], Ok(Outcome::Awake(1)));
                assert_eq!(refusal_of(answers[6].clone()).code(), "run_not_ready");
            }
            false => {
                run_of(answers[4].clone());
                let (run, wakes) = claimed_of(answers[6].clone());
                assert_eq!((run.epoch, wakes), (2, 1));
            }
        }
    }
    assert_sound(store).await;
}

pub(crate) async fn an_answer_wakes_its_run(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    a_parked_run(store, "r2").await;
    let questions: [folkmoot_core::QuestionId; 2] = ["question-1", "question-2"].map(|id| id.parse().unwrap());
    for question in &questions {
        entry_of(
            store.execute(record("r1", 1, question.as_str(), asks(question.as_str(), QuestionType::Decision))).await,
        );
    }
    keeps_awake(store, park_request("r1", 1, 0), answer(&questions[0], "left")).await;
    let deny = close(&questions[1], reviewer("alice"), Close::Skip);
    wakes(store, "r1", park_request("r1", 1, 1), deny).await;
}

pub(crate) async fn the_end_of_its_sleep_wakes_a_run(world: &World<impl Place>) {
    let store = &*world.store;
    let due = noon().plus(minutes(5));
    for run in ["r1", "r2"] {
        a_worked_on_run(store, run).await;
    }
    let park_request = |run| ParkRequest { due: Deadline::At(due), ..park_request(run, 1, 0) };
    run_of(store.execute(park(park_request("r1"))).await);
    world.clock.advance(minutes(4));
    assert_eq!((ready(store).await, store.due(world.clock.now(), 10).await), (vec![], Ok(vec![])));
    // A timer that comes in the batch of the parking, which is then its last word.
    let [early, parked] = all_at_once(store, [wake("r2"), park(park_request("r2"))]).await;
    early.unwrap();
    assert_eq!(parked, Ok(Outcome::Awake(1)));
    world.clock.advance(minutes(1));
    let timers = store.due(world.clock.now(), 10).await.unwrap();
    assert_eq!(timers.into_iter().map(|timer| timer.subject).collect::<Vec<_>>(), [Subject::Run(run_id("r1"))]);
    store.execute(wake("r1")).await.unwrap();
    assert_eq!((ready(store).await, store.next_due().await), (vec!["r1".to_owned()], Ok(None)));
    // Of a run that is unknown or over, only the timer is cleared.
    let [unknown, ended, late] = all_at_once(store, [wake("nobody"), cancel_run("r1"), wake("r1")]).await;
    assert_eq!((unknown, late), (Ok(Outcome::Nothing), Ok(Outcome::Nothing)));
    run_of(ended);
    assert_eq!(ready(store).await, [""; 0]);
}

fn halt(scope: Scope, agent: &str, session: &str) -> Command {
    let new_halt = NewHalt {
        id: format!("halt-{}", unique()).parse().unwrap(),
        scope,
        agent_id: (scope == Scope::Agent).then(|| name(agent)),
        session_id: (scope == Scope::Session).then(|| session.parse().unwrap()),
        reason: "smoke".to_owned(),
    };
    command(admin("root"), halt::Action::Raise(new_halt))
}

/// Parks runs that wait for agents in sessions, while everyone is held.
async fn parked_held(store: &impl Store, runs: &[(&str, &str, &[&str])]) {
    for (run, session, agents) in runs {
        let session_id: folkmoot_core::SessionId = session.parse().unwrap();
        run_of(store.execute(start(NewRun { session_id: Some(session_id.clone()), ..new_run(run) })).await);
        claimed_of(store.execute(claim(run, "n1")).await);
        run_of(store.execute(park(ParkRequest { session_id, ..parking_held(run, 1, 0, agents) })).await);
    }
}

pub(crate) async fn a_lifted_halt_wakes_those_whom_it_held_and_nobody_else(store: &impl Store) {
    let everyone = halt_of(store.execute(raise(Scope::All)).await);
    let runs: [(&str, &str, &[&str]); 5] = [
        ("one", "s1", &["a1"]),
        ("several", "s1", &["a2", "a1"]),
        ("other", "s2", &["a3"]),
        ("others", "s2", &["a3", "a4"]),
        ("nobody", "s1", &[]),
    ];
    parked_held(store, &runs).await;
    for (scope, agent, session, woken) in [
        (Scope::Agent, "a9", "", vec![]),
        (Scope::Agent, "a1", "", vec!["one", "several"]),
        (Scope::Agent, "a2", "", vec!["several"]),
        (Scope::Agent, "a4", "", vec!["others"]),
        (Scope::Session, "", "s9", vec![]),
        (Scope::Session, "", "s1", vec!["one", "several"]),
        (Scope::All, "", "", vec!["one", "other", "others", "several"]),
    ] {
        let halt = halt_of(store.execute(halt(scope, agent, session)).await);
        assert_eq!(ready(store).await, [""; 0], "a halt wakes nobody");
        store.execute(lift(&halt.id)).await.unwrap();
        assert_eq!(ready(store).await, woken, "{scope} {agent} {session}");
        for run in woken {
            let (again, wakes) = claimed_of(store.execute(claim(run, "n1")).await);
            let (_, session, agents) = runs.iter().find(|(id, ..)| *id == run).unwrap();
            let session_id = session.parse().unwrap();
            let park_request = ParkRequest { session_id, ..parking_held(run, again.epoch, wakes, agents) };
            run_of(store.execute(park(park_request)).await);
        }
    }
    store.execute(lift(&everyone.id)).await.unwrap();
    assert_eq!(ready(store).await, ["one", "other", "others", "several"]);
    assert_sound(store).await;
}

pub(crate) async fn an_answered_question_wakes_whom_it_held(store: &impl Store) {
    let everyone = halt_of(store.execute(raise(Scope::All)).await);
    parked_held(store, &[("one", "s1", &["a1"]), ("several", "s1", &["a1", "a2"]), ("other", "s2", &["a3"])]).await;
    let new_question = |kind| NewQuestion { agent_id: Some(name("a1")), ..new_question(kind) };
    let reclaim = async |runs: &[&str]| {
        assert_eq!(ready(store).await, runs);
        for run in runs {
            let (again, wakes) = claimed_of(store.execute(claim(run, "n1")).await);
            let session_id = again.start.session_id.clone();
            let park_request = ParkRequest { session_id, ..parking_held(run, again.epoch, wakes, &["a1", "a3"]) };
            run_of(store.execute(park(park_request)).await);
        }
    };
    let blocking = asked(store, new_question(QuestionType::Blocking)).await;
    let approval = asked(store, new_question(QuestionType::Approval)).await;
    store.execute(close(&blocking.id, reviewer("alice"), Close::Deny)).await.unwrap();
    reclaim(&[]).await;
    store.execute(fetch(&blocking.id)).await.unwrap();
    reclaim(&["one", "several"]).await;
    store.execute(answer(&approval.id, "approve")).await.unwrap();
    reclaim(&["one", "several"]).await;
    let emergency = asked(store, new_question(QuestionType::Emergency)).await;
    store.execute(answer(&emergency.id, "go")).await.unwrap();
    reclaim(&["one", "other", "several"]).await;
    store.execute(lift(&everyone.id)).await.unwrap();
    reclaim_all(store).await;
}

async fn reclaim_all(store: &impl Store) {
    for run in ready(store).await {
        claimed_of(store.execute(claim(&run, "n1")).await);
    }
    assert_eq!(ready(store).await, [""; 0]);
}

/// The halt is lifted in the batch of the parking, of the raising, of the start: nobody is parked
/// for what is gone.
pub(crate) async fn nobody_is_parked_for_a_hold_that_goes_in_the_same_batch(store: &impl Store) {
    for scope in [Scope::Agent, Scope::Session, Scope::All] {
        for agents in [&["a1"][..], &["a1", "a2"]] {
            let both = halt_of(store.execute(halt(Scope::Agent, "a2", "")).await);
            let run = format!("run-{}", unique());
            a_worked_on_run(store, &run).await;
            let raised = halt_of(store.execute(halt(scope, "a1", "s1")).await);
            keeps_awake(store, parking_held(&run, 1, 0, agents), lift(&raised.id)).await;
            let raised = halt_of(store.execute(halt(scope, "a1", "s1")).await);
            let known = store.execute(park(parking_held(&run, 1, 9, agents))).await;
            let Ok(Outcome::Awake(known)) = known else { panic!("{known:?}") };
            wakes(store, &run, parking_held(&run, 1, known, agents), lift(&raised.id)).await;
            // Of two that hold it, the last in the batch of the parking.
            let (one, other) = (halt(scope, "a1", "s1"), halt(scope, "a1", "s1"));
            let (one, other) = (halt_of(store.execute(one).await), halt_of(store.execute(other).await));
            let known = claimed_wakes(store, &run).await;
            let park_request = parking_held(&run, 2, known, agents);
            let [first, parked, last] =
                all_at_once(store, [lift(&one.id), park(park_request.clone()), lift(&other.id)]).await;
            first.unwrap();
            run_of(parked);
            last.unwrap();
            assert_eq!(ready(store).await, [run.as_str()]);
            claimed_of(store.execute(claim(&run, "n1")).await);
            run_of(store.execute(cancel_run(&run)).await);
            store.execute(lift(&both.id)).await.unwrap();
        }
    }
    assert_sound(store).await;
}

/// The wake-ups that a run which is worked on has had: nobody is parked who is mistaken about them.
async fn claimed_wakes(store: &impl Store, run: &str) -> u64 {
    let epoch = store.run(&run_id(run)).await.unwrap().unwrap().epoch;
    match store.execute(park(park_request(run, epoch, u64::MAX >> 1))).await {
        Ok(Outcome::Awake(wakes)) => wakes,
        other => panic!("{other:?}"),
    }
}

/// A claim that shares its batch with a wake-up is told exactly as many as there were: were it one
/// more, the next would be missed.
pub(crate) async fn a_claim_is_told_exactly_the_wake_ups_that_there_were(store: &impl Store) {
    let everyone = halt_of(store.execute(raise(Scope::All)).await);
    parked_held(store, &[("r1", "s1", &["a1"])]).await;
    let one = asked(store, NewQuestion { agent_id: Some(name("a1")), ..new_question(QuestionType::Emergency) }).await;
    let other = halt_of(store.execute(halt(Scope::Agent, "a1", "")).await);
    let [answered, claimed, lifted] =
        all_at_once(store, [answer(&one.id, "go"), claim("r1", "n1"), lift(&other.id)]).await;
    answered.unwrap();
    lifted.unwrap();
    let (_, told) = claimed_of(claimed);
    assert_eq!(claimed_wakes(store, "r1").await, told);
    let parked = store.execute(park(parking_held("r1", 2, told, &["a1"]))).await;
    run_of(parked);
    store.execute(lift(&everyone.id)).await.unwrap();
    assert_eq!(ready(store).await, ["r1"]);
}

pub(crate) async fn the_end_of_a_child_wakes_its_parent(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    for child in ["c1", "c2", "c3"] {
        entry_of(store.execute(record("r1", 1, child, starts(child))).await);
        claimed_of(store.execute(claim(child, "n1")).await);
    }
    keeps_awake(store, park_request("r1", 1, 0), end("c1", 1, "1")).await;
    wakes(store, "r1", park_request("r1", 1, 1), cancel_run("c2")).await;
    run_of(store.execute(park(park_request("r1", 2, 2))).await);
    // Started, claimed and ended in the batch in which its parent ended, it is over like its
    // parent.
    run_of(store.execute(end("c3", 1, "1")).await);
    let (_, wakes) = claimed_of(store.execute(claim("r1", "n1")).await);
    assert_eq!(wakes, 3);
    assert_sound(store).await;
}

pub(crate) async fn the_end_of_its_parent_wakes_a_child_to_its_own(store: &impl Store) {
    for (n, child_parks_first) in [true, false].into_iter().enumerate() {
        let (parent, child, grandchild) = (format!("r{n}"), format!("c{n}"), format!("g{n}"));
        a_worked_on_run(store, &parent).await;
        entry_of(store.execute(record(&parent, 1, "part", starts(&child))).await);
        claimed_of(store.execute(claim(&child, "n1")).await);
        entry_of(store.execute(record(&child, 1, "part", starts(&grandchild))).await);
        entry_of(store.execute(record(&child, 1, "ok", opens(&format!("gate-{n}")))).await);
        let (ends, parks) = (cancel_run(&parent), park(park_request(&child, 1, 0)));
        if child_parks_first {
            let [parked, ended, claimed] = all_at_once(store, [parks, ends, claim(&child, "n2")]).await;
            run_of(parked);
            run_of(ended);
            assert_eq!(run_of(claimed).status().word(), "parked", "it is not claimed any more, but cancelled");
            run_of(store.execute(cancel_run(&child)).await);
        } else {
            let [ended, parked] = all_at_once(store, [ends, parks]).await;
            run_of(ended);
            assert_eq!(parked, Ok(Outcome::Awake(1)));
            run_of(store.execute(cancel_run(&child)).await);
        }
        let gate = store.gate(&id(&format!("gate-{n}"))).await.unwrap().unwrap().gate;
        assert_eq!(gate.decision().unwrap().reason, format!("its run {child} is over: cancelled"));
        // It has not been taken yet, and is new: whoever takes it finds that it is over.
        assert_eq!(ready(store).await, [grandchild.as_str()]);
        assert_eq!(run_of(store.execute(claim(&grandchild, "n1")).await).status().word(), "pending");
        run_of(store.execute(cancel_run(&grandchild)).await);
    }
    assert_sound(store).await;
}

/// Nothing wakes it, so whoever looks for the runs of dead nodes finds it.
pub(crate) async fn a_stopped_child_is_an_orphan_once_its_parent_is_over(store: &impl Store) {
    store.execute(beat("n1", std::time::Duration::from_secs(60))).await.unwrap();
    a_worked_on_run(store, "r1").await;
    entry_of(store.execute(record("r1", 1, "part", starts("c1"))).await);
    claimed_of(store.execute(claim("c1", "n1")).await);
    run_of(store.execute(stop("c1", 1)).await);
    assert_eq!(orphans(store).await, [""; 0]);
    assert_eq!(refusal_of(store.execute(claim("c1", "n1")).await).code(), "run_not_ready");
    run_of(store.execute(cancel_run("r1")).await);
    assert_eq!(orphans(store).await, ["c1"]);
    assert_eq!(run_of(store.execute(claim("c1", "n1")).await).status().word(), "stopped", "it is to be cancelled");
    run_of(store.execute(cancel_run("c1")).await);
    assert_eq!(orphans(store).await, [""; 0]);
    assert_eq!(refusal_of(store.execute(claim("c1", "n1")).await).code(), "run_ended");
    assert_sound(store).await;
}

/// Started by its parent in the batch in which that ends.
pub(crate) async fn a_child_that_is_started_with_its_parents_last_word_is_over(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    let commands = [record("r1", 1, "part", starts("c1")), end("r1", 1, "1"), claim("c1", "n1")];
    let [started, ended, claimed] = all_at_once(store, commands).await;
    entry_of(started);
    run_of(ended);
    assert_eq!(run_of(claimed).status().word(), "pending", "it is not claimed, but cancelled");
    assert_sound(store).await;
}
