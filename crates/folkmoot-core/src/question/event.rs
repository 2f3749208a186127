//! The events of a question, and the fold that builds its row from them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Closure, Question, QuestionState, QuestionStatus};
use crate::{Deadline, Fact, Name, Timestamp, event::CorruptLog, halt::Notice};

/// An event of one question. Each names who asked, so that a subscriber can tell whose question it
/// is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionEvent {
    /// It was asked like this.
    Asked(Box<Question>),
    /// Nobody has answered yet; it goes on waiting.
    Reminded {
        asked_by: Name,
        /// The agent for which it was asked.
        agent_id: Name,
        /// When it reminds again.
        due: Deadline,
    },
    /// It was closed.
    Closed {
        asked_by: Name,
        /// The agent for which it was asked.
        agent_id: Name,
        closure: Box<Closure>,
    },
    /// The asker of a denied question has fetched the denial, or a reviewer or admin has released
    /// the asker.
    Fetched {
        asked_by: Name,
        /// The agent for which it was asked.
        agent_id: Name,
        fetched_at: Timestamp,
        /// Who released the asker; `None` if the asker fetched it.
        released_by: Option<Name>,
        /// Why the asker was released.
        reason: String,
    },
    /// Somebody tried to close it, and was refused.
    Refused(RefusedAttempt),
    /// It halted or released an agent, a session or everyone.
    Noticed(Box<Notice>),
}

/// What somebody tried to do to a question or halt, and why it was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAttempt {
    /// Who asked the question, or raised the halt.
    pub asked_by: Name,
    /// The verb that they tried.
    pub attempted: Cow<'static, str>,
    /// The refusal's stable code.
    pub code: String,
    /// The refusal in words.
    pub refusal: String,
    /// How many attempts of the same principal were refused before and are not in the log, because
    /// they were too many.
    #[serde(default, skip_serializing_if = "crate::quota::is_zero")]
    pub unrecorded: u64,
}

#[derive(Serialize, Deserialize)]
struct QuestionRemindedPayload {
    asked_by: Name,
    agent_id: Name,
    due: Deadline,
}

#[derive(Serialize, Deserialize)]
struct QuestionClosedPayload {
    asked_by: Name,
    agent_id: Name,
    #[serde(flatten)]
    closure: Box<Closure>,
}

#[derive(Serialize, Deserialize)]
struct QuestionFetchedPayload {
    asked_by: Name,
    agent_id: Name,
    fetched_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    released_by: Option<Name>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
}

