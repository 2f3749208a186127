//! Writing to a journal.

use std::borrow::Cow;

use super::{Entry, EntryKey, EntryKind, EntryState, StepError, Waits};
use crate::{
    Digest, Name, NewRecord, Principal, Refusal, RunId, Timestamp,
    event::EventKind,
    gate::{self, GatePolicy, NewGate},
    principal,
    question::{self, NewQuestion, TypeDefaults},
    record,
    run::{NewRun, Run, RunState},
    text,
};

/// The longest result of one step, in bytes of its JSON.
pub const RESULT_BYTES_MAX: usize = 16 << 20;
/// The longest payload of an event that a workflow emits, in bytes.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024;

/// A write to one entry of a journal.
#[derive(Clone, Debug)]
pub struct JournalWrite {
    /// The run whose journal it is.
    pub run: RunId,
    /// As whom the caller writes.
    pub fence: Fence,
    /// The entry that it writes.
    pub entry: NewEntry,
    pub write: Write,
}

impl JournalWrite {
    /// Whether it says that an outside agent goes on with its run, which the run's gates may
    /// forbid.
    pub(crate) fn is_blocked_by_gates(&self) -> bool {
        self.fence == Fence::Owner && matches!(self.write, Write::Begin | Write::Done(_))
    }

    /// The digests of everything that it will show to people.
    pub(crate) fn shown_contents(&self) -> Cow<'static, [Digest]> {
        match &self.write {
            Write::Open { new_gate, .. } => gate::shown_contents(new_gate),
            Write::Ask { new_question, .. } => question::shown_contents(new_question),
            // What a run records is stored even if the same content was erased before.
            Write::Begin
            | Write::Done(_)
            | Write::Failing(..)
            | Write::Failed(_)
            | Write::Sleep(_)
            | Write::Start(_)
            | Write::Emit { .. } => Cow::default(),
        }
    }
}

/// As whom somebody writes to a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// As the worker that has this claim.
    Epoch(u64),
    /// As the outside agent that executes the run, or as a person in its place.
    Owner,
}

/// What a write says about its entry, whatever it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Stable, and unique in its run.
    pub key: EntryKey,
    pub kind: EntryKind,
    /// Which call it is in its branch of the workflow, from 1; 0 if that is unknown.
    pub ordinal: u32,
    /// The digest of its input.
    pub input: Option<Digest>,
    /// The agent that does the work.
    pub agent_id: Option<Name>,
    /// When this attempt began.
    pub began_at: Timestamp,
}

/// What is written to an entry.
#[derive(Clone, Debug)]
pub enum Write {
    /// It is about to be done.
    Begin,
    /// An attempt failed, and the next one is not before this moment.
    Failing(StepError, Timestamp),
    /// It is done, with this JSON.
    Done(String),
    /// It failed for good.
    Failed(StepError),
    /// It opens a gate.
    Open {
        /// What is asked.
        new_gate: Box<NewGate>,
        /// The configured policy.
        policy: GatePolicy,
        /// The bytes behind the digests of the gate's artifacts, in order.
        contents: Vec<Vec<u8>>,
        /// If set, nobody is asked and the gate is approved at once, for this reason. It comes only
        /// from a workflow's own configuration.
        alone: Option<String>,
    },
    /// It asks a question.
    Ask {
        /// What is asked.
        new_question: Box<NewQuestion>,
        /// The configured defaults of questions of this type.
        defaults: TypeDefaults,
    },
    /// It pauses for this long.
    Sleep(std::time::Duration),
    /// It starts another run.
    Start(Box<NewRun>),
    /// It emits an event.
    Emit {
        /// `noun.verb`.
        kind: String,
        /// JSON.
        payload: String,
        /// The records to keep with it, for people to query.
        records: Vec<NewRecord>,
    },
}

/// Whether a write changes the journal or repeats what is known.
pub(crate) enum RecordOutcome {
    /// The entry that is known stays as it is.
    Known,
    /// This entry must be written.
    New(Entry),
}

