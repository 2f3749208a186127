//! What an event of a run writes, and which principal writes it.

use super::{Run, RunEvent};
use crate::{
    Actor, Artifact, Commit, Fact, Outcome, Principal, Refusal, Row, RunId, Subject, journal::Fence, judge::Case, run,
};

impl Run {
    pub(super) fn found(run: Option<Run>, id: &RunId) -> Result<Run, Refusal> {
        run.ok_or_else(|| Refusal::UnknownRun { run: id.clone() })
    }

    /// The principal that writes for a run: its workflow, or a caller who may see the run and is no
    /// viewer.
    pub(super) fn writer(&self, case: &Case<'_>, fence: Fence, verb: &'static str) -> Result<Principal, Refusal> {
        match fence {
            // The epoch is checked elsewhere. This keeps out callers who only guessed it.
            Fence::Epoch(_) => match &case.command.by {
                Actor::Principal(by) if by.name != self.speaker().name => {
                    Err(Refusal::NotYours { run: self.start.id.clone() })
                }
                Actor::Principal(_) | Actor::System => Ok(self.speaker()),
            },
            Fence::Owner => {
                let by = case.principal(verb)?;
                self.must_be_theirs(by, verb)?;
                Ok(by.clone())
            }
        }
    }

    /// Applies an event to a run and returns everything to write, except for its timer.
    pub(super) fn commit_event(mut self, case: &Case<'_>, event: &RunEvent) -> Commit {
        self.apply(event, None).expect("an event that the rules just allowed applies");
        let events = vec![self.fact(case, event)];
        let rows = vec![Row::Run(Box::new(self.clone()))];
        Commit { rows, events, outcome: Outcome::Run(Box::new(self)), ..Commit::default() }
    }

    /// The fact for an event that was just applied to the run.
    pub(super) fn fact(&self, case: &Case<'_>, event: &RunEvent) -> Fact {
        let stream = run::stream(&self.start.id);
        case.fact(&stream, self.seq, event.kind(), event.payload(), Some(&self.start.session_id))
    }

    pub(super) fn subject(&self) -> Subject {
        Subject::Run(self.start.id.clone())
    }
}

pub(super) fn artifact(text: &str) -> Row {
    Row::Artifact(Artifact::new(text.as_bytes().to_vec()))
}
