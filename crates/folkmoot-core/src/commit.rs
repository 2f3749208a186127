//! Everything that one command writes, in one transaction or not at all.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    Delivery, Digest, Fact, Gate, GateId, Halt, Name, Question, QuestionId, Record, Refusal, Run, RunId, Timestamp,
    Webhook, clearance::Target, delivery::NewDelivery, journal::Entry, run, token::Token,
};

/// The result of judging a command.
#[derive(Clone, Debug)]
pub enum Judgement {
    /// It is allowed: write this.
    Done(Commit),
    /// It is refused: write this about it. Refused attempts to decide are in the log too.
    Refused(Refusal, Commit),
}

/// Everything to write.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// New and changed rows, which hold the current state.
    pub rows: Vec<Row>,
    /// Events to append to the log, in this order.
    pub events: Vec<Fact>,
    /// Timers to set or clear.
    pub timers: Vec<TimerChange>,
    /// Deliveries to create.
    pub outbox: Vec<NewDelivery>,
    /// Runs for which something has changed: their `wakes` counter goes up.
    pub wakes: Vec<Wake>,
    /// What the caller gets, also if it repeats the request with the same idempotency key.
    pub outcome: Outcome,
}

impl Commit {
    /// Adds what another commit writes. Does not take its outcome, nor its outbox, which is filled
    /// only after a command was judged.
    pub(crate) fn merge(&mut self, other: Commit) {
        self.rows.extend(other.rows);
        self.events.extend(other.events);
        self.timers.extend(other.timers);
        self.wakes.extend(other.wakes);
    }
}

/// What the caller of a command gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Nothing,
    /// The gate as it now is.
    Gate(Box<Gate>),
    /// The caller's pending gate with the same dedupe key, instead of a new one.
    Existing(Box<Gate>),
    /// The question as it now is.
    Question(Box<Question>),
    /// The halt as it now is.
    Halt(Box<Halt>),
    /// The token as it now is.
    Token(Token),
    /// The run as it now is.
    Run(Box<Run>),
    /// A run with this id already existed, and was started in the same way.
    ExistingRun(Box<Run>),
    /// The run that a worker has now claimed, and how often the run was woken so far.
    Claimed(Box<Run>, u64),
    /// The journal entry as it now is.
    Entry(Box<Entry>),
    /// The journal entry that was already recorded, and stays as it is.
    Stands(Box<Entry>),
    /// The contents that were erased.
    Erased(Vec<Digest>),
    /// The run was not parked, because something has changed for it; how often it was woken so far.
    Awake(u64),
    /// The webhook as it now is.
    Webhook(Box<Webhook>),
    /// The delivery as it now is.
    Delivery(Box<Delivery>),
    /// The deliveries that the caller must send, or that died.
    Deliveries(Vec<Delivery>),
}

/// The runs for which something has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    Run(RunId),
    /// Runs that wait for clearance because of a hold on this target.
    Held(Target),
    /// The runs that this run started.
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
    /// Content, stored under its digest. Content that is already stored is not written again.
    Artifact(Artifact),
    /// The content under this digest is removed.
    Erased {
        digest: Digest,
        /// How often an admin has erased it so far.
        erasures: u64,
        /// Whether no gate and no question may show it again.
        barred: bool,
    },
    /// A new or a changed run. Its session is created if it is new.
    Run(Box<Run>),
    /// An entry of a run's journal.
    Entry(RunId, Box<Entry>),
    /// A record of a run. It replaces the one with the same id, if there is one.
    Record(Box<Record>),
    /// A node is alive until then.
    Node {
        node: Name,
        until: Timestamp,
        /// Whether no other node is alive.
        alone: bool,
    },
    /// A node has shut down.
    NodeGone(Name),
    /// A session that a gate, question or halt names, and when it did.
    Session(crate::SessionId, Timestamp),
    /// A new token and the hash of its secret. Its principal is created if it is new.
    Token(Token, [u8; 32]),
    /// A token that was revoked.
    Revoked(Token),
    /// A new or a changed webhook.
    Webhook(Box<Webhook>),
    /// A changed delivery. New ones are in the outbox.
    Delivery(Box<Delivery>),
}

/// Content and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub digest: Digest,
    pub content: Vec<u8>,
}

impl Artifact {
    pub fn new(content: Vec<u8>) -> Self {
        Self { digest: Digest::of(&content), content }
    }
}

/// A gate, question or run that has a timer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A gate: its next reminder or escalation, or its deadline.
    Gate(GateId),
    /// A question: its timeout, or the next reminder.
    Question(QuestionId),
    /// A run: the end of the first of its sleeps.
    Run(RunId),
}

impl Subject {
    /// The key of its timer, which is the name of its stream. A run's id alone would not do:
    /// whoever starts the run chooses it, and could choose a gate's id.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Subject::Gate(id) => id.as_str().into(),
            Subject::Question(id) => id.as_str().into(),
            Subject::Run(id) => run::stream(id).into(),
        }
    }
}

/// When to look at its subject again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    pub subject: Subject,
    pub due: Timestamp,
}

/// A change to the timer of a subject. Each subject has at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerChange {
    /// It fires then, and not before.
    Set(Timer),
    /// It is no longer needed.
    Clear(Subject),
}

impl TimerChange {
    pub fn subject(&self) -> &Subject {
        match self {
            TimerChange::Set(timer) => &timer.subject,
            TimerChange::Clear(subject) => subject,
        }
    }

    /// The timer after the change; `None` if it is cleared.
    pub fn timer(&self) -> Option<&Timer> {
        match self {
            TimerChange::Set(timer) => Some(timer),
            TimerChange::Clear(_) => None,
        }
    }
}