/// Judges a write. `known` is the entry that already has its key, if there is one.
pub(crate) fn record(
    run: &Run,
    known: Option<&Entry>,
    journal_write: &JournalWrite,
    by: &Principal,
    now: Timestamp,
) -> Result<RecordOutcome, Refusal> {
    if let (Fence::Owner, Write::Begin, Some(known)) = (journal_write.fence, &journal_write.write, known) {
        // Checked before everything else: an agent that restarts its script gets the results of its
        // steps, even if the run is over.
        let ended = matches!(known.state, EntryState::Done { .. } | EntryState::Failed { .. });
        if ended && run.start.initiator == by.name {
            must_be_the_same(run, known, journal_write)?;
            return Ok(RecordOutcome::Known);
        }
    }
    let settles = matches!(journal_write.write, Write::Done(_) | Write::Failed(_))
        && known.is_some_and(|known| known.state == EntryState::Begun);
    match by.role.decides() && settles && journal_write.fence == Fence::Owner {
        // It is unknown what became of the step, and a reviewer or admin has looked into it.
        true => must_be_outside(run)?,
        false => must_be_writer(run, journal_write.fence, by)?,
    }
    let new = &journal_write.entry;
    if let (Fence::Owner, Some(agent)) = (journal_write.fence, &new.agent_id) {
        principal::check_name("agent_id", agent)?;
    }
    must_fit(journal_write)?;
    if let Some(known) = known {
        must_be_the_same(run, known, journal_write)?;
    }
    let state = match (&journal_write.write, known.map(|known| &known.state)) {
        // A `once` step is not begun twice. Any other step is simply tried again.
        (Write::Begin, Some(EntryState::Begun))
            if journal_write.fence == Fence::Owner && new.kind == EntryKind::Once =>
        {
            return Ok(RecordOutcome::Known);
        }
        (Write::Begin, None | Some(EntryState::Begun | EntryState::Failing { .. })) => EntryState::Begun,
        // The caller gets the result that is recorded, and need not do the work.
        (Write::Begin, Some(EntryState::Done { .. } | EntryState::Failed { .. })) => return Ok(RecordOutcome::Known),
        (Write::Done(result), None | Some(EntryState::Begun | EntryState::Failing { .. })) => {
            text::check("result", result, RESULT_BYTES_MAX)?;
            EntryState::Done { result: Digest::of(result.as_bytes()), bytes: result.len() as u64 }
        }
        (Write::Done(result), Some(EntryState::Done { result: stands, .. }))
            if *stands == Digest::of(result.as_bytes()) =>
        {
            return Ok(RecordOutcome::Known);
        }
        // The same attempt again: its worker never learned that it was written.
        (Write::Failing(error, retry_at), Some(EntryState::Failing { error: stands, retry_at: known }))
            if journal_write.fence != Fence::Owner && checked(error) == *stands && retry_at == known =>
        {
            return Ok(RecordOutcome::Known);
        }
        (Write::Failing(error, retry_at), None | Some(EntryState::Begun | EntryState::Failing { .. })) => {
            EntryState::Failing { error: checked(error), retry_at: *retry_at }
        }
        (Write::Failed(error), None | Some(EntryState::Begun | EntryState::Failing { .. })) => {
            EntryState::Failed { error: checked(error) }
        }
        (Write::Failed(error), Some(EntryState::Failed { error: stands })) if checked(error) == *stands => {
            return Ok(RecordOutcome::Known);
        }
        (Write::Open { new_gate, .. }, None) => EntryState::Waiting(Waits::Gate(new_gate.id.clone())),
        (Write::Ask { new_question, .. }, None) => EntryState::Waiting(Waits::Question(new_question.id.clone())),
        (Write::Sleep(span), None) => EntryState::Waiting(Waits::Until(now.plus(*span))),
        (Write::Start(new_run), None) => EntryState::Waiting(Waits::Run(new_run.id.clone())),
        (Write::Emit { kind, payload, records }, None) => {
            check_event(kind, payload)?;
            record::refuse_records_member(payload)?;
            let kept = record::check(records)?;
            EntryState::Done { result: Digest::of(b"null"), bytes: 4 + kept }
        }
        (Write::Open { .. } | Write::Ask { .. } | Write::Sleep(_) | Write::Start(_), Some(EntryState::Waiting(_)))
        | (Write::Emit { .. }, Some(EntryState::Done { .. })) => return Ok(RecordOutcome::Known),
        (_, Some(_)) => return Err(Refusal::StepRecorded { run: run.start.id.clone(), key: new.key.clone() }),
    };
    let tried = match &journal_write.write {
        Write::Begin => 1,
        // An attempt whose beginning was recorded is already counted.
        Write::Failing(..) | Write::Done(_) | Write::Failed(_) => {
            u32::from(!matches!(known.map(|known| &known.state), Some(EntryState::Begun)))
        }
        Write::Open { .. } | Write::Ask { .. } | Write::Sleep(_) | Write::Start(_) | Write::Emit { .. } => 1,
    };
    let entry = Entry {
        key: new.key.clone(),
        kind: new.kind,
        ordinal: known.map_or(new.ordinal, |known| known.ordinal),
        input: new.input.or(known.and_then(|known| known.input)),
        agent_id: new.agent_id.clone().or_else(|| known.and_then(|known| known.agent_id.clone())),
        state,
        attempts: known.map_or(0, |known| known.attempts) + tried,
        began_at: known.map_or(new.began_at.min(now), |known| known.began_at),
        at: now,
    };
    run.must_have_room(u32::from(known.is_none()), entry.bytes(), now)?;
    Ok(RecordOutcome::New(entry))
}

