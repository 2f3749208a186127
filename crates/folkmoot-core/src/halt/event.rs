//! The events of a halt, and the fold that builds its row from them.

use serde::{Deserialize, Serialize};

use super::{Halt, Lift, Notice};
use crate::{Fact, Name, event::CorruptLog, question::RefusedAttempt};

/// An event of one halt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HaltEvent {
    /// It was raised like this.
    Raised(Box<Halt>),
    /// It was lifted.
    Lifted {
        /// Who had raised it.
        raised_by: Name,
        /// The agent that it held.
        agent_id: Option<Name>,
        lifting: Lift,
    },
    /// Somebody tried to raise or lift it, and was refused.
    Refused(RefusedAttempt),
    /// It halted or released an agent, a session or everyone.
    Noticed(Box<Notice>),
}

#[derive(Serialize, Deserialize)]
struct HaltLiftedPayload {
    raised_by: Name,
    agent_id: Option<Name>,
    #[serde(flatten)]
    lifting: Lift,
}

impl HaltEvent {
    /// Its type in the log and on the feed.
    pub fn kind(&self) -> &'static str {
        match self {
            HaltEvent::Raised(_) => "halt.raised",
            HaltEvent::Lifted { .. } => "halt.lifted",
            HaltEvent::Refused(_) => "halt.refused",
            HaltEvent::Noticed(notice) => notice.kind(),
        }
    }

    /// The exact text that the log hashes.
    pub fn payload(&self) -> String {
        let written = match self.clone() {
            HaltEvent::Raised(halt) => serde_json::to_string(&halt),
            HaltEvent::Lifted { raised_by, agent_id, lifting } => {
                serde_json::to_string(&HaltLiftedPayload { raised_by, agent_id, lifting })
            }
            HaltEvent::Refused(attempt) => serde_json::to_string(&attempt),
            HaltEvent::Noticed(notice) => serde_json::to_string(&notice),
        };
        written.expect("structs of texts and integers are JSON")
    }

    /// Reads the event from a logged fact.
    pub fn read(fact: &Fact) -> Result<Self, CorruptLog> {
        match fact.kind.as_ref() {
            "halt.raised" => Ok(HaltEvent::Raised(CorruptLog::parse(fact)?)),
            "halt.lifted" => {
                let HaltLiftedPayload { raised_by, agent_id, lifting } = CorruptLog::parse(fact)?;
                Ok(HaltEvent::Lifted { raised_by, agent_id, lifting })
            }
            "halt.refused" => Ok(HaltEvent::Refused(CorruptLog::parse(fact)?)),
            other => match Notice::read(fact)? {
                Some(notice) => Ok(HaltEvent::Noticed(Box::new(notice))),
                None => Err(CorruptLog(format!("{other:?} is no event of a halt"))),
            },
        }
    }
}

impl Halt {
    /// Builds the row from the facts of its stream; `None` if the stream has only a refused attempt
    /// to raise it.
    pub fn fold<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Result<Option<Halt>, CorruptLog> {
        let mut facts = facts.into_iter();
        let first = facts.next().ok_or_else(|| CorruptLog("there are no events".to_owned()))?;
        let halt = match HaltEvent::read(first)? {
            HaltEvent::Raised(halt) => halt,
            HaltEvent::Refused(_) if facts.next().is_none() => return Ok(None),
            _ => return Err(CorruptLog(format!("begins with {} instead of halt.raised", first.kind))),
        };
        CorruptLog::unless_first(first, halt.seq)?;
        let fold = |mut halt: Halt, fact| {
            CorruptLog::unless_next(fact, halt.seq)?;
            halt.apply(&HaltEvent::read(fact)?)?;
            Ok(halt)
        };
        facts.try_fold(*halt, fold).map(Some)
    }

    /// Applies one event to the row. A row never changes in any other way.
    pub fn apply(&mut self, event: &HaltEvent) -> Result<(), CorruptLog> {
        self.seq += 1;
        match event {
            HaltEvent::Refused(_) | HaltEvent::Noticed(_) => Ok(()),
            HaltEvent::Raised(_) => Err(CorruptLog("it was raised twice".to_owned())),
            HaltEvent::Lifted { .. } if self.lifted.is_some() => Err(CorruptLog("it was lifted twice".to_owned())),
            HaltEvent::Lifted { lifting, .. } => {
                self.lifted = Some(lifting.clone());
                Ok(())
            }
        }
    }
}
