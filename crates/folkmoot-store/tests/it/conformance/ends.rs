//! The end of a run closes all that is open of it, and tells of what that lets go.

use folkmoot_core::{
    Command, Event, Scope, Timeout,
    question::{Close, NewQuestion, QuestionType},
};
use folkmoot_store::{QuestionQuery, Store};

use crate::support::*;

fn asks_for(question: &str, kind: QuestionType, agent: &str) -> folkmoot_core::journal::Write {
    asks_as(NewQuestion {
        id: question.parse().unwrap(),
        agent_id: Some(name(agent)),
        session_id: None,
        ..new_question(kind)
    })
}

/// What the log says of a stream after a position, in words.
async fn log_of(store: &impl Store, stream: &str) -> Vec<String> {
    let of = |event: &Event| *event.fact.stream == *stream;
    all_events(store).await.into_iter().filter(of).map(|event| event.fact.kind.to_string()).collect()
}

/// How often it was told after a position that an agent, a session and everyone can go on.
async fn resumed(store: &impl Store, after: u64) -> [usize; 3] {
    let events = store.events(after, 1000).await.unwrap();
    let count = |kind: &str| events.iter().filter(|event| event.fact.kind == kind).count();
    ["agent.resumed", "session.resumed", "system.resumed"].map(count)
}

/// With what somebody who decides cancels goes also what halts; an agent's cancelling would leave
/// it.
fn cancelled_by_alice(run: &str) -> Command {
    Command { by: reviewer("alice"), ..cancel_run(run) }
}

pub(crate) async fn the_end_of_a_run_closes_what_is_open_of_it_and_nothing_else(world: &World<impl Place>) {
    let store = &*world.store;
    let ends: [fn(&str) -> Command; 2] = [|run| end(run, 1, "1"), cancelled_by_alice];
    for (n, end) in ends.into_iter().enumerate() {
        let run = format!("r{n}");
        let (before_gate, batch_gate, decided) = (format!("open-{n}"), format!("opened-{n}"), format!("decided-{n}"));
        let (before_question, batch_question) = (format!("asked-{n}"), format!("question-{n}"));
        a_worked_on_run(store, &run).await;
        entry_of(store.execute(record(&run, 1, "a", opens(&before_gate))).await);
        entry_of(store.execute(record(&run, 1, "b", opens(&decided))).await);
        entry_of(store.execute(record(&run, 1, "c", asks(&before_question, QuestionType::Blocking))).await);
        store.execute(approve(&id(&decided), "alice")).await.unwrap();
        let elsewhere = an_open_gate(store).await;
        let in_session = asked(store, new_question(QuestionType::Decision)).await;
        // Some are opened in the batch in which the run ends, and somebody is too late for one.
        let commands = [
            record(&run, 1, "d", opens(&batch_gate)),
            record(&run, 1, "e", asks(&batch_question, QuestionType::Approval)),
            end(&run),
            approve(&id(&batch_gate), "alice"),
            record(&run, 1, "f", opens("too-late")),
        ];
        let [opened, asked, ended, late, too_late] = all_at_once(store, commands).await;
        entry_of(opened);
        entry_of(asked);
        let ended = run_of(ended);
        assert_eq!(refusal_of(late).code(), "gate_decided");
        assert_eq!(refusal_of(too_late).code(), "run_ended");
        let reason = format!("its run {run} is over: {}", ended.status());
        for gate in [&before_gate, &batch_gate] {
            let gate = store.gate(&id(gate)).await.unwrap().unwrap().gate;
            let decision = gate.decision().unwrap();
            assert_eq!((decision.reason.as_str(), decision.outcome.word()), (reason.as_str(), "stop"));
        }
        assert_eq!(log_of(store, &decided).await, ["gate.opened", "gate.decided"]);
        let open = QuestionQuery { run: Some(run_id(&run)), limit: 10, ..QuestionQuery::default() };
        for view in store.questions(open).await.unwrap().items {
            assert_eq!(view.question.closure().unwrap().reason, reason);
        }
        assert!(store.gate(&elsewhere.id).await.unwrap().unwrap().gate.decision().is_none());
        assert!(store.question(&in_session.id).await.unwrap().unwrap().question.closure().is_none());
        store.execute(approve(&elsewhere.id, "alice")).await.unwrap();
        store.execute(answer(&in_session.id, "left")).await.unwrap();
    }
    assert_eq!(store.holds().await.unwrap().1, []);
    assert_eq!(store.next_due().await, Ok(None), "what is closed has no timer");
    assert_eq!(store.pending().await, Ok(0));
    assert_sound(store).await;
}

pub(crate) async fn what_was_late_when_its_run_ended_is_settled_by_the_clock(world: &World<impl Place>) {
    let store = &*world.store;
    a_worked_on_run(store, "r1").await;
    let gate = folkmoot_core::gate::NewGate { timeout: Some(Timeout::After(minutes(1))), ..new_gate() };
    let gate = opened(store, folkmoot_core::gate::NewGate { run_id: Some(run_id("r1")), ..gate }).await;
    world.clock.advance(minutes(1));
    run_of(store.execute(end("r1", 1, "1")).await);
    let gate = store.gate(&gate.id).await.unwrap().unwrap().gate;
    assert_eq!(gate.decision().unwrap().reviewer.as_str(), "timeout");
    assert_sound(store).await;
}

