use std::time::Duration;

use folkmoot_core::{
    Action, Deadline, Digest, Run, Subject, Timer,
    journal::{EntryState, Fence, JournalWrite, Waits, Write},
    question::{NewQuestion, QuestionType},
    run::{self, Conclusion, NewRun, ParkRequest, RunLimits, RunState, RunStatus},
};
use folkmoot_store::{Clock, JournalLine, JournalQuery, RunQuery, Store};

use crate::support::*;

async fn row(store: &impl Store, run: &str) -> Run {
    store.run(&run_id(run)).await.unwrap().unwrap()
}

fn everything() -> RunQuery {
    RunQuery { limit: 100, ..RunQuery::default() }
}

async fn ids(store: &impl Store, query: RunQuery) -> Vec<String> {
    store.runs(query).await.unwrap().items.into_iter().map(|run| run.start.id.to_string()).collect()
}

/// After each command the row is what the command gave, and in the end the row and the journal are
/// what the log says.
pub(crate) async fn the_whole_life_of_a_run_reads_back(world: &World<impl Place>) {
    let store = &*world.store;
    let later = |seconds| world.clock.advance(Duration::from_secs(seconds));
    let new_run = NewRun {
        title: "Ärger mit „Zitaten“ '\";-- \u{1f5f3}".to_owned(),
        input: Some("{\"n\":1}".to_owned()),
        limits: RunLimits { steps_max: 7, journal_bytes_max: 1 << 20, active_ms_max: 86_400_000 },
        ..new_run("r1")
    };
    let pending = run_of(store.execute(start(new_run)).await);
    assert_eq!((row(store, "r1").await, pending.status()), (pending, RunStatus::Pending));
    later(1);
    let (running, wakes) = claimed_of(store.execute(claim("r1", "n1")).await);
    assert_eq!((row(store, "r1").await, running.epoch, wakes), (running, 1, 0));
    later(1);
    entry_of(store.execute(record("r1", 1, "draft", done("\"text\""))).await);
    let worked = row(store, "r1").await;
    assert_eq!((worked.steps, worked.journal_bytes, worked.seq), (1, 6, 3));
    later(1);
    let due = noon().plus(minutes(60));
    let held = vec![name("a1"), name("zoe:2")];
    halt_of(store.execute(raise(folkmoot_core::Scope::All)).await);
    let park_request = ParkRequest { due: Deadline::At(due), held: held.clone(), ..park_request("r1", 1, 0) };
    let parked = run_of(store.execute(park(park_request)).await);
    assert!(matches!(&parked.state, RunState::Parked(parked) if parked.held == held), "{parked:?}");
    assert_eq!((row(store, "r1").await, parked.active_micros), (parked, 2_000_000));
    let timer = Timer { subject: Subject::Run(run_id("r1")), due };
    assert_eq!(store.due(due, 10).await, Ok(vec![timer]));
    later(3600);
    store.execute(wake("r1")).await.unwrap();
    assert_eq!(store.next_due().await, Ok(None));
    let (again, wakes) = claimed_of(store.execute(claim("r1", "n2")).await);
    assert_eq!((row(store, "r1").await, again.epoch, wakes), (again, 2, 1));
    let stopped = run_of(store.execute(stop("r1", 2)).await);
    assert_eq!((row(store, "r1").await, stopped.status()), (stopped, RunStatus::Stopped));
    let reopened = run_of(store.execute(resume_run("r1")).await);
    assert_eq!((row(store, "r1").await, reopened.status()), (reopened, RunStatus::Pending));
    claimed_of(store.execute(claim("r1", "n2")).await);
    let ended = run_of(store.execute(end("r1", 3, "[42]")).await);
    assert_eq!((row(store, "r1").await, ended.status()), (ended, RunStatus::Completed));
    let contents = store.contents(vec![Digest::of(b"{\"n\":1}"), Digest::of(b"[42]")]).await.unwrap();
    assert_eq!(contents, [Some(b"{\"n\":1}".to_vec()), Some(b"[42]".to_vec())]);
    assert_eq!(store.run(&run_id("nobody")).await, Ok(None));
    assert_sound(store).await;
}

