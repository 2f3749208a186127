//! What is written when a question is asked, closed, fetched, or its time has come.

use super::{Case, RefusedWith};
use crate::{
    Actor, Commit, Deadline, Fact, Hold, Loaded, Outcome, Principal, Question, QuestionId, Refusal, Row, Run, Subject,
    Timer, TimerChange, Wake,
    clearance::{Others, Target},
    halt::notices,
    presence::PresenceClaim,
    question::{self, Asking, Closing, QuestionEvent, QuestionState, RefusedAttempt, TypeDefaults},
};

impl Case<'_> {
    pub(super) fn ask_as(
        &self,
        by: &Principal,
        asking: &Asking,
        usual: &TypeDefaults,
        run: Option<&Run>,
    ) -> Result<Commit, RefusedWith> {
        let event = question::ask(asking, by, usual, run, self.now)?;
        let QuestionEvent::Asked(question) = &event else { unreachable!("an asking asks") };
        let shown = self.store_contents_unless_erased(std::iter::once(asking.text.as_bytes().to_vec()))?;
        let mut question = question.as_ref().clone();
        let mut events = vec![self.about(&question, &event)];
        events.extend(self.noticed(&mut question, None, Others::default()));
        let mut rows: Vec<Row> = question.session_id.iter().map(|id| Row::Session(id.clone(), self.now)).collect();
        rows.extend(shown);
        rows.push(Row::Question(Box::new(question.clone())));
        let timers = timer(&question).into_iter().collect();
        Ok(Commit { rows, events, timers, outcome: Outcome::Question(Box::new(question)), ..Commit::default() })
    }

    pub(super) fn close(&self, closing: &Closing, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let by = self.principal(closing.close.verb())?;
        // An agent that tries to answer another's question is refused for what it is, and that is
        // recorded.
        let question = self.known(loaded.question, &closing.question)?;
        match question::close(&question, closing, by, self.shown.map(PresenceClaim::presence), self.now) {
            Ok(event) => Ok(self.moves(question, &event, loaded.others)),
            Err(refusal) => Err(self.refused_on_question(question, closing, refusal)),
        }
    }

    pub(super) fn fetch(&self, id: &QuestionId, reason: &str, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let by = self.principal("fetch an answer")?;
        let question = self.known(loaded.question, id)?;
        match question::fetch(&question, reason, by, self.now)? {
            Some(event) => Ok(self.moves(question, &event, loaded.others)),
            None => Ok(Commit { outcome: Outcome::Question(Box::new(question)), ..Commit::default() }),
        }
    }

    pub(super) fn lapse(&self, id: &QuestionId, loaded: Loaded) -> Commit {
        let Some(question) = loaded.question else {
            return Commit { timers: vec![TimerChange::Clear(Subject::Question(id.clone()))], ..Commit::default() };
        };
        match question::time_out(&question, self.now) {
            Some(event) => self.moves(question, &event, loaded.others),
            // Closed since the timer was read: the timer follows the row.
            None => Commit {
                timers: vec![timer(&question).unwrap_or(TimerChange::Clear(Subject::Question(id.clone())))],
                outcome: Outcome::Question(Box::new(question)),
                ..Commit::default()
            },
        }
    }

    /// Everything that follows from one event on a question that was asked.
    pub(super) fn moves(&self, mut question: Question, event: &QuestionEvent, others: Others) -> Commit {
        let before = question.clone();
        question.apply(event).expect("an event that the rules just allowed applies");
        let mut events = vec![self.about(&question, event)];
        events.extend(self.noticed(&mut question, Some(&before), others));
        let subject = || TimerChange::Clear(Subject::Question(before.id.clone()));
        let moved = timer(&before) != timer(&question);
        let timers = moved.then(|| timer(&question).unwrap_or_else(subject)).into_iter().collect();
        let closes = matches!((&before.state, &question.state), (QuestionState::Pending, QuestionState::Closed(_)));
        let mut wakes: Vec<Wake> = before.run_id.iter().filter(|_| closes).cloned().map(Wake::Run).collect();
        wakes.extend(released(before.hold().as_ref(), question.hold().as_ref()));
        Commit {
            wakes,
            rows: vec![Row::Question(Box::new(question.clone()))],
            events,
            timers,
            outcome: Outcome::Question(Box::new(question)),
            ..Commit::default()
        }
    }

    /// What the change did to agents, sessions and everyone, as further events of the question's
    /// stream.
    fn noticed(&self, question: &mut Question, before: Option<&Question>, others: Others) -> Vec<Fact> {
        let answer = question.closure().and_then(|closure| closure.answer.clone());
        let (held, holds) = (before.and_then(Question::hold), question.hold());
        let notices = notices(held.as_ref(), holds.as_ref(), others, answer.as_ref());
        let mut note = |notice| {
            let event = QuestionEvent::Noticed(Box::new(notice));
            question.apply(&event).expect("a notice changes nothing but the count");
            self.about(question, &event)
        };
        notices.into_iter().map(&mut note).collect()
    }

    fn refused_on_question(&self, mut question: Question, closing: &Closing, refusal: Refusal) -> RefusedWith {
        if !self.command.quota.records_refusals {
            return refusal.into();
        }
        let event = QuestionEvent::Refused(RefusedAttempt {
            asked_by: question.asked_by.clone(),
            attempted: closing.close.verb().into(),
            code: refusal.code().to_owned(),
            refusal: refusal.to_string(),
            unrecorded: self.command.quota.unrecorded,
        });
        question.apply(&event).expect("a refusal changes nothing but the count");
        let events = vec![self.about(&question, &event)];
        let rows = vec![Row::Question(Box::new(question))];
        RefusedWith { refusal, record: Box::new(Commit { events, rows, ..Commit::default() }) }
    }

    /// An event of the question's stream, of which it is now the last.
    fn about(&self, question: &Question, event: &QuestionEvent) -> Fact {
        let session = question.session_id.as_ref();
        let mut fact = self.fact(question.id.as_str(), question.seq, event.kind(), event.payload(), session);
        let speaks = matches!(event, QuestionEvent::Asked(_)) && question.agent_id != self.command.by.name();
        fact.on_behalf_of = speaks.then(|| question.agent_id.clone());
        fact
    }

    fn known(&self, question: Option<Question>, id: &QuestionId) -> Result<Question, Refusal> {
        let seen = |question: &Question| match &self.command.by {
            Actor::Principal(by) => {
                question.may_be_seen_by(by) || matches!(self.command.action, crate::Action::Close(_))
            }
            Actor::System => true,
        };
        question.filter(seen).ok_or_else(|| Refusal::UnknownQuestion { question: id.clone() })
    }
}

/// The timer that a question is to have.
fn timer(question: &Question) -> Option<TimerChange> {
    match (&question.state, question.due) {
        (QuestionState::Pending, Deadline::At(due)) => {
            Some(TimerChange::Set(Timer { subject: Subject::Question(question.id.clone()), due }))
        }
        (QuestionState::Pending, Deadline::Never) | (QuestionState::Closed(_), _) => None,
    }
}

/// Those who may have waited for what a hold no longer holds.
pub(super) fn released(before: Option<&Hold>, after: Option<&Hold>) -> Vec<Wake> {
    let still = |target: &Target| after.is_some_and(|after| after.targets().any(|held| held == *target));
    before.into_iter().flat_map(Hold::targets).filter(|target| !still(target)).map(Wake::Held).collect()
}
