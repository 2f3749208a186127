//! The events of a run, and the fold that builds its row and its journal from them.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::{Ending, Parked, Run, RunStart, RunState, micros_between};
use crate::{
    Fact, Name, Timestamp,
    event::CorruptLog,
    journal::{Entry, EntryKey, EntryState},
    record,
};

/// An event of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// It was started.
    Started(Box<RunStart>),
    /// A worker took it: for the first time, after it was parked or resumed, or from a node that
    /// died.
    Claimed {
        /// Who started the run.
        initiator: Name,
        /// The worker's node.
        node: Name,
        /// One higher than that of the claim before.
        epoch: u64,
        at: Timestamp,
    },
    /// An entry of its journal was written.
    Recorded {
        /// Who started the run.
        initiator: Name,
        /// The entry as it now is.
        entry: Box<Entry>,
    },
    /// The workflow emitted an event of its own; or a record was corrected.
    Emitted {
        /// `noun.verb`.
        kind: String,
        /// JSON.
        payload: String,
        at: Timestamp,
    },
    /// It waits, and nobody works on it.
    Parked {
        /// Who started the run.
        initiator: Name,
        parked: Parked,
        at: Timestamp,
    },
    /// It cannot go on by itself.
    Stopped {
        /// Who started the run.
        initiator: Name,
        /// The kind of problem, as a code.
        code: String,
        message: String,
        at: Timestamp,
    },
    /// Somebody resumed it.
    Reopened {
        /// Who started the run.
        initiator: Name,
        /// Who resumed it.
        by: Name,
        at: Timestamp,
    },
    /// It is over.
    Ended {
        /// Who started the run.
        initiator: Name,
        ending: Ending,
    },
}

#[derive(Serialize, Deserialize)]
struct RunClaimedPayload {
    initiator: Name,
    node: Name,
    epoch: u64,
}

#[derive(Serialize, Deserialize)]
struct RunRecordedPayload {
    initiator: Name,
    #[serde(flatten)]
    entry: Box<Entry>,
}

#[derive(Serialize, Deserialize)]
struct RunParkedPayload {
    initiator: Name,
    #[serde(flatten)]
    parked: Parked,
}

#[derive(Serialize, Deserialize)]
struct RunStoppedPayload {
    initiator: Name,
    code: String,
    message: String,
}

#[derive(Serialize, Deserialize)]
struct RunReopenedPayload {
    initiator: Name,
    by: Name,
}

#[derive(Serialize, Deserialize)]
struct RunEndedPayload {
    initiator: Name,
    #[serde(flatten)]
    ending: Ending,
}

impl RunEvent {
    /// Its type in the log and on the feed.
    pub fn kind(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            RunEvent::Started(_) => "run.started",
            RunEvent::Claimed { epoch: 1, .. } => "run.claimed",
            RunEvent::Claimed { .. } => "run.resumed",
            RunEvent::Recorded { .. } => "step.recorded",
            RunEvent::Emitted { kind, .. } => return Cow::Owned(kind.clone()),
            RunEvent::Parked { .. } => "run.parked",
            RunEvent::Stopped { .. } => "run.stopped",
            RunEvent::Reopened { .. } => "run.reopened",
            RunEvent::Ended { .. } => "run.ended",
        })
    }

    /// The exact text that the log hashes.
    pub fn payload(&self) -> String {
        let written = match self.clone() {
            RunEvent::Started(start) => serde_json::to_string(&start),
            RunEvent::Claimed { initiator, node, epoch, .. } => {
                serde_json::to_string(&RunClaimedPayload { initiator, node, epoch })
            }
            RunEvent::Recorded { initiator, entry } => serde_json::to_string(&RunRecordedPayload { initiator, entry }),
            RunEvent::Emitted { payload, .. } => return payload,
            RunEvent::Parked { initiator, parked, .. } => {
                serde_json::to_string(&RunParkedPayload { initiator, parked })
            }
            RunEvent::Stopped { initiator, code, message, .. } => {
                serde_json::to_string(&RunStoppedPayload { initiator, code, message })
            }
            RunEvent::Reopened { initiator, by, .. } => serde_json::to_string(&RunReopenedPayload { initiator, by }),
            RunEvent::Ended { initiator, ending } => serde_json::to_string(&RunEndedPayload { initiator, ending }),
        };
        written.expect("structs of texts and integers are JSON")
    }

    /// Reads the event from a logged fact. A kind with a noun of its own is an event of the
    /// workflow.
    pub fn read(fact: &Fact) -> Result<Self, CorruptLog> {
        let at = fact.at;
        match fact.kind.as_ref() {
            "run.started" => Ok(RunEvent::Started(CorruptLog::parse(fact)?)),
            "run.claimed" | "run.resumed" => {
                let RunClaimedPayload { initiator, node, epoch } = CorruptLog::parse(fact)?;
                Ok(RunEvent::Claimed { initiator, node, epoch, at })
            }
            "step.recorded" => {
                let RunRecordedPayload { initiator, entry } = CorruptLog::parse(fact)?;
                Ok(RunEvent::Recorded { initiator, entry })
            }
            "run.parked" => {
                let RunParkedPayload { initiator, parked } = CorruptLog::parse(fact)?;
                Ok(RunEvent::Parked { initiator, parked, at })
            }
            "run.stopped" => {
                let RunStoppedPayload { initiator, code, message } = CorruptLog::parse(fact)?;
                Ok(RunEvent::Stopped { initiator, code, message, at })
            }
            "run.reopened" => {
                let RunReopenedPayload { initiator, by } = CorruptLog::parse(fact)?;
                Ok(RunEvent::Reopened { initiator, by, at })
            }
            "run.ended" => {
                let RunEndedPayload { initiator, ending } = CorruptLog::parse(fact)?;
                Ok(RunEvent::Ended { initiator, ending })
            }
            other if other.starts_with("run.") || other.starts_with("step.") => {
                Err(CorruptLog(format!("{other:?} is no event of a run")))
            }
            other => Ok(RunEvent::Emitted { kind: other.to_owned(), payload: fact.payload.clone(), at }),
        }
    }

    fn at(&self) -> Timestamp {
        match self {
            RunEvent::Started(start) => start.started_at,
            RunEvent::Claimed { at, .. }
            | RunEvent::Emitted { at, .. }
            | RunEvent::Parked { at, .. }
            | RunEvent::Stopped { at, .. }
            | RunEvent::Reopened { at, .. } => *at,
            RunEvent::Recorded { entry, .. } => entry.at,
            RunEvent::Ended { ending, .. } => ending.at,
        }
    }
}