pub(crate) async fn a_run_of_somebody_elses_agent_is_written_by_its_owner(store: &impl Store) {
    run_of(store.execute(start(NewRun { workflow: None, ..new_run("r1") })).await);
    let Action::Run(run::Action::Record(journal_write)) = record("r1", 0, "draft", Write::Begin).action else {
        unreachable!()
    };
    let owned = |write| Box::new(JournalWrite { fence: Fence::Owner, write, ..(*journal_write).clone() });
    let by = || agent("agent-a");
    entry_of(store.execute(command(by(), run::Action::Record(owned(Write::Begin)))).await);
    let failed = entry_of(store.execute(command(by(), run::Action::Record(owned(Write::Failed(boom()))))).await);
    assert_eq!((failed.state, failed.attempts), (EntryState::Failed { error: boom() }, 1));
    let conclusion = Conclusion::Failed { code: "boom".to_owned(), message: "it broke".to_owned() };
    let end = Action::Run(run::Action::End { run: run_id("r1"), fence: Fence::Owner, conclusion });
    let ended = run_of(store.execute(command(by(), end)).await);
    assert_eq!((ended.status(), row(store, "r1").await), (RunStatus::Failed, ended));
    assert_eq!(ready(store).await, [""; 0], "nobody works on what somebody else executes");
    assert_sound(store).await;
}

pub(crate) async fn each_filter_narrows_the_list_of_runs(world: &World<impl Place>) {
    let store = &*world.store;
    let in_session = |run: &str, session: &str| NewRun { session_id: Some(session.parse().unwrap()), ..new_run(run) };
    run_of(store.execute(start(in_session("r1", "s1"))).await);
    run_of(store.execute(start(in_session("r2", "s2"))).await);
    world.clock.advance(minutes(1));
    let theirs = command(reviewer("alice"), run::Action::Start(Box::new(in_session("r3", "s1"))));
    run_of(store.execute(theirs).await);
    run_of(store.execute(start(NewRun { workflow: None, ..in_session("r4", "s2") })).await);
    claimed_of(store.execute(claim("r1", "n1")).await);
    entry_of(store.execute(record("r1", 1, "part", starts("r5"))).await);
    entry_of(store.execute(record("r1", 1, "part two", starts("r6"))).await);
    run_of(store.execute(cancel_run("r2")).await);
    claimed_of(store.execute(claim("r3", "n1")).await);
    run_of(store.execute(park(park_request("r3", 1, 0))).await);
    claimed_of(store.execute(claim("r6", "n1")).await);
    run_of(store.execute(stop("r6", 1)).await);

    assert_eq!(ids(store, everything()).await, ["r6", "r5", "r4", "r3", "r2", "r1"], "newest first, then by id");
    let of = |session: &str| RunQuery { session: Some(session.parse().unwrap()), ..everything() };
    assert_eq!(ids(store, of("s1")).await, ["r6", "r5", "r3", "r1"]);
    assert_eq!(ids(store, of("s2")).await, ["r4", "r2"]);
    let children = RunQuery { parent: Some(run_id("r1")), ..everything() };
    assert_eq!(ids(store, children.clone()).await, ["r6", "r5"]);
    let by = |initiator: &str| RunQuery { initiator: Some(name(initiator)), ..everything() };
    assert_eq!(ids(store, by("alice")).await, ["r3"]);
    assert_eq!(ids(store, by("nobody")).await, [""; 0]);
    for (status, expected) in [
        (RunStatus::Pending, vec!["r5"]),
        (RunStatus::Running, vec!["r4", "r1"]),
        (RunStatus::Parked, vec!["r3"]),
        (RunStatus::Stopped, vec!["r6"]),
        (RunStatus::Cancelled, vec!["r2"]),
        (RunStatus::Completed, vec![]),
        (RunStatus::Failed, vec![]),
    ] {
        assert_eq!(ids(store, RunQuery { status: Some(status), ..everything() }).await, expected, "{status}");
    }
    let all = RunQuery { status: Some(RunStatus::Stopped), session: Some("s1".parse().unwrap()), ..children };
    assert_eq!(ids(store, RunQuery { initiator: Some(name("agent-a")), ..all }).await, ["r6"]);
}

pub(crate) async fn paging_visits_every_run_once_while_runs_are_added(world: &World<impl Place>) {
    let store = &*world.store;
    for n in 0..10 {
        run_of(store.execute(start(new_run(&format!("run-{n}")))).await);
        world.clock.advance(Duration::from_secs(n % 3));
    }
    for status in [None, Some(RunStatus::Pending)] {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = store.runs(RunQuery { status, after, limit: 3, ..RunQuery::default() }).await.unwrap();
            assert!(page.items.len() <= 3);
            seen.extend(page.items.into_iter().map(|run| run.start.id.to_string()));
            run_of(store.execute(start(new_run(&format!("late-{}", unique())))).await);
            after = page.next.map(|next| next.to_string().parse().unwrap());
            if after.is_none() {
                break;
            }
        }
        seen.retain(|id| id.starts_with("run-"));
        assert_eq!(seen, (0..10).rev().map(|n| format!("run-{n}")).collect::<Vec<_>>());
    }
}

