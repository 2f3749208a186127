//! All that one command writes, in one transaction or not at all.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    Delivery, Digest, Fact, Gate, GateId, Halt, Name, Question, QuestionId, Record, Refusal, Run, RunId, Timestamp,
    Webhook, clearance::Target, delivery::NewDelivery, journal::Entry, run, token::Token,
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
    pub outbox: Vec<NewDelivery>,
    /// Runs for which something has changed: their `wakes` counter goes up.
    pub wakes: Vec<Wake>,
    /// What the caller gets, also when it asks again with the same idempotency key.
    pub outcome: Outcome,
}

impl Commit {
    /// Takes all that another writes, but not what it tells its caller.
    pub(crate) fn merge(&mut self, other: Commit) {
        self.rows.extend(other.rows);
        self.events.extend(other.events);
        self.timers.extend(other.timers);
        self.wakes.extend(other.wakes);
    }
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
    /// The run as it now is.
    Run(Box<Run>),
    /// The run was there before, and is the same.
    ExistingRun(Box<Run>),
    /// The run that a worker now has, and the wake-ups that it has had.
    Claimed(Box<Run>, u64),
    /// The line of a journal as it now is.
    Entry(Box<Entry>),
    /// The line of a journal as it was before, which stands.
    Stands(Box<Entry>),
    /// What was erased.
    Erased(Vec<Digest>),
    /// A run was not parked, because something has changed for it; the wake-ups that it has had.
    Awake(u64),
    /// The webhook as it now is.
    Webhook(Box<Webhook>),
    /// The delivery as it now is.
    Delivery(Box<Delivery>),
    /// Those that the caller is to send, or that died.
    Deliveries(Vec<Delivery>),
}

/// For which runs something has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// This one.
    Run(RunId),
    /// Those that wait for clearance, and that this kept from it.
    Held(Target),
    /// Those that this run started.
    Children(RunId),
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
    /// Content, under its digest. Writing what is there changes nothing.
    Artifact(Artifact),
    /// The content under this digest goes.
    Erased {
        digest: Digest,
        /// How often an admin has erased it by now.
        erasures: u64,
        /// No gate and no question shows it again.
        barred: bool,
    },
    /// A new or a changed run; its session with it if that is new.
    Run(Box<Run>),
    /// A line of a run's journal.
    Entry(RunId, Box<Entry>),
    /// A record of a run: new, or instead of the one with the same id.
    Record(Box<Record>),
    /// A node lives until then; where it is alone, no other does.
    Node {
        node: Name,
        until: Timestamp,
        /// No other node lives.
        alone: bool,
    },
    /// A node has ended.
    NodeGone(Name),
    /// A session that a gate, question or halt names.
    Session(crate::SessionId, Timestamp),
    /// A new token and its secret's hash; the principal with it if it is new.
    Token(Token, [u8; 32]),
    /// A token that stopped working.
    Revoked(Token),
    /// A new or a changed webhook.
    Webhook(Box<Webhook>),
    /// A delivery that changed. New ones are in the outbox.
    Delivery(Box<Delivery>),
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
    /// A run: the end of its first sleep.
    Run(RunId),
}

impl Subject {
    /// Which timer it has: the same as its stream. Whoever starts a run chooses its id, which could
    /// be a gate's.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Subject::Gate(id) => id.as_str().into(),
            Subject::Question(id) => id.as_str().into(),
            Subject::Run(id) => run::stream(id).into(),
        }
    }
}

/// When to look at something again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    pub subject: Subject,
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