/// Two questions of the run hold the same session, one of them everyone: each release is told once,
/// by the last.
pub(crate) async fn what_several_questions_of_a_run_held_is_resumed_once(store: &impl Store) {
    for together in [false, true] {
        let run = format!("run-{together}");
        a_worked_on_run(store, &run).await;
        let asks = [
            record(&run, 1, "a", asks_for(&format!("one-{together}"), QuestionType::Approval, "a1")),
            record(&run, 1, "b", asks_for(&format!("two-{together}"), QuestionType::Emergency, "a1")),
            record(&run, 1, "c", asks_for(&format!("three-{together}"), QuestionType::Blocking, "a2")),
        ];
        let before = store.head().await.unwrap().position;
        match together {
            true => drop(at_once(store, asks.into_iter().chain([cancelled_by_alice(&run)])).await),
            false => {
                for asks in asks {
                    entry_of(store.execute(asks).await);
                }
                run_of(store.execute(cancelled_by_alice(&run)).await);
            }
        }
        assert_eq!(resumed(store, before).await, [2, 1, 1], "together: {together}");
        assert_eq!(store.holds().await.unwrap().1, []);
    }
    assert_sound(store).await;
}

/// Something else holds the same: a halt, or a question of another run or of nobody's. Then nothing
/// is told, also where the run's own question is as new as its end.
pub(crate) async fn what_something_else_holds_is_not_resumed(store: &impl Store) {
    for together in [false, true] {
        for (n, other) in ["halt", "question", "of another run", "in the same batch"].into_iter().enumerate() {
            let run = format!("run-{together}-{n}");
            a_worked_on_run(store, &run).await;
            let own = record(&run, 1, "a", asks_for(&format!("own-{together}-{n}"), QuestionType::Emergency, "a1"));
            let mut commands = vec![own, cancel_run(&run)];
            let third = format!("other-{together}-{n}");
            let holding = new_question(QuestionType::Emergency);
            match other {
                "halt" => {
                    for scope in [Scope::Agent, Scope::Session, Scope::All] {
                        halt_of(store.execute(raise(scope)).await);
                    }
                }
                "question" => drop(asked(store, holding).await),
                "of another run" => {
                    a_worked_on_run(store, &third).await;
                    let write = asks_for(&format!("third-{together}"), QuestionType::Emergency, "a1");
                    entry_of(store.execute(record(&third, 1, "a", write)).await);
                }
                _ => commands.insert(1, ask(holding)),
            }
            let before = store.head().await.unwrap().position;
            match together {
                true => drop(at_once(store, commands).await),
                false => {
                    for command in commands {
                        store.execute(command).await.unwrap();
                    }
                }
            }
            assert_eq!(resumed(store, before).await, [0, 0, 0], "{other}, together: {together}");
            // All that held goes, in one batch, and the last tells.
            let (_, holds) = store.holds().await.unwrap();
            assert!(!holds.is_empty(), "{other}");
            let release = holds.iter().map(|hold| match hold.id.question() {
                Some(question) => answer(question, "go"),
                None => lift(&hold.id.as_str().parse().unwrap()),
            });
            let before = store.head().await.unwrap().position;
            at_once(store, release).await.into_iter().for_each(|done| drop(done.unwrap()));
            assert_eq!(resumed(store, before).await, [1, 1, 1], "{other}, together: {together}");
        }
    }
    assert_sound(store).await;
}

/// A denial holds its asker until that has heard it. Whoever ends the run will not.
pub(crate) async fn a_denial_that_nobody_can_fetch_any_more_holds_nobody(store: &impl Store) {
    for together in [false, true] {
        let (run, question) = (format!("run-{together}"), format!("question-{together}"));
        a_worked_on_run(store, &run).await;
        entry_of(store.execute(record(&run, 1, "a", asks_for(&question, QuestionType::Approval, "a1"))).await);
        let deny = close(&question.parse().unwrap(), reviewer("alice"), Close::Deny);
        let before = store.head().await.unwrap().position;
        match together {
            true => at_once(store, [deny, end(&run, 1, "1")]).await.into_iter().for_each(|done| drop(done.unwrap())),
            false => {
                store.execute(deny).await.unwrap();
                assert_eq!(store.holds().await.unwrap().1.len(), 1);
                run_of(store.execute(end(&run, 1, "1")).await);
            }
        }
        assert_eq!(resumed(store, before).await, [1, 1, 0]);
        assert_eq!(store.holds().await.unwrap().1, []);
        let told = ["question.asked", "agent.halted", "session.halted", "question.denied", "session.resumed"];
        let log = log_of(store, &question).await;
        assert_eq!((&log[..5], log.len()), (&told.map(str::to_owned)[..], 7), "{log:?}");
    }
    assert_sound(store).await;
}