/// Refuses a write that does not fit the entry's kind. An outside agent may record only work: it
/// opens gates and asks questions with commands of their own.
fn must_fit(journal_write: &JournalWrite) -> Result<(), Refusal> {
    let kind = journal_write.entry.kind;
    let work = matches!(kind, EntryKind::Step | EntryKind::Once);
    let fits = match &journal_write.write {
        Write::Begin | Write::Failing(..) => work,
        // Every call of a workflow can be refused.
        Write::Failed(_) => true,
        Write::Done(_) => work || matches!(kind, EntryKind::Now | EntryKind::Random),
        Write::Open { .. } => kind == EntryKind::Gate,
        Write::Ask { .. } => kind == EntryKind::Question,
        Write::Sleep(_) => kind == EntryKind::Sleep,
        Write::Start(_) => kind == EntryKind::Run,
        Write::Emit { .. } => kind == EntryKind::Event,
    };
    if fits && (work || journal_write.fence != Fence::Owner) {
        return Ok(());
    }
    Err(Refusal::invalid("kind", format!("{kind} does not fit what is to be recorded")))
}

/// Refuses everybody but the worker that has claimed the run, or the outside agent that executes
/// it.
pub(crate) fn must_be_writer(run: &Run, fence: Fence, by: &Principal) -> Result<(), Refusal> {
    match fence {
        Fence::Epoch(epoch) => run.must_be_held(epoch),
        Fence::Owner => {
            run.must_go_on()?;
            if run.start.initiator != by.name {
                return Err(Refusal::NotYourRun { run: run.start.id.clone() });
            }
            must_be_outside(run)
        }
    }
}

/// Refuses if the run is over, or is not executed by an outside agent.
fn must_be_outside(run: &Run) -> Result<(), Refusal> {
    run.must_go_on()?;
    if run.state != RunState::Outside {
        return Err(Refusal::NotYours { run: run.start.id.clone() });
    }
    Ok(())
}

/// Refuses a write that does something else under a key than what was recorded under it.
fn must_be_the_same(run: &Run, known: &Entry, journal_write: &JournalWrite) -> Result<(), Refusal> {
    let new = &journal_write.entry;
    // An outside agent need not repeat the input that it gave when it began the step, and we do not
    // know its branches.
    let says_all = journal_write.fence != Fence::Owner;
    match known.differs_from(new.kind, new.input.or(known.input.filter(|_| !says_all)), new.ordinal) {
        Some(differs) if says_all => Err(Refusal::Changed { run: run.start.id.clone(), key: new.key.clone(), differs }),
        Some(differs) => Err(Refusal::StepDiffers { run: run.start.id.clone(), key: new.key.clone(), differs }),
        None => Ok(()),
    }
}

fn checked(error: &StepError) -> StepError {
    StepError {
        code: text::shortened(&error.code, text::TITLE_BYTES_MAX),
        message: text::shortened(&error.message, text::REASON_BYTES_MAX),
        provider: error.provider.as_ref().map(|name| text::shortened(name, text::TITLE_BYTES_MAX)),
    }
}

fn check_event(kind: &str, payload: &str) -> Result<(), Refusal> {
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let well_formed = kind.len() <= 64 && kind.split_once('.').is_some_and(|(noun, verb)| word(noun) && word(verb));
    if !well_formed {
        return Err(Refusal::invalid("event", format!("{kind:?} is no `noun.verb`")));
    }
    if EventKind::is_ours(kind) {
        return Err(Refusal::invalid("event", format!("{kind:?} is an event that only Folkmoot itself tells")));
    }
    text::check("payload", payload, PAYLOAD_BYTES_MAX)
}
