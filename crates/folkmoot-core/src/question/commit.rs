//! What an event of a question writes.

use super::{Question, QuestionEvent, QuestionState, timer::timer};
use crate::{
    Commit, Fact, Outcome, Row, Subject, TimerChange, Wake,
    clearance::{self, Others},
    halt::notices,
    judge::Case,
};

impl Question {
    /// Applies an event to a question and returns everything to write. `others` says whether other
    /// holds are on the same targets.
    pub(crate) fn commit_event(mut self, case: &Case<'_>, event: &QuestionEvent, others: Others) -> Commit {
        let before = self.clone();
        self.apply(event).expect("an event that the rules just allowed applies");
        let mut events = vec![self.fact(case, event)];
        events.extend(self.commit_notices(case, Some(&before), others));
        let clear = || TimerChange::Clear(Subject::Question(before.id.clone()));
        let timer_changed = timer(&before) != timer(&self);
        let timers = timer_changed.then(|| timer(&self).unwrap_or_else(clear)).into_iter().collect();
        let closes = matches!((&before.state, &self.state), (QuestionState::Pending, QuestionState::Closed(_)));
        let mut wakes: Vec<Wake> = before.run_id.iter().filter(|_| closes).cloned().map(Wake::Run).collect();
        wakes.extend(clearance::released(before.hold().as_ref(), self.hold().as_ref()));
        Commit {
            wakes,
            rows: vec![Row::Question(Box::new(self.clone()))],
            events,
            timers,
            outcome: Outcome::Question(Box::new(self)),
            ..Commit::default()
        }
    }

    /// Says what the change did to agents, sessions and everyone, as further events of the
    /// question's stream.
    pub(super) fn commit_notices(&mut self, case: &Case<'_>, before: Option<&Question>, others: Others) -> Vec<Fact> {
        let answer = self.closure().and_then(|closure| closure.answer.clone());
        let notices = notices(before.and_then(Question::hold).as_ref(), self.hold().as_ref(), others, answer.as_ref());
        let mut commit_notice = |notice| {
            let event = QuestionEvent::Noticed(Box::new(notice));
            self.apply(&event).expect("a notice changes nothing but the count");
            self.fact(case, &event)
        };
        notices.into_iter().map(&mut commit_notice).collect()
    }

    /// The fact for an event that was just applied to the question.
    pub(super) fn fact(&self, case: &Case<'_>, event: &QuestionEvent) -> Fact {
        let mut fact = case.fact(self.id.as_str(), self.seq, event.kind(), event.payload(), self.session_id.as_ref());
        let speaks = matches!(event, QuestionEvent::Asked(_)) && self.agent_id != case.command.by.name();
        fact.on_behalf_of = speaks.then(|| self.agent_id.clone());
        fact
    }
}