/// In the order in which steps began, each with its result.
pub(crate) async fn a_journal_reads_back_in_pages(world: &World<impl Place>) {
    let store = &*world.store;
    a_worked_on_run(store, "r1").await;
    a_worked_on_run(store, "r2").await;
    let mut written = Vec::new();
    for (key, write) in [
        ("b", done("1")),
        ("a", done("\"ä\"")),
        ("ok", opens("gate-1")),
        ("ask", asks("question-1", QuestionType::Decision)),
        ("nap", Write::Sleep(Duration::from_secs(60))),
        ("part", starts("r3")),
        ("tell", Write::Emit { kind: "draft.grown".to_owned(), payload: "{}".to_owned(), records: Vec::new() }),
        ("try", Write::Failing(boom(), noon().plus(minutes(1)))),
        ("once", Write::Begin),
        ("no", Write::Failed(boom())),
    ] {
        let mut command = record("r1", 1, key, write);
        if let Action::Run(run::Action::Record(journal_write)) = &mut command.action {
            journal_write.entry.began_at = world.clock.now();
            journal_write.entry.input = (key == "a").then(|| Digest::of(b"in"));
            journal_write.entry.agent_id = (key == "a").then(|| name("elf"));
        }
        written.push(entry_of(store.execute(command).await));
        if key != "b" {
            world.clock.advance(Duration::from_secs(1));
        }
    }
    entry_of(store.execute(record("r2", 1, "b", done("2"))).await);
    // The first two began at the same moment: then by key.
    written.swap(0, 1);
    let result = |key: &str| match key {
        "b" => Some("1".to_owned()),
        "a" => Some("\"ä\"".to_owned()),
        "tell" => Some("null".to_owned()),
        _ => None,
    };
    let lines: Vec<JournalLine> =
        written.into_iter().map(|entry| JournalLine { result: result(entry.key.as_str()), entry }).collect();
    for limit in [1, 3, 10, u32::MAX] {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = store
                .journal(JournalQuery { run: run_id("r1"), after, limit, key: None, results: true })
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            after = Some((last.entry.began_at, last.entry.key.clone()));
            seen.extend(page);
        }
        assert_eq!(seen, lines, "in pages of {limit}");
    }
    // A step that goes on stays in its place.
    let again = entry_of(store.execute(record("r1", 1, "try", done("3"))).await);
    assert_eq!((again.attempts, again.began_at), (2, lines[7].entry.began_at));
    let journal = store
        .journal(JournalQuery { run: run_id("r1"), after: None, limit: 100, key: None, results: true })
        .await
        .unwrap();
    assert_eq!(journal[7], JournalLine { entry: again, result: Some("3".to_owned()) });
    assert!(matches!(&journal[2].entry.state, EntryState::Waiting(Waits::Gate(id)) if id.as_str() == "gate-1"));
    let none = JournalQuery { run: run_id("nobody"), after: None, limit: 100, key: None, results: true };
    assert_eq!(store.journal(none).await, Ok(vec![]));
    assert_sound(store).await;
}

