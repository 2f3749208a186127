//! All that one command writes, in one transaction or not at all.

use serde::{Deserialize, Serialize};

use crate::{
    Digest, Fact, Gate, GateId, Halt, Question, QuestionId, Refusal, RunId, Timestamp, run::Run, token::Token,
};

/// What the rules say to a command.
#[derive(Clone, Debug)]
pub enum Judgement {
    /// Yes: write this.
    Done(Commit),
    /// No, and write this about it. Refused attempts to decide are in the log too.
    Refused(Refusal, Commit),
}

/// What is to be written.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The present.
    pub rows: Vec<Row>,
    /// The past, in order.
    pub events: Vec<Fact>,
    /// When to look again.
    pub timers: Vec<TimerChange>,
    /// Whom to tell.
    pub outbox: Vec<Delivery>,
    /// Runs for which something has changed: their `wakes` counter goes up.
    pub wakes: Vec<RunId>,
    /// What the caller gets, also when it asks again with the same idempotency key.
    pub outcome: Outcome,
}

/// What a command gives its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing to tell.
    #[default]
    Nothing,
    /// The gate as it now is.
    Gate(Box<Gate>),
    /// "Ask once": the gate was there before.
    Existing(Box<Gate>),
    /// The question as it now is.
    Question(Box<Question>),
    /// The halt as it now is.
    Halt(Box<Halt>),
    /// The token as it now is.
    Token(Token),
}

/// One row to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A new or a changed gate.
    Gate(Box<Gate>),
    /// A new or a changed question.
    Question(Box<Question>),
    /// A new or a changed halt.
    Halt(Box<Halt>),
    /// Content, under its digest; writing what is there changes nothing.
    Artifact(Artifact),
    /// A new run, and its session.
    Run(Run),
    /// A session that a gate, question or halt names.
    Session(crate::SessionId, Timestamp),
    /// A new token and its secret's hash; the principal with it if it is new.
    Token(Token, [u8; 32]),
    /// A token that stopped working.
    Revoked(Token),
}

/// Bytes under their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Of the bytes.
    pub digest: Digest,
    /// The bytes.
    pub content: Vec<u8>,
}

impl Artifact {
    /// Content with its digest.
    pub fn new(content: Vec<u8>) -> Self {
        Self { digest: Digest::of(&content), content }
    }
}

/// What has a timer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A gate: its deadline.
    Gate(GateId),
    /// A question: its timeout, or the next reminder.
    Question(QuestionId),
}

impl Subject {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        match self {
            Subject::Gate(id) => id.as_str(),
            Subject::Question(id) => id.as_str(),
        }
    }
}

/// When to look at something again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// What.
    pub subject: Subject,
    /// When.
    pub due: Timestamp,
}

/// A change to the one timer that something has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerChange {
    /// It is to come round then, and not before.
    Set(Timer),
    /// It is no longer needed.
    Clear(Subject),
}

impl TimerChange {
    /// Whose timer changes.
    pub fn subject(&self) -> &Subject {
        match self {
            TimerChange::Set(timer) => &timer.subject,
            TimerChange::Clear(subject) => subject,
        }
    }

    /// The timer that is to stand, if one is.
    pub fn timer(&self) -> Option<&Timer> {
        match self {
            TimerChange::Set(timer) => Some(timer),
            TimerChange::Clear(_) => None,
        }
    }
}

/// A message to be delivered after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where to; configuration says what it is.
    pub channel: String,
    /// About which gate.
    pub gate: GateId,
    /// About which event.
    pub kind: &'static str,
    /// Since when it waits.
    pub at: Timestamp,
}