impl QuestionEvent {
    /// Its type in the log and on the feed.
    pub fn kind(&self) -> &'static str {
        match self {
            QuestionEvent::Asked(_) => "question.asked",
            QuestionEvent::Reminded { .. } => "question.reminded",
            QuestionEvent::Closed { closure, .. } => match closure.status {
                QuestionStatus::Pending => unreachable!("what is closed does not wait"),
                QuestionStatus::Answered => "question.answered",
                QuestionStatus::Denied => "question.denied",
                QuestionStatus::Skipped => "question.skipped",
                QuestionStatus::Expired => "question.expired",
                QuestionStatus::Cancelled => "question.cancelled",
            },
            QuestionEvent::Fetched { .. } => "question.fetched",
            QuestionEvent::Refused(_) => "question.refused",
            QuestionEvent::Noticed(notice) => notice.kind(),
        }
    }

    /// The exact text that the log hashes.
    pub fn payload(&self) -> String {
        let written = match self.clone() {
            QuestionEvent::Asked(question) => serde_json::to_string(&question),
            QuestionEvent::Reminded { asked_by, agent_id, due } => {
                serde_json::to_string(&QuestionRemindedPayload { asked_by, agent_id, due })
            }
            QuestionEvent::Closed { asked_by, agent_id, closure } => {
                serde_json::to_string(&QuestionClosedPayload { asked_by, agent_id, closure })
            }
            QuestionEvent::Fetched { asked_by, agent_id, fetched_at, released_by, reason } => {
                serde_json::to_string(&QuestionFetchedPayload { asked_by, agent_id, fetched_at, released_by, reason })
            }
            QuestionEvent::Refused(attempt) => serde_json::to_string(&attempt),
            QuestionEvent::Noticed(notice) => serde_json::to_string(&notice),
        };
        written.expect("structs of texts and integers are JSON")
    }

    /// Reads the event from a logged fact.
    pub fn read(fact: &Fact) -> Result<Self, CorruptLog> {
        match fact.kind.as_ref() {
            "question.asked" => Ok(QuestionEvent::Asked(CorruptLog::parse(fact)?)),
            "question.reminded" => {
                let QuestionRemindedPayload { asked_by, agent_id, due } = CorruptLog::parse(fact)?;
                Ok(QuestionEvent::Reminded { asked_by, agent_id, due })
            }
            "question.answered" | "question.denied" | "question.skipped" | "question.expired"
            | "question.cancelled" => {
                let QuestionClosedPayload { asked_by, agent_id, closure } = CorruptLog::parse(fact)?;
                if fact.kind.strip_prefix("question.") != Some(closure.status.word()) {
                    return Err(CorruptLog(format!("{} says that it was {}", fact.kind, closure.status)));
                }
                Ok(QuestionEvent::Closed { asked_by, agent_id, closure })
            }
            "question.fetched" => {
                let QuestionFetchedPayload { asked_by, agent_id, fetched_at, released_by, reason } =
                    CorruptLog::parse(fact)?;
                Ok(QuestionEvent::Fetched { asked_by, agent_id, fetched_at, released_by, reason })
            }
            "question.refused" => Ok(QuestionEvent::Refused(CorruptLog::parse(fact)?)),
            other => match Notice::read(fact)? {
                Some(notice) => Ok(QuestionEvent::Noticed(Box::new(notice))),
                None => Err(CorruptLog(format!("{other:?} is no event of a question"))),
            },
        }
    }
}

impl Question {
    /// Builds the row from the facts of its stream.
    pub fn fold<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Result<Question, CorruptLog> {
        let mut facts = facts.into_iter();
        let first = facts.next().ok_or_else(|| CorruptLog("there are no events".to_owned()))?;
        let QuestionEvent::Asked(question) = QuestionEvent::read(first)? else {
            return Err(CorruptLog(format!("begins with {} instead of question.asked", first.kind)));
        };
        CorruptLog::unless_first(first, question.seq)?;
        facts.try_fold(*question, |mut question, fact| {
            CorruptLog::unless_next(fact, question.seq)?;
            question.apply(&QuestionEvent::read(fact)?)?;
            Ok(question)
        })
    }

    /// Applies one event to the row. A row never changes in any other way.
    pub fn apply(&mut self, event: &QuestionEvent) -> Result<(), CorruptLog> {
        self.seq += 1;
        match (event, &mut self.state) {
            (QuestionEvent::Refused(_) | QuestionEvent::Noticed(_), _) => Ok(()),
            (QuestionEvent::Asked(_), _) => Err(CorruptLog("it was asked twice".to_owned())),
            (QuestionEvent::Reminded { due, .. }, QuestionState::Pending) => {
                self.due = *due;
                self.reminders += 1;
                Ok(())
            }
            (QuestionEvent::Closed { closure, .. }, state @ QuestionState::Pending) => {
                *state = QuestionState::Closed(closure.as_ref().clone());
                Ok(())
            }
            (QuestionEvent::Fetched { fetched_at, released_by, .. }, QuestionState::Closed(closure))
                if closure.status == QuestionStatus::Denied && closure.fetched_at.is_none() =>
            {
                closure.fetched_at = Some(*fetched_at);
                closure.released_by.clone_from(released_by);
                Ok(())
            }
            (QuestionEvent::Reminded { .. } | QuestionEvent::Closed { .. } | QuestionEvent::Fetched { .. }, state) => {
                let state = if matches!(state, QuestionState::Pending) { "open" } else { "closed" };
                Err(CorruptLog(format!("{} on a question that was {state}", event.kind())))
            }
        }
    }
}
