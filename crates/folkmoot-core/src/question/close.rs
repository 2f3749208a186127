//! Closing a question: answering, denying, skipping and cancelling it.

use serde_json::Value;

use super::{Closure, Loaded, Question, QuestionEvent, QuestionStatus, QuestionType, RefusedAttempt, ask::is_offered};
use crate::{
    Commit, Name, Presence, Principal, QuestionId, Refusal, Role, Row, Timestamp,
    judge::{Case, RefusedWith},
    presence::PresenceClaim,
    text,
};

/// A request to close a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub question: QuestionId,
    pub close: Close,
    pub reason: String,
}

/// The ways to close a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Close {
    /// With an answer.
    Answer(Value),
    /// With a no.
    Deny,
    /// Without an answer.
    Skip,
    /// Because it need not be answered any more.
    Cancel,
}

impl Close {
    /// The verb that refusals and the log use.
    pub fn verb(&self) -> &'static str {
        match self {
            Close::Answer(_) => "answer",
            Close::Deny => "deny",
            Close::Skip => "skip",
            Close::Cancel => "cancel",
        }
    }
}

/// Judges a reply and returns what to write. A refused attempt is recorded too.
pub(super) fn judge(case: &Case<'_>, reply: &Reply, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let by = case.principal(reply.close.verb())?;
    // The question need not be visible to the caller: an agent that tries to answer another's
    // question is refused because of its role, and the attempt is recorded.
    let unknown = || Refusal::UnknownQuestion { question: reply.question.clone() };
    let question = loaded.question.ok_or_else(unknown)?;
    match close(&question, reply, by, case.presence.map(PresenceClaim::presence), case.now) {
        Ok(event) => Ok(question.commit_event(case, &event, loaded.others)),
        Err(refusal) => Err(refused(case, question, reply, refusal)),
    }
}

fn refused(case: &Case<'_>, mut question: Question, reply: &Reply, refusal: Refusal) -> RefusedWith {
    if !case.command.quota.records_refusals {
        return refusal.into();
    }
    let event = QuestionEvent::Refused(RefusedAttempt {
        asked_by: question.asked_by.clone(),
        attempted: reply.close.verb().into(),
        code: refusal.code().to_owned(),
        refusal: refusal.to_string(),
        unrecorded: case.command.quota.unrecorded,
    });
    question.apply(&event).expect("a refusal changes nothing but the count");
    let events = vec![question.fact(case, &event)];
    let rows = vec![Row::Question(Box::new(question))];
    RefusedWith { refusal, record: Box::new(Commit { events, rows, ..Commit::default() }) }
}

fn close(
    question: &Question,
    reply: &Reply,
    by: &Principal,
    presence: Option<Presence>,
    now: Timestamp,
) -> Result<QuestionEvent, Refusal> {
    may_close(question, reply, by)?;
    text::check("reason", &reply.reason, text::REASON_BYTES_MAX)?;
    question.must_be_open(now)?;
    let (status, answer) = match &reply.close {
        Close::Answer(answer) => answered(question, answer)?,
        Close::Deny => (QuestionStatus::Denied, Some(DENY.into())),
        Close::Skip => (QuestionStatus::Skipped, None),
        Close::Cancel => (QuestionStatus::Cancelled, None),
    };
    let reason = reply.reason.clone();
    Ok(question.closes(Closure {
        status,
        answer,
        by: by.name.clone(),
        at: now,
        reason,
        fetched_at: None,
        released_by: None,
        presence,
    }))
}

const DENY: &str = "deny";

fn answered(question: &Question, answer: &Value) -> Result<(QuestionStatus, Option<Value>), Refusal> {
    text::check_json("answer", answer)?;
    if !is_offered(&question.options, answer) {
        return Err(Refusal::OptionNotOffered { options: question.options.clone() });
    }
    let denies = question.question_type == QuestionType::Approval && answer.as_str() == Some(DENY);
    Ok((if denies { QuestionStatus::Denied } else { QuestionStatus::Answered }, Some(answer.clone())))
}

/// Reviewers and admins may close what others asked. An asker may only skip or cancel their own
/// question, and only if it halts nobody. An admin may also do so if it halts, with a reason.
fn may_close(question: &Question, Reply { close, reason, .. }: &Reply, by: &Principal) -> Result<(), Refusal> {
    let verb = close.verb();
    let withdraws = match close {
        Close::Answer(_) | Close::Deny => false,
        // Only the principal that asked, not the agent for which it was asked: an agent may not
        // withdraw what people and other agents asked in its name.
        Close::Skip | Close::Cancel => question.asked_by == by.name,
    };
    match by.role {
        Role::Viewer => Err(Refusal::RoleMayNot { role: by.role, verb }),
        _ if withdraws && question.halts.is_none() => Ok(()),
        Role::Admin if withdraws && !reason.trim().is_empty() => Ok(()),
        _ if withdraws => Err(Refusal::HaltsAsker { question: question.id.clone(), verb }),
        Role::Agent => Err(Refusal::RoleMayNot { role: by.role, verb }),
        Role::Admin | Role::Reviewer if question.is_asked_by(by) => {
            Err(Refusal::OwnQuestion { question: question.id.clone() })
        }
        Role::Admin | Role::Reviewer => Ok(()),
    }
}

/// The event that cancels an open question because its run is over.
pub(crate) fn withdraw(question: &Question, reason: &str, by: Name, now: Timestamp) -> QuestionEvent {
    let (status, reason) = (QuestionStatus::Cancelled, reason.to_owned());
    question.closes(Closure {
        status,
        answer: None,
        by,
        at: now,
        reason,
        fetched_at: None,
        released_by: None,
        presence: None,
    })
}

impl Question {
    pub(super) fn closes(&self, closure: Closure) -> QuestionEvent {
        let (asked_by, agent_id) = (self.asked_by.clone(), self.agent_id.clone());
        QuestionEvent::Closed { asked_by, agent_id, closure: Box::new(closure) }
    }
}

pub(super) fn by_the_clock() -> Name {
    "timeout".parse().expect("a plain word is a name")
}
