//! What an event of a halt writes.

use super::{Halt, HaltEvent, notices};
use crate::{Fact, Name, Refusal, clearance::Others, judge::Case, question::RefusedAttempt};

impl Halt {
    /// Says what the change did to agents, sessions and everyone, as further events of the halt's
    /// stream.
    pub(super) fn commit_notices(&mut self, case: &Case<'_>, before: Option<&Halt>, others: Others) -> Vec<Fact> {
        let notices = notices(before.and_then(Halt::hold).as_ref(), self.hold().as_ref(), others, None);
        let mut commit_notice = |notice| {
            let event = HaltEvent::Noticed(Box::new(notice));
            self.apply(&event).expect("a notice changes nothing but the count");
            self.fact(case, &event)
        };
        notices.into_iter().map(&mut commit_notice).collect()
    }

    /// The fact for an event that was just applied to the halt.
    pub(super) fn fact(&self, case: &Case<'_>, event: &HaltEvent) -> Fact {
        case.fact(self.id.as_str(), self.seq, event.kind(), event.payload(), self.session_id.as_ref())
    }
}

/// The event of a refused attempt.
pub(super) fn refused(case: &Case<'_>, attempted: &'static str, raised_by: &Name, refusal: &Refusal) -> HaltEvent {
    HaltEvent::Refused(RefusedAttempt {
        asked_by: raised_by.clone(),
        attempted: attempted.into(),
        code: refusal.code().to_owned(),
        refusal: refusal.to_string(),
        unrecorded: case.command.quota.unrecorded,
    })
}
