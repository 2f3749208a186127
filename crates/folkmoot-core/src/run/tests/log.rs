use crate::{
    Deadline, Event, Fact, Role, Run, RunId,
    audit::{self, AuditedRow},
    journal::{Entry, EntryKind, EntryState, StepError, Waits},
    run::{Conclusion, Outage, Parked, RunEvent, RunLimits, RunStart, RunState, RunStatus, end},
    transcript::{check, play, time},
};

fn fact(kind: &str, payload: &str, stream_seq: u64) -> Fact {
    Fact {
        stream: "run:r1".into(),
        stream_seq,
        kind: kind.to_owned().into(),
        version: 1,
        actor: "bot".parse().unwrap(),
        on_behalf_of: None,
        session: None,
        command_id: "command-1".parse().unwrap(),
        at: time("09:00"),
        payload: payload.to_owned(),
        token_id: None,
    }
}

/// As the log has them from before there were workflows.
const OLD: &str =
    r#"{"id":"r1","kind":"external","session_id":"s1","initiator":"bot","started_at":"2026-01-31T09:00:00.000000Z"}"#;

#[test]
fn a_run_from_before_there_were_workflows_still_folds() {
    let (run, journal) = Run::fold([&fact("run.started", OLD, 1)]).unwrap();
    assert_eq!((run.status(), run.seq, run.epoch, journal.len()), (RunStatus::Running, 1, 0, 0));
    let start = &run.start;
    assert_eq!((&start.workflow, start.role, &start.parent, start.input), (&None, Role::Agent, &None, None));
    assert_eq!((start.limits, run.moved_at), (RunLimits::default(), time("09:00")));
    assert_eq!(run.state, RunState::Outside);
}