impl Run {
    /// Builds the row and the journal from the facts of the stream.
    pub fn fold<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Result<(Run, BTreeMap<EntryKey, Entry>), CorruptLog> {
        let mut facts = facts.into_iter();
        let first = facts.next().ok_or_else(|| CorruptLog("there are no events".to_owned()))?;
        let RunEvent::Started(start) = RunEvent::read(first)? else {
            return Err(CorruptLog(format!("begins with {} instead of run.started", first.kind)));
        };
        let mut run = Run::new(*start);
        let mut journal: BTreeMap<EntryKey, Entry> = BTreeMap::new();
        CorruptLog::unless_first(first, run.seq)?;
        for fact in facts {
            CorruptLog::unless_next(fact, run.seq)?;
            let event = RunEvent::read(fact)?;
            let known = match &event {
                RunEvent::Recorded { entry, .. } => journal.get(&entry.key).cloned(),
                _ => None,
            };
            run.apply(&event, known.as_ref())?;
            if let RunEvent::Recorded { entry, .. } = event {
                journal.insert(entry.key.clone(), *entry);
            }
        }
        Ok((run, journal))
    }

    /// Applies one event to the row. A row never changes in any other way. `known` is the journal
    /// entry that the event replaces, if there is one.
    pub fn apply(&mut self, event: &RunEvent, known: Option<&Entry>) -> Result<(), CorruptLog> {
        if self.ending().is_some() {
            if record::is_correction(&event.kind()) {
                self.seq += 1;
                return Ok(());
            }
            return Err(CorruptLog(format!("{} came after its end", event.kind())));
        }
        self.seq += 1;
        let at = event.at();
        match event {
            RunEvent::Started(_) => return Err(CorruptLog("it was started twice".to_owned())),
            RunEvent::Claimed { node, epoch, .. } => {
                if *epoch != self.epoch + 1 {
                    return Err(CorruptLog(format!("claim {epoch} follows claim {}", self.epoch)));
                }
                // If a node had it, that node died at some time after the last event. Only the time
                // until that event counts.
                self.stop_clock(self.moved_at);
                self.epoch = *epoch;
                self.state = RunState::Running { node: node.clone(), since: at };
            }
            RunEvent::Recorded { entry, .. } => {
                self.steps += u32::from(known.is_none());
                let begun = |entry: &Entry| u32::from(entry.state == EntryState::Begun);
                self.begun = self.begun + begun(entry) - known.map_or(0, begun);
                self.journal_bytes += entry.bytes().saturating_sub(known.map_or(0, Entry::bytes));
            }
            RunEvent::Emitted { .. } => {}
            RunEvent::Parked { parked, .. } => {
                self.stop_clock(at);
                self.state = RunState::Parked(parked.clone());
            }
            RunEvent::Stopped { code, message, .. } => {
                self.stop_clock(at);
                self.state = RunState::Stopped { code: code.clone(), message: message.clone() };
            }
            RunEvent::Reopened { .. } => {
                self.state = RunState::Pending;
                self.resumed_at = Some(at);
            }
            RunEvent::Ended { ending, .. } => {
                self.stop_clock(at);
                self.state = RunState::Ended(ending.clone());
            }
        }
        self.moved_at = at;
        Ok(())
    }

    fn stop_clock(&mut self, at: Timestamp) {
        if let RunState::Running { since, .. } = &self.state {
            self.active_micros += micros_between(*since, at);
        }
    }
}
