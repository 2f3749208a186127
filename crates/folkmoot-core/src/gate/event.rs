//! The events of a gate, and the fold that builds its row from them.

use serde::{Deserialize, Serialize};

use super::{Choice, Content, Decision, Gate, GateState, NextReminders, SelfReview, Vote};
use crate::{Deadline, Digest, Fact, Name, Presence, event::CorruptLog};

/// An event of one gate. Each names the requester, so that a subscriber can tell whose gate it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateEvent {
    /// It was opened like this.
    Opened(Box<Gate>),
    /// Its content changed: there is a new revision, and earlier votes are void.
    Amended {
        requested_by: Name,
        /// The whole new content.
        content: Box<Content>,
        /// Set if the risk was raised to one at which the run's initiator may not decide.
        self_review: Option<SelfReview>,
        /// Set if the risk was raised to one at which a decision demands more presence.
        presence: Option<Presence>,
        /// The digest of the new content, including the summary's text.
        digest: Digest,
        /// Unchanged, or later.
        deadline: Deadline,
        /// The next reminder and escalation before the deadline.
        next: NextReminders,
    },
    /// Somebody voted, and more votes are needed.
    Vote {
        requested_by: Name,
        vote: Vote,
        /// The digest of the content that was voted on.
        digest: Digest,
    },
    /// It got more time.
    Extended {
        requested_by: Name,
        /// The new deadline.
        deadline: Deadline,
        /// The next reminder and escalation before the deadline.
        next: NextReminders,
    },
    /// Nobody has decided yet; it goes on waiting.
    Reminded {
        requested_by: Name,
        /// Unchanged.
        deadline: Deadline,
        /// The next reminder and escalation before the deadline.
        next: NextReminders,
    },
    /// Nobody decided by the deadline, and it waits once more; or the deadline is near (`early`).
    Escalated {
        requested_by: Name,
        /// The new deadline; unchanged if `early`.
        deadline: Deadline,
        /// Whether the deadline has not passed yet.
        early: bool,
        /// The next reminder and escalation before the deadline.
        next: NextReminders,
    },
    /// It was closed: by people, by a cancellation, by a timeout or by the configuration.
    Decided {
        requested_by: Name,
        /// It never changes afterwards.
        decision: Box<Decision>,
    },
    /// Somebody tried to decide, and was refused.
    Refused {
        requested_by: Name,
        /// The choice that they tried to make.
        attempted: Choice,
        /// Whether they tried to do it without the quorum.
        force: bool,
        /// The refusal's stable code.
        code: String,
        /// The refusal in words.
        refusal: String,
        /// How many attempts of the same principal were refused before and are not in the log,
        /// because they were too many.
        unrecorded: u64,
    },
}

/// The version of the payloads of all events, also of other nouns.
pub(crate) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct GateAmendedPayload {
    requested_by: Name,
    content: Box<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    self_review: Option<SelfReview>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    presence: Option<Presence>,
    digest: Digest,
    deadline: Deadline,
    #[serde(flatten)]
    next: NextReminders,
}

#[derive(Serialize, Deserialize)]
struct GateVotedPayload {
    requested_by: Name,
    vote: Vote,
    digest: Digest,
}

#[derive(Serialize, Deserialize)]
struct GateMovedPayload {
    requested_by: Name,
    deadline: Deadline,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    early: bool,
    #[serde(flatten)]
    next: NextReminders,
}

#[derive(Serialize, Deserialize)]
struct GateDecidedPayload {
    requested_by: Name,
    decision: Box<Decision>,
}

#[derive(Serialize, Deserialize)]
struct GateRefusedPayload {
    requested_by: Name,
    attempted: Choice,
    force: bool,
    code: String,
    refusal: String,
    #[serde(default, skip_serializing_if = "crate::quota::is_zero")]
    unrecorded: u64,
}

