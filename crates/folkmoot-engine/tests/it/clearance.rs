//! No agent works past an open question.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use folkmoot_core::{
    Hold, Name, Question, Role, Scope, SessionId,
    clearance::ReleaseReason,
    halt::NewHalt,
    question::{Close, NewQuestion, QuestionType, Reply},
};
use folkmoot_engine::{ClearanceGranted, ClearanceRefused, Engine};
use tokio::task::JoinSet;

use crate::moot::{Moot, agent, alice, principal, two_nodes};

const LONG: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(50);

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn session(text: &str) -> SessionId {
    text.parse().unwrap()
}

async fn ask(engine: &Engine, question_type: QuestionType, agent_id: &str, in_session: Option<&str>) -> Question {
    let new_question = NewQuestion {
        id: engine.new_question_id(),
        agent_id: Some(name(agent_id)),
        run_id: None,
        session_id: in_session.map(session),
        question_type,
        text: "May I?".to_owned(),
        options: Vec::new(),
        default: None,
        timeout: None,
        halts: None,
        priority: None,
    };
    engine.ask(agent().into(), new_question).await.unwrap()
}

async fn close(engine: &Engine, question: &Question, close: Close) {
    let reply = Reply { question: question.id.clone(), close, reason: "so".to_owned() };
    engine.close_question(alice().into(), reply).await.unwrap();
}

async fn answer(engine: &Engine, question: &Question, text: &str) {
    close(engine, question, Close::Answer(text.into())).await;
}

async fn halt_session(engine: &Engine, id: &str) -> folkmoot_core::Halt {
    let (agent_id, session_id, reason) = (None, Some(session(id)), "smoke".to_owned());
    let new_halt = NewHalt { id: engine.new_halt_id(), scope: Scope::Session, agent_id, session_id, reason };
    engine.raise_halt(principal("root", Role::Admin).into(), new_halt).await.unwrap()
}

async fn wait(
    engine: &Engine,
    agent_id: &str,
    in_session: Option<&str>,
    time: Duration,
) -> Result<ClearanceGranted, ClearanceRefused> {
    let in_session = in_session.map(session);
    engine.wait_for_clearance(&agent(), &name(agent_id), in_session.as_ref(), time).await
}