pub(crate) async fn the_events_of_a_run_are_its_own_its_gates_and_its_questions(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    a_worked_on_run(store, "r2").await;
    an_open_gate(store).await;
    entry_of(store.execute(record("r1", 1, "ok", opens("gate-1"))).await);
    entry_of(store.execute(record("r2", 1, "ok", opens("gate-2"))).await);
    entry_of(store.execute(record("r1", 1, "ask", asks("question-1", QuestionType::Blocking))).await);
    entry_of(store.execute(record("r2", 1, "ask", asks("question-2", QuestionType::Decision))).await);
    asked(store, NewQuestion { session_id: Some("s1".parse().unwrap()), ..new_question(QuestionType::Decision) }).await;
    store.execute(approve(&id("gate-2"), "alice")).await.unwrap();
    store.execute(approve(&id("gate-1"), "alice")).await.unwrap();
    store.execute(answer(&"question-1".parse().unwrap(), "go")).await.unwrap();
    run_of(store.execute(end("r1", 1, "1")).await);
    let own = |stream: &str| ["run:r1", "gate-1", "question-1"].contains(&stream);
    let log = all_events(store).await;
    let expected: Vec<_> = log.into_iter().filter(|event| own(&event.fact.stream)).collect();
    let kinds: Vec<_> = expected.iter().map(|event| event.fact.kind.as_ref()).collect();
    let told = [
        "run.started",
        "run.claimed",
        "step.recorded",
        "gate.opened",
        "step.recorded",
        "question.asked",
        "agent.halted",
        "gate.decided",
        "question.answered",
        "agent.resumed",
        "run.ended",
    ];
    assert_eq!(kinds, told);
    for limit in [1, 4, 1000] {
        let (mut after, mut seen) = (0, Vec::new());
        loop {
            let page = store.events_of_run(&run_id("r1"), after, limit).await.unwrap();
            let Some(last) = page.last() else { break };
            assert!(page.len() <= limit as usize);
            after = last.position;
            seen.extend(page);
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
    assert_eq!(store.events_of_run(&run_id("nobody"), 0, 10).await, Ok(vec![]));
}

pub(crate) async fn what_is_refused_writes_nothing(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    entry_of(store.execute(record("r1", 1, "draft", done("1"))).await);
    a_parked_run(store, "r2").await;
    run_of(store.execute(start(new_run("r3"))).await);
    run_of(store.execute(cancel_run("r3")).await);
    let (before, rows) = (store.head().await, store.runs(everything()).await);
    let refused = [
        (start(NewRun { title: "another".to_owned(), ..new_run("r1") }), "run_exists"),
        (record("r1", 0, "x", done("1")), "lease_lost"),
        (record("r1", 2, "x", opens("gate-1")), "lease_lost"),
        (record("r1", 1, "draft", done("2")), "step_recorded"),
        (record("r1", 1, "draft", Write::Sleep(minutes(1))), "workflow_changed"),
        (record("r2", 1, "x", asks("question-1", QuestionType::Emergency)), "lease_lost"),
        (claim("r2", "n2"), "run_not_ready"),
        (resume_run("r2"), "run_waits"),
        (park(park_request("r2", 1, 0)), "lease_lost"),
        (stop("r2", 1), "lease_lost"),
        (end("r2", 1, "1"), "lease_lost"),
        (claim("r3", "n1"), "run_ended"),
        (cancel_run("r3"), "run_ended"),
        (resume_run("r3"), "run_ended"),
        (record("nobody", 1, "x", done("1")), "unknown_run"),
        (cancel_run("nobody"), "unknown_run"),
        (claim("nobody", "n1"), "unknown_run"),
    ];
    let (commands, codes): (Vec<_>, Vec<_>) = refused.into_iter().unzip();
    let one_by_one = async || {
        let mut answers = Vec::new();
        for command in commands.clone() {
            answers.push(store.execute(command).await);
        }
        answers
    };
    for answers in [one_by_one().await, at_once(store, commands.clone()).await] {
        let told: Vec<_> = answers.into_iter().map(|answer| refusal_of(answer).code()).collect();
        assert_eq!(told, codes);
    }
    assert_eq!((store.head().await, store.runs(everything()).await), (before, rows));
    assert_eq!(store.question(&"question-1".parse().unwrap()).await, Ok(None));
    assert_eq!(store.next_due().await, Ok(None));
    assert_eq!(ready(store).await, [""; 0]);
    assert_sound(store).await;
}

pub(crate) async fn a_run_is_there_after_a_restart(world: World<impl Place>) {
    let store = world.store();
    a_worked_on_run(store, "r1").await;
    entry_of(store.execute(record("r1", 1, "draft", done("1"))).await);
    entry_of(store.execute(record("r1", 1, "ok", opens("gate-1"))).await);
    run_of(store.execute(park(park_request("r1", 1, 0))).await);
    store.execute(beat("n1", minutes(5))).await.unwrap();
    a_worked_on_run(store, "r2").await;
    let journal = || JournalQuery { run: run_id("r1"), after: None, limit: 10, key: None, results: true };
    let before = (store.runs(everything()).await.unwrap(), store.journal(journal()).await.unwrap());
    let world = world.reopened().await;
    let store = world.store();
    assert_eq!((store.runs(everything()).await.unwrap(), store.journal(journal()).await.unwrap()), before);
    assert_eq!((ready(store).await, orphans(store).await), (vec![], vec![]));
    store.execute(approve(&id("gate-1"), "alice")).await.unwrap();
    assert_eq!(ready(store).await, ["r1"]);
    assert_eq!(claimed_of(store.execute(claim("r1", "n2")).await).1, 1);
    assert_sound(store).await;
}