#[test]
fn every_kind_of_event_reads_back_as_it_was_written() {
    let world = play("09:00 bot starts r1 draft@1 session=s1 title=T \"[]\"");
    let run = &world.runs["r1"];
    let (initiator, at) = (run.start.initiator.clone(), time("09:00"));
    let error = StepError::new("broke", "\"quite\"\n");
    let done = EntryState::Done { result: run.start.input.unwrap(), bytes: u64::MAX };
    let states = [
        EntryState::Begun,
        EntryState::Failing { error: error.clone(), retry_at: at },
        done,
        EntryState::Failed { error },
        EntryState::Waiting(Waits::Gate("g1".parse().unwrap())),
        EntryState::Waiting(Waits::Question("q1".parse().unwrap())),
        EntryState::Waiting(Waits::Run("r2".parse().unwrap())),
        EntryState::Waiting(Waits::Until(at)),
    ];
    let recorded = states.into_iter().flat_map(|state| {
        let entry = |agent_id: Option<&str>| Entry {
            key: "draft/1".parse().unwrap(),
            kind: EntryKind::Once,
            ordinal: 7,
            input: agent_id.and(run.start.input),
            agent_id: agent_id.map(|name| name.parse().unwrap()),
            state: state.clone(),
            attempts: 2,
            began_at: at,
            at,
        };
        [entry(None), entry(Some("bot"))]
    });
    let recorded = recorded.map(|entry| RunEvent::Recorded { initiator: initiator.clone(), entry: Box::new(entry) });
    let parked = [
        Parked { wakes: 0, due: Deadline::Never, held: Vec::new(), outages: Vec::new() },
        Parked {
            wakes: u64::MAX,
            due: Deadline::At(at),
            held: vec!["bot".parse().unwrap(), "elf".parse().unwrap()],
            outages: vec![Outage { provider: "local".to_owned(), reason: "refused".to_owned(), retry_at: at }],
        },
    ];
    let parked = parked.map(|parked| RunEvent::Parked { initiator: initiator.clone(), parked, at });
    let conclusions = [
        Conclusion::Completed { output: "{}".to_owned() },
        Conclusion::Failed { code: "boom".to_owned(), message: "it broke".to_owned() },
    ];
    let ended = conclusions.map(|conclusion| end::end(run, &conclusion, initiator.clone(), at).unwrap());
    let claimed = |epoch| RunEvent::Claimed { initiator: initiator.clone(), node: "n1".parse().unwrap(), epoch, at };
    let events = [
        RunEvent::Started(Box::new(run.start.clone())),
        claimed(1),
        claimed(2),
        RunEvent::Emitted { kind: "deploy.begun".to_owned(), payload: r#"{ "n": 1 }"#.to_owned(), at },
        RunEvent::Stopped { initiator: initiator.clone(), code: "stuck".to_owned(), message: "look".to_owned(), at },
        RunEvent::Reopened { initiator: initiator.clone(), by: "alice".parse().unwrap(), at },
    ];
    for event in events.into_iter().chain(recorded).chain(parked).chain(ended) {
        let read = RunEvent::read(&fact(&event.kind(), &event.payload(), 1));
        assert_eq!(read, Ok(event));
    }
}

#[test]
fn the_log_says_all_of_a_run() {
    check(
        r#"
        09:00 bot starts r1 draft@1 title=T                    → pending
        09:01 system claims node=n1                            → running on n1, claim 1
        09:02 system records draft does "1" worker=elf call=3  → done "1", 1 attempt
        09:03 system parks due=09:09                           → parked
        09:09 system wakes                                     → unchanged: nothing
        09:09 system claims node=n2                            → running on n2, claim 2
        09:10 system stops "look at it"                        → stopped stuck
        event 1 of=run:r1                                      → bot: run.started {"id":"r1","kind":"custom","title":"T","workflow":"draft@1","session_id":"r1","initiator":"bot","role":"agent","parent":null,"input":null,"limits":{"steps_max":100000,"journal_bytes_max":268435456,"active_ms_max":86400000},"started_at":"2026-01-31T09:00:00.000000Z"}
        event 2 of=run:r1                                      → system: run.claimed {"initiator":"bot","node":"n1","epoch":1}
        event 3 of=run:r1                                      → system for elf: step.recorded {"initiator":"bot","key":"draft","kind":"step","ordinal":3,"agent_id":"elf","state":"done","result":"sha256:6b86b273…","bytes":1,"attempts":1,"began_at":"2026-01-31T09:02:00.000000Z","at":"2026-01-31T09:02:00.000000Z"}
        event 4 of=run:r1                                      → system: run.parked {"initiator":"bot","wakes":0,"due":"2026-01-31T09:09:00.000000Z"}
        event 5 of=run:r1                                      → system: run.resumed {"initiator":"bot","node":"n2","epoch":2}
        event 6 of=run:r1                                      → system: run.stopped {"initiator":"bot","code":"stuck","message":"look at it"}
        "#,
    );
}

/// A run with a journal, its end, and what the log has of both.
fn ended() -> (AuditedRow, Vec<Event>) {
    let world = play(
        r#"
        09:00 bot starts r1 draft@1
        09:01 system claims node=n1
        09:02 system records draft does "1"
        09:03 system ends "2"
        "#,
    );
    let id: RunId = "r1".parse().unwrap();
    (world.run_record(&id), world.stream("run:r1"))
}

#[test]
fn a_row_or_a_journal_that_somebody_changed_is_found() {
    let (row, events) = ended();
    assert_eq!(audit::check_row("run:r1", Some(&row), &events), None);
    assert_eq!(row.to_string(), "completed, claim 1, 1 steps, 4 events");
    let AuditedRow::Run(run, journal, _) = &row else { unreachable!("it is a run") };
    let found = |row: Option<AuditedRow>| audit::check_row("run:r1", row.as_ref(), &events).unwrap().problem;
    let changed = AuditedRow::Run(Box::new(Run { epoch: 2, ..run.as_ref().clone() }), journal.clone(), Vec::new());
    let disagrees = "its row (completed, claim 2, 1 steps, 4 events) disagrees with the log (completed, claim 1, 1 steps, 4 events) in epoch";
    assert_eq!(found(Some(changed)), disagrees);
    let forgotten = AuditedRow::Run(run.clone(), Vec::new(), Vec::new());
    assert!(found(Some(forgotten)).contains("0 steps"));
    let forged = Entry { attempts: 9, ..journal[0].clone() };
    assert!(found(Some(AuditedRow::Run(run.clone(), vec![forged], Vec::new()))).contains("disagrees"));
    assert_eq!(found(None), "the log has this run, but its row is gone");
}

#[test]
fn events_that_cannot_have_happened_are_found() {
    let fold = |said: &[(&str, &str)]| {
        let numbered = said.iter().zip(1..).map(|((kind, payload), n)| fact(kind, payload, n));
        Run::fold(&numbered.collect::<Vec<_>>()).unwrap_err().0
    };
    let claimed = r#"{"initiator":"bot","node":"n1","epoch":2}"#;
    let ended = r#"{"initiator":"bot","outcome":"completed","by":"bot","at":"2026-01-31T09:00:00.000000Z"}"#;
    assert_eq!(Run::fold(&[]).unwrap_err().0, "there are no events");
    assert_eq!(fold(&[("run.ended", ended)]), "begins with run.ended instead of run.started");
    assert_eq!(fold(&[("run.started", OLD), ("run.started", OLD)]), "it was started twice");
    assert_eq!(fold(&[("run.started", OLD), ("run.resumed", claimed)]), "claim 2 follows claim 0");
    assert_eq!(
        fold(&[("run.started", OLD), ("run.ended", ended), ("note.told", "{}")]),
        "note.told came after its end"
    );
    let corrected =
        [fact("run.started", OLD, 1), fact("run.ended", ended, 2), fact("debate.lesson_corrected", "{}", 3)];
    let (run, _) = Run::fold(&corrected).unwrap();
    let before = Run { seq: 2, ..run.clone() };
    assert_eq!((run.seq, before), (3, Run::fold(&corrected[..2]).unwrap().0), "a corrected lesson moves nothing else");
    assert_eq!(fold(&[("run.started", OLD), ("run.flown", "{}")]), r#""run.flown" is no event of a run"#);
    assert_eq!(fold(&[("run.started", OLD), ("step.flown", "{}")]), r#""step.flown" is no event of a run"#);
    let parse = fold(&[("run.started", OLD), ("run.parked", "{}")]);
    assert!(parse.starts_with("run.parked has a payload that does not parse"), "{parse}");
    let gap = [fact("run.started", OLD, 1), fact("note.told", "{}", 3)];
    assert_eq!(Run::fold(&gap).unwrap_err().0, "event 3 of the stream follows event 1");
    assert_eq!(Run::fold(&[fact("run.started", OLD, 2)]).unwrap_err().0, "begins with event 2 of the stream");
}

#[test]
fn a_start_names_its_role_so_that_its_gates_can_ask_for_no_more() {
    let world = play("09:00 alice starts r1 draft@1\n09:00 bot starts r2 draft@1\n09:00 bot starts r3");
    let speaker = |id: &str| world.runs[id].speaker();
    let said = |id| (speaker(id).name.to_string(), speaker(id).role);
    assert_eq!(said("r1"), ("workflow:draft@1".to_owned(), Role::Reviewer));
    assert_eq!(said("r2"), ("workflow:draft@1".to_owned(), Role::Agent));
    assert_eq!(said("r3"), ("bot".to_owned(), Role::Agent));
    let RunStart { kind, .. } = &world.runs["r3"].start;
    assert_eq!(kind.word(), "external");
}