fn ids(holds: &[Arc<Hold>]) -> Vec<&str> {
    holds.iter().map(|hold| hold.id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waiters_on_one_emergency_are_all_released_and_none_early() {
    let moot = Moot::start().await;
    released_together(&moot.engine, &moot.engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waiters_on_one_node_are_released_by_an_answer_on_the_other() {
    let Some([here, there]) = two_nodes().await else { return };
    released_together(&here, &there).await;
}

/// Waiters on `here`; the answers come from `there`. A tenth are in a session that is halted too.
async fn released_together(here: &Engine, there: &Engine) {
    let emergency = ask(there, QuestionType::Emergency, "a0", Some("s0")).await;
    let halt = halt_session(there, "halted").await;
    eventually(|| here.blocked_by("a1", Some("halted")).len() == 2).await;
    let mut waiting = JoinSet::new();
    for n in 0..10_000 {
        let here = here.clone();
        waiting.spawn(async move {
            let in_session = if n % 10 == 0 { "halted" } else { "free" };
            // Many agents, and several waiters of each.
            let cleared = wait(&here, &format!("a{}", n % 3000), Some(in_session), LONG).await.unwrap();
            (in_session, cleared)
        });
    }
    eventually(|| here.waiting_for_clearance() == 10_000).await;
    let still_halted = wait(here, "a1", Some("halted"), SOON).await.unwrap_err();
    let ClearanceRefused::Timeout { blocked_by, .. } = still_halted else { panic!("{still_halted:?}") };
    assert_eq!(ids(&blocked_by), [emergency.id.as_str(), halt.id.as_str()], "what blocks it, oldest first");
    answer(there, &emergency, "all clear").await;
    for _ in 0..9_000 {
        let (in_session, ClearanceGranted { reason, answers }) = waiting.join_next().await.unwrap().unwrap();
        assert_eq!((in_session, reason), ("free", ReleaseReason::Answered), "nobody is released early");
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].answer, Some("all clear".into()));
    }
    tokio::time::sleep(SOON).await;
    assert!(waiting.try_join_next().is_none(), "the halted session still waits");
    assert_eq!(here.waiting_for_clearance(), 1000);
    there.lift_halt(principal("root", Role::Admin).into(), halt.id).await.unwrap();
    for (in_session, cleared) in waiting.join_all().await {
        assert_eq!((in_session, cleared.reason), ("halted", ReleaseReason::Lifted));
        assert_eq!(cleared.answers[0].answer, Some("all clear".into()));
    }
    assert_eq!(here.waiting_for_clearance(), 0, "no trace remains");
}

/// Until `holds` is true, which another node's tailer makes it soon.
async fn eventually(holds: impl Fn() -> bool) {
    let looking = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), looking).await.expect("it comes soon");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_release_is_lost_however_waiting_and_answering_interleave() {
    let moot = Arc::new(Moot::start().await);
    for round in 0..300 {
        moot.clock.advance(Duration::from_millis(1));
        let question = ask(&moot.engine, QuestionType::Blocking, "a1", None).await;
        let other = moot.clone();
        let waiting = tokio::spawn(async move { wait(&other.engine, "a1", None, LONG).await });
        for _ in 0..round % 30 {
            tokio::task::yield_now().await;
        }
        let word = format!("answer {round}");
        answer(&moot.engine, &question, &word).await;
        let cleared =
            tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("it wakes").unwrap().unwrap();
        // However late it began to wait, it is told what was answered.
        assert_eq!(cleared.answers.last().unwrap().answer, Some(word.into()), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_told_of_an_ask_or_an_answer_finds_it_at_once() {
    let moot = Moot::start().await;
    for round in 0..300 {
        let question = ask(&moot.engine, QuestionType::Approval, "a1", Some("s1")).await;
        assert!(!moot.engine.can_proceed("a1", None), "round {round}");
        assert!(!moot.engine.can_proceed("a2", Some("s1")), "round {round}");
        answer(&moot.engine, &question, "approve").await;
        assert!(moot.engine.can_proceed("a1", None), "round {round}");
        assert!(moot.engine.can_proceed("a2", Some("s1")), "round {round}");
    }
}

#[tokio::test]
async fn what_was_answered_before_it_waited_is_told_when_something_else_lets_go_of_it() {
    told_when_lifted(false).await;
}

#[tokio::test]
async fn what_was_answered_before_a_restart_is_told_too() {
    told_when_lifted(true).await;
}

async fn told_when_lifted(restarts: bool) {
    let mut moot = Moot::start().await;
    let question = ask(&moot.engine, QuestionType::Blocking, "a1", Some("s1")).await;
    let halt = halt_session(&moot.engine, "s1").await;
    answer(&moot.engine, &question, "blue").await;
    if restarts {
        moot.clock.advance(Duration::from_secs(1));
        moot = moot.restart().await;
    }
    let waiting = tokio::spawn({
        let engine = moot.engine.clone();
        async move { wait(&engine, "a1", Some("s1"), LONG).await }
    });
    eventually(|| moot.engine.waiting_for_clearance() == 1).await;
    moot.engine.lift_halt(principal("root", Role::Admin).into(), halt.id).await.unwrap();
    let cleared = waiting.await.unwrap().unwrap();
    assert_eq!((cleared.reason, cleared.answers[0].answer.clone()), (ReleaseReason::Lifted, Some("blue".into())));
}

#[tokio::test]
async fn each_waiter_has_its_own_time() {
    let moot = Moot::start().await;
    let question = ask(&moot.engine, QuestionType::Blocking, "a1", None).await;
    let patient = tokio::spawn({
        let engine = moot.engine.clone();
        async move { wait(&engine, "a1", None, LONG).await }
    });
    let hasty = wait(&moot.engine, "a1", None, Duration::from_millis(10)).await;
    assert!(matches!(hasty, Err(ClearanceRefused::Timeout { .. })), "a library's waiter gets an error: {hasty:?}");
    let again = moot.engine.question(&agent(), &question.id).await.unwrap();
    assert_eq!(again.question, question, "a waiter's own time changes nothing");
    answer(&moot.engine, &question, "go").await;
    assert_eq!(patient.await.unwrap().unwrap().reason, ReleaseReason::Answered);
}

/// A waiter's time is for what covers it. Whom nothing covers is cleared, however little time it
/// brings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_nothing_covers_needs_no_time() {
    let moot = Moot::start().await;
    let mut engines = vec![moot.engine.clone()];
    engines.extend(two_nodes().await.into_iter().flatten());
    for (n, engine) in engines.iter().enumerate() {
        let name = format!("a{n}");
        for round in 0..50 {
            let cleared = wait(engine, &name, Some("s1"), Duration::ZERO).await;
            assert!(cleared.is_ok(), "round {round}: {cleared:?}");
        }
        ask(engine, QuestionType::Blocking, &name, None).await;
        let halted = wait(engine, &name, None, Duration::ZERO).await;
        assert!(matches!(halted, Err(ClearanceRefused::Timeout { .. })), "{halted:?}");
    }
}

#[tokio::test]
async fn a_denial_ends_the_wait_and_covers_its_asker_until_it_is_fetched() {
    let moot = Moot::start().await;
    let question = ask(&moot.engine, QuestionType::Approval, "a1", Some("s1")).await;
    close(&moot.engine, &question, Close::Deny).await;
    assert!(moot.engine.can_proceed("a2", Some("s1")), "the session goes on");
    let stranger = principal("elf", Role::Agent);
    let told = moot.engine.wait_for_clearance(&stranger, &name("a1"), None, LONG).await;
    assert!(matches!(told, Err(ClearanceRefused::Denied { .. })), "{told:?}");
    assert!(!moot.engine.can_proceed("a1", None), "somebody else's look is no delivery");
    let Err(ClearanceRefused::Denied { answers }) = wait(&moot.engine, "a1", None, LONG).await else {
        panic!("not denied")
    };
    assert_eq!((answers[0].id.as_str(), answers[0].reason_given.as_str()), (question.id.as_str(), "so"));
    assert!(!moot.engine.can_proceed("a1", None), "an answer to a wait can be lost on its way");
    moot.engine.question(&agent(), &question.id).await.unwrap();
    assert!(!moot.engine.can_proceed("a1", None), "to read is not to acknowledge");
    let refused = moot.engine.acknowledge(stranger.into(), question.id.clone(), String::new()).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code(), "unknown_question");
    assert!(!moot.engine.can_proceed("a1", None));
    moot.engine.acknowledge(agent().into(), question.id.clone(), String::new()).await.unwrap();
    assert!(moot.engine.can_proceed("a1", None), "but who says so has heard it");
    let then = wait(&moot.engine, "a1", None, LONG).await.unwrap();
    assert_eq!(then.answers, [], "and it is not told once more");
}

#[tokio::test]
async fn a_questions_own_timeout_applies_its_default_and_says_so() {
    let moot = Moot::start().await;
    let new_question = NewQuestion {
        id: moot.engine.new_question_id(),
        agent_id: Some(name("a1")),
        run_id: None,
        session_id: None,
        question_type: QuestionType::Blocking,
        text: "Which way?".to_owned(),
        options: vec!["left".to_owned(), "right".to_owned()],
        default: Some("left".into()),
        timeout: None,
        halts: None,
        priority: None,
    };
    moot.engine.ask(agent().into(), new_question).await.unwrap();
    let waiting = tokio::spawn({
        let engine = moot.engine.clone();
        async move { wait(&engine, "a1", None, LONG).await }
    });
    tokio::time::sleep(SOON).await;
    moot.clock.advance(Duration::from_secs(15 * 60));
    moot.engine.fire_due().await.unwrap();
    let cleared = waiting.await.unwrap().unwrap();
    assert_eq!((cleared.reason, cleared.answers[0].answer.clone()), (ReleaseReason::Default, Some("left".into())));
}

#[tokio::test]
async fn a_halting_question_without_a_default_reminds_and_never_expires() {
    let moot = Moot::start().await;
    let question = ask(&moot.engine, QuestionType::Blocking, "a1", None).await;
    for reminders in 1..=3 {
        moot.clock.advance(Duration::from_secs(15 * 60));
        moot.engine.fire_due().await.unwrap();
        let now = moot.engine.question(&agent(), &question.id).await.unwrap().question;
        assert_eq!((now.reminders, now.closure()), (reminders, None));
        assert!(!moot.engine.can_proceed("a1", None));
    }
}

#[tokio::test]
async fn what_is_halted_says_by_what() {
    let moot = Moot::start().await;
    let first = ask(&moot.engine, QuestionType::Blocking, "a1", Some("s1")).await;
    moot.clock.advance(Duration::from_millis(1));
    let second = ask(&moot.engine, QuestionType::Approval, "a1", Some("s1")).await;
    let halt = halt_session(&moot.engine, "s1").await;
    let status = moot.engine.halts(&alice()).await.unwrap();
    assert_eq!(status.system.len(), 0);
    let [(in_session, by)] = &status.sessions[..] else { panic!("{status:?}") };
    assert_eq!((in_session.as_str(), ids(by)), ("s1", vec![second.id.as_str(), halt.id.as_str()]));
    let [(held, by)] = &status.agents[..] else { panic!("{status:?}") };
    assert_eq!((held.as_str(), ids(by)), ("a1", vec![first.id.as_str(), second.id.as_str()]));
}

/// The index is the same after a restart, and the same as what the log made of it.
#[tokio::test]
async fn halts_survive_a_restart_and_releases_count() {
    let moot = Moot::start().await;
    let kept = ask(&moot.engine, QuestionType::Approval, "a1", Some("s1")).await;
    let released = ask(&moot.engine, QuestionType::Blocking, "a2", None).await;
    let emergency = ask(&moot.engine, QuestionType::Emergency, "a3", None).await;
    answer(&moot.engine, &released, "go").await;
    close(&moot.engine, &emergency, Close::Skip).await;
    let moot = moot.restart().await;
    let held: BTreeSet<_> = ["a1", "a2", "a3"].into_iter().filter(|id| !moot.engine.can_proceed(id, None)).collect();
    assert_eq!(held, BTreeSet::from(["a1"]));
    assert!(!moot.engine.can_proceed("a9", Some("s1")));
    answer(&moot.engine, &kept, "approve").await;
    assert!(moot.engine.can_proceed("a9", Some("s1")));
}
