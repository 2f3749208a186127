//! Writing to a run's journal, and what an entry does besides: it opens a gate, asks a question,
//! starts a run or emits an event.

use super::{
    Loaded, Run, RunEvent,
    commit::artifact,
    gates::{must_have_no_pending_gate, must_not_be_stopped_at},
    start::{commit_start, start_child},
};
use crate::{
    Commit, Fact, Outcome, Presence, Principal, Record, Refusal, Row,
    gate::{self, GateEvent},
    journal::{self, Fence, JournalWrite, RecordOutcome, Write},
    judge::{Case, RefusedWith},
    principal, question,
    record::{self, RecordNote},
    token::TokenKind,
};

/// Judges a write to the journal and returns what to write.
pub(super) fn judge(case: &Case<'_>, journal_write: &JournalWrite, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let mut run = Run::found(loaded.run, &journal_write.run)?;
    let by = run.writer(case, journal_write.fence, "record a step")?;
    // A record in another's run speaks in a person's name, so a personal token takes a terminal.
    if let (Fence::Owner, Some(presence)) = (journal_write.fence, case.presence)
        && presence.kind() == TokenKind::Personal
        && run.start.initiator != by.name
    {
        presence.must_be(Presence::Terminal)?;
    }
    if let (Fence::Owner, Some(name)) = (journal_write.fence, &journal_write.entry.agent_id) {
        principal::must_not_be_a_person("agent_id", name, &by.name, &case.principals)?;
    }
    let known = loaded.entry.as_ref();
    let entry = match (journal::record(&run, known, journal_write, &by, case.now)?, known) {
        (RecordOutcome::New(entry), _) => entry,
        (RecordOutcome::Known, known) => {
            let known = known.cloned().expect("what is known was loaded");
            return Ok(Commit { outcome: Outcome::Stands(Box::new(known)), ..Commit::default() });
        }
    };
    if journal_write.is_blocked_by_gates() {
        let gates = &loaded.gates;
        // A step that was begun before may be the one that waits at the gate. A script that is
        // restarted begins it again.
        if known.is_none() {
            must_have_no_pending_gate(&run, gates)?;
        }
        // A step that was begun before the run was stopped may still be recorded as done, but not
        // begun again.
        if known.is_none() || matches!(journal_write.write, Write::Begin) {
            must_not_be_stopped_at(&run, gates)?;
        }
    }
    let event = RunEvent::Recorded { initiator: run.start.initiator.clone(), entry: Box::new(entry.clone()) };
    run.apply(&event, known).expect("an event that the rules just allowed applies");
    let mut commit = Commit { events: vec![run.fact(case, &event)], ..Commit::default() };
    commit.merge(commit_write(case, &mut run, &journal_write.write, &by)?);
    commit.rows.push(Row::Entry(run.start.id.clone(), Box::new(entry.clone())));
    commit.rows.push(Row::Run(Box::new(run)));
    commit.outcome = Outcome::Entry(Box::new(entry));
    Ok(commit)
}

/// What an entry writes besides itself. It is in the same transaction, so that a run that crashes
/// afterwards finds it again.
fn commit_write(case: &Case<'_>, run: &mut Run, write: &Write, by: &Principal) -> Result<Commit, RefusedWith> {
    let rows = |rows| Ok(Commit { rows, ..Commit::default() });
    match write {
        Write::Begin | Write::Failing(..) | Write::Failed(_) | Write::Sleep(_) => Ok(Commit::default()),
        Write::Done(result) => rows(vec![artifact(result)]),
        Write::Open { new_gate, policy, contents, alone } => {
            if new_gate.dedupe_key.is_some() {
                let problem = "is for what no journal remembers; leave it out: its step is opened once";
                return Err(Refusal::invalid("dedupe_key", problem).into());
            }
            let mut event = gate::open(new_gate, by, policy, Some(run), case.now)?;
            let decided = match (&mut event, alone) {
                (GateEvent::Opened(gate), Some(reason)) => Some(gate::auto_approve(gate, reason, case.now)),
                _ => None,
            };
            let mut loaded = crate::Loaded::default();
            loaded.run.run = Some(run.clone());
            let mut commit = gate::commit_opened(case, new_gate, event, contents, loaded)?;
            if let (Some(event), Outcome::Gate(gate)) = (decided, std::mem::take(&mut commit.outcome)) {
                commit.merge(gate.commit_event(case, &event));
            }
            Ok(commit)
        }
        Write::Ask { new_question, defaults } => question::ask_as(case, by, new_question, defaults, Some(run)),
        Write::Start(new_run) => {
            let start = start_child(new_run, run, case.now)?;
            Ok(commit_start(case, start, new_run.input.as_deref()))
        }
        Write::Emit { kind, payload, records } => {
            let (kept, texts) = record::stored(&run.start.id, run.seq + 1, records, case.now);
            let notes: Vec<RecordNote> = kept.iter().map(Record::note).collect();
            let payload = record::told(payload, &notes)?;
            let event = RunEvent::Emitted { kind: kind.clone(), payload, at: case.now };
            run.apply(&event, None).expect("a run that is worked on can tell");
            // The payload is the workflow's own and does not say whose run it is, so the fact says
            // it.
            let on_behalf_of = Some(run.start.initiator.clone());
            let events = vec![Fact { on_behalf_of, ..run.fact(case, &event) }];
            let rows =
                texts.into_iter().map(Row::Artifact).chain(kept.into_iter().map(|kept| Row::Record(Box::new(kept))));
            let rows = rows.chain([artifact("null")]).collect();
            Ok(Commit { rows, events, ..Commit::default() })
        }
    }
}
