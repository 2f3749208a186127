//! What holds for any sequence of lines in a transcript about runs, by anybody, at any time.
//! `World` checks, after each of them, that every row and every journal is the fold of its events,
//! that events and rows read back as they were written, that nothing of a run that is over still
//! waits, and that a refusal leaves nothing but its event.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    Event, HaltId, Question, Run, RunId, Timestamp,
    clearance::Target,
    halt::Notice,
    journal::{Entry, EntryState},
    run::RunState,
    transcript::{Stage, World, time},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_a_run_holds(lines in vec(a_line(), 30..70)) {
        let mut stage = Stage::default();
        BEGINNING.iter().for_each(|line| drop(stage.play(line)));
        let mut halted = BTreeSet::new();
        let mut seconds = 9 * 3600;
        for (n, Line { wait, pick, said }) in lines.into_iter().enumerate() {
            seconds += wait;
            let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
            let said = filled(&said, n, pick, &stage.world);
            let before = stage.world.clone();
            let answer = stage.play(&format!("{clock} {said}"));
            let after = &stage.world;
            let checked = check_runs(&before, after, &said, &answer, time(&clock))
                .and_then(|()| check_notices(after, &after.log[before.log.len()..], &mut halted));
            checked.map_err(|why| TestCaseError::fail(format!("{why}: {clock} {said} → {answer}")))?;
        }
    }
}

fn check_runs(before: &World, after: &World, said: &str, answer: &str, now: Timestamp) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    let all = |world: &World| (world.runs.clone(), world.journals.clone(), world.wakes.clone(), world.timers.clone());
    must(!answer.starts_with("refused") || all(before) == all(after), "a refusal changed a run")?;
    for (id, run) in &before.runs {
        check_run(run, &after.runs[id], said, before.wakes.get(id).copied().unwrap_or_default(), now)?;
        for (key, entry) in before.journals.get(id).into_iter().flatten() {
            check_entry(entry, &after.journals[id][key])?;
        }
    }
    match claimed_by(said).and_then(|(id, claim)| Some((before.runs.get(&id)?, claim))) {
        Some((run, claim)) => {
            let holds = matches!(run.state, RunState::Running { .. }) && run.epoch == claim;
            must(holds || answer.starts_with("refused"), "whoever does not hold a run wrote for it")
        }
        None => Ok(()),
    }
}

fn check_run(before: &Run, after: &Run, said: &str, wakes: u64, now: Timestamp) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    must(before.ending().is_none() || before == after, "a run that is over changed")?;
    must(before.seq <= after.seq && before.steps <= after.steps, "a run forgot something")?;
    must(before.journal_bytes <= after.journal_bytes, "a journal shrank")?;
    must(before.active_micros <= after.active_micros, "a clock went back")?;
    must(after.active(now) <= now.since(after.start.started_at), "worked on for longer than it was there")?;
    must(after.steps <= after.start.limits.steps_max, "more steps than allowed")?;
    if before.epoch == after.epoch {
        let runs = |run: &Run| matches!(run.state, RunState::Running { .. });
        return must(runs(before) || !runs(after), "worked on without a claim");
    }
    must(after.epoch == before.epoch + 1 && said.contains(" claims "), "a claim that nobody made")?;
    match &before.state {
        RunState::Pending | RunState::Running { .. } => Ok(()),
        RunState::Parked(parked) => must(wakes > parked.wakes, "claimed although nothing had changed"),
        RunState::Outside | RunState::Stopped { .. } | RunState::Ended(_) => Err("claimed what cannot be"),
    }
}

fn check_entry(before: &Entry, after: &Entry) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    must((before.kind, before.began_at) == (after.kind, after.began_at), "a step became another")?;
    must(before.attempts <= after.attempts, "an attempt was forgotten")?;
    match &before.state {
        EntryState::Done { .. } | EntryState::Failed { .. } | EntryState::Waiting(_) => {
            must(before == after, "a result changed")
        }
        EntryState::Begun | EntryState::Failing { .. } => Ok(()),
    }
}

/// Whoever knows only what the log says of halting and resuming knows what is held, also when a
/// run's end closes much.
fn check_notices(world: &World, said: &[Event], halted: &mut BTreeSet<Target>) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    for event in said.iter().filter(|event| !event.fact.stream.starts_with("run:")) {
        let Some(notice) = Notice::read(&event.fact).unwrap() else { continue };
        let target = match event.fact.kind.split('.').next() {
            Some("agent") => Target::Agent(notice.agent_id.clone().ok_or("an agent without a name")?),
            Some("session") => Target::Session(notice.session_id.clone().ok_or("a session without an id")?),
            _ => Target::System,
        };
        if notice.resumed {
            must(halted.remove(&target), "resumed what was not halted")?;
        } else {
            halted.insert(target);
        }
    }
    let held: BTreeSet<_> = world.all_holds().iter().flat_map(|hold| hold.targets().collect::<Vec<_>>()).collect();
    must(*halted == held, "the log tells of other halts than there are")
}