impl GateEvent {
    /// Its type in the log and on the feed.
    pub fn kind(&self) -> &'static str {
        match self {
            GateEvent::Opened(_) => "gate.opened",
            GateEvent::Amended { .. } => "gate.amended",
            GateEvent::Vote { .. } => "gate.vote",
            GateEvent::Extended { .. } => "gate.extended",
            GateEvent::Reminded { .. } => "gate.reminded",
            GateEvent::Escalated { .. } => "gate.escalated",
            GateEvent::Decided { .. } => "gate.decided",
            GateEvent::Refused { .. } => "gate.refused",
        }
    }

    /// The exact text that the log hashes.
    pub fn payload(&self) -> String {
        let written = match self.clone() {
            GateEvent::Opened(gate) => serde_json::to_string(&gate),
            GateEvent::Amended { requested_by, content, self_review, presence, digest, deadline, next } => {
                serde_json::to_string(&GateAmendedPayload {
                    requested_by,
                    content,
                    self_review,
                    presence,
                    digest,
                    deadline,
                    next,
                })
            }
            GateEvent::Vote { requested_by, vote, digest } => {
                serde_json::to_string(&GateVotedPayload { requested_by, vote, digest })
            }
            GateEvent::Extended { requested_by, deadline, next }
            | GateEvent::Reminded { requested_by, deadline, next } => {
                serde_json::to_string(&GateMovedPayload { requested_by, deadline, early: false, next })
            }
            GateEvent::Escalated { requested_by, deadline, early, next } => {
                serde_json::to_string(&GateMovedPayload { requested_by, deadline, early, next })
            }
            GateEvent::Decided { requested_by, decision } => {
                serde_json::to_string(&GateDecidedPayload { requested_by, decision })
            }
            GateEvent::Refused { requested_by, attempted, force, code, refusal, unrecorded } => {
                serde_json::to_string(&GateRefusedPayload { requested_by, attempted, force, code, refusal, unrecorded })
            }
        };
        written.expect("structs of texts and integers are JSON")
    }

    /// Reads the event from a logged fact.
    pub fn read(fact: &Fact) -> Result<Self, CorruptLog> {
        match fact.kind.as_ref() {
            "gate.opened" => Ok(GateEvent::Opened(CorruptLog::parse(fact)?)),
            "gate.amended" => {
                let GateAmendedPayload { requested_by, content, self_review, presence, digest, deadline, next } =
                    CorruptLog::parse(fact)?;
                Ok(GateEvent::Amended { requested_by, content, self_review, presence, digest, deadline, next })
            }
            "gate.vote" => {
                let GateVotedPayload { requested_by, vote, digest } = CorruptLog::parse(fact)?;
                Ok(GateEvent::Vote { requested_by, vote, digest })
            }
            "gate.extended" => {
                let GateMovedPayload { requested_by, deadline, next, .. } = CorruptLog::parse(fact)?;
                Ok(GateEvent::Extended { requested_by, deadline, next })
            }
            "gate.reminded" => {
                let GateMovedPayload { requested_by, deadline, next, .. } = CorruptLog::parse(fact)?;
                Ok(GateEvent::Reminded { requested_by, deadline, next })
            }
            "gate.escalated" => {
                let GateMovedPayload { requested_by, deadline, early, next } = CorruptLog::parse(fact)?;
                Ok(GateEvent::Escalated { requested_by, deadline, early, next })
            }
            "gate.decided" => {
                let GateDecidedPayload { requested_by, decision } = CorruptLog::parse(fact)?;
                Ok(GateEvent::Decided { requested_by, decision })
            }
            "gate.refused" => {
                let GateRefusedPayload { requested_by, attempted, force, code, refusal, unrecorded } =
                    CorruptLog::parse(fact)?;
                Ok(GateEvent::Refused { requested_by, attempted, force, code, refusal, unrecorded })
            }
            other => Err(CorruptLog(format!("{other:?} is no event of a gate"))),
        }
    }
}

impl Gate {
    /// Builds the row from the facts of its stream.
    pub fn fold<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Result<Gate, CorruptLog> {
        let mut facts = facts.into_iter();
        let first = facts.next().ok_or_else(|| CorruptLog("there are no events".to_owned()))?;
        let GateEvent::Opened(gate) = GateEvent::read(first)? else {
            return Err(CorruptLog(format!("begins with {} instead of gate.opened", first.kind)));
        };
        CorruptLog::unless_first(first, gate.seq)?;
        facts.try_fold(*gate, |mut gate, fact| {
            CorruptLog::unless_next(fact, gate.seq)?;
            gate.apply(&GateEvent::read(fact)?)?;
            Ok(gate)
        })
    }

    /// Applies one event to the row. A row never changes in any other way.
    pub fn apply(&mut self, event: &GateEvent) -> Result<(), CorruptLog> {
        self.seq += 1;
        if let GateEvent::Refused { .. } = event {
            return Ok(());
        }
        let GateState::Pending { votes } = &mut self.state else {
            return Err(CorruptLog(format!("{} on a gate that was already decided", event.kind())));
        };
        match event {
            GateEvent::Opened(_) => return Err(CorruptLog("it was opened twice".to_owned())),
            GateEvent::Amended { content, self_review, presence, digest, deadline, next, .. } => {
                self.content = content.as_ref().clone();
                self.self_review = self_review.unwrap_or(self.self_review);
                self.presence = presence.or(self.presence);
                self.digest = *digest;
                self.deadline = *deadline;
                self.reminders.next = *next;
                self.revision += 1;
                votes.clear();
            }
            GateEvent::Vote { vote, .. } => votes.push(vote.clone()),
            GateEvent::Extended { deadline, next, .. } => {
                self.deadline = *deadline;
                self.reminders.next = *next;
            }
            GateEvent::Reminded { next, .. } => {
                self.reminders.next = *next;
                self.reminders.reminded += 1;
            }
            GateEvent::Escalated { deadline, early, next, .. } => {
                self.deadline = *deadline;
                self.reminders.next = *next;
                // An escalation before the deadline does not use up the one at the deadline.
                if *early {
                    self.reminders.escalations += 1;
                } else {
                    self.escalated = true;
                }
            }
            GateEvent::Decided { decision, .. } => self.state = GateState::Closed(decision.as_ref().clone()),
            GateEvent::Refused { .. } => {}
        }
        Ok(())
    }
}