/// The run for which a worker writes, and the claim that it names.
fn claimed_by(said: &str) -> Option<(RunId, u64)> {
    let word = |start: &str| said.split(' ').find_map(|word| word.strip_prefix(start));
    let run = word("of=").or_else(|| said.split(' ').nth(2))?;
    Some((run.parse().ok()?, word("claim=")?.parse().ok()?))
}

/// So that there is something to work on.
const BEGINNING: [&str; 5] = [
    "09:00 bot starts r1 draft@1 session=s1",
    "09:00 system claims r1 node=n1",
    "09:00 alice starts r2 draft@1 session=s1",
    "09:00 system claims r2 node=n2",
    "09:00 bot starts r3",
];

#[derive(Clone, Debug)]
struct Line {
    wait: u64,
    pick: usize,
    said: String,
}

/// `#` is a number of its own, so that ids never repeat; RUN, GATE, QUESTION and HALT are some that
/// there are by then, and WORKED is a run that is worked on, if one is.
fn filled(said: &str, n: usize, pick: usize, world: &World) -> String {
    let worked = |run: &&Run| matches!(run.state, RunState::Running { .. });
    // One in eight comes too late.
    let lives = |run: &&Run| run.ending().is_none() || pick.is_multiple_of(8);
    let waits = |question: &&Question| question.closure().is_none() || question.hold().is_some();
    let run = among(world.runs.values().filter(lives).map(|run| run.start.id.as_str()), pick);
    let worked = among(world.runs.values().filter(worked).map(|run| run.start.id.as_str()), pick);
    let gate = among(world.gates.values().filter(|gate| gate.decision().is_none()).map(|gate| gate.id.as_str()), pick);
    let question = among(world.questions.values().filter(waits).map(|question| question.id.as_str()), pick);
    let halt = among(world.halts.keys().map(HaltId::as_str), pick);
    said.replace('#', &n.to_string())
        .replace("RUN", run.unwrap_or("r1"))
        .replace("WORKED", worked.or(run).unwrap_or("r1"))
        .replace("GATE", gate.unwrap_or("g"))
        .replace("QUESTION", question.unwrap_or("q"))
        .replace("HALT", halt.unwrap_or("h"))
}

fn among<'a>(ids: impl Iterator<Item = &'a str>, pick: usize) -> Option<&'a str> {
    let ids: Vec<_> = ids.collect();
    pick.checked_rem(ids.len()).map(|n| ids[n])
}

/// Waits are often exactly what a timeout is away. Anybody can try anything, but mostly those do
/// who may.
fn a_line() -> impl Strategy<Value = Line> {
    let said = prop_oneof![
        4 => "(bot|alice|bot|vera) starts r[1-9]( draft@1| draft@1|)( session=s1)?( steps=3)?",
        2 => "system beats n[12] for=(1|60)s( alone=true)?",
        1 => "system leaves n[12]",
        8 => "system claims RUN node=n[12]",
        8 => r#"system records [a-e] (begins|retries "e"|fails "e"|does "[12]") of=WORKED"#,
        3 => "system records [a-h] (opens g#( on_timeout=escalate)? timeout=1m|sleeps for=1m) of=WORKED",
        5 => "system records [a-h] asks q# (APPROVAL|EMERGENCY|BLOCKING|CONFIRMING timeout=1m)( agent=elf)? of=WORKED",
        2 => r#"system records [a-h] (starts c# part@1|tells event=deploy[.]begun "1") of=WORKED"#,
        4 => r#"system (records [a-c] does "1" of=WORKED|parks WORKED|stops WORKED|ends WORKED "1") claim=[0-3]"#,
        4 => r#"(bot|alice|elf|vera) records [a-e] (begins|fails "e"|does "[12]") of=RUN"#,
        5 => "system parks WORKED( due=09:[0-5][0-9])?( held=(bot|elf|bot,elf))?",
        1 => "system parks WORKED wakes=[0-2]",
        3 => "system wakes RUN",
        1 => r#"system stops WORKED "look at it""#,
        1 => r#"system ends WORKED( code=boom)? "1""#,
        1 => r#"(bot|alice|elf|vera) ends RUN( code=boom)? "1""#,
        1 => "(bot|alice|elf|vera|system) cancels-run RUN",
        2 => "(bot|alice|elf|vera) resumes RUN",
        1 => "(bot|alice|elf) opens g# run=RUN",
        1 => "(bot|alice|elf) asks q# (APPROVAL|DECISION) run=RUN",
        3 => "((alice|bob) approves|system expires) on=GATE",
        3 => "((alice|bob) (denies|skips)|system lapses|elf fetches) QUESTION",
        1 => r#"ada halts h# scope=(all|agent agent=elf|session session=s1) "wait""#,
        1 => "ada lifts HALT",
    ];
    let wait = select(vec![0, 0, 0, 0, 1, 59, 60]);
    (wait, any::<usize>(), said).prop_map(|(wait, pick, said)| Line { wait, pick, said })
}
