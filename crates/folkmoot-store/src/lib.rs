//! Rows, log, timers and outbox of Folkmoot, on SQLite and on PostgreSQL.
//!
//! Judging happens inside the write transaction, one command after another: core says which rows a
//! command needs and what to write; a backend loads, asks core, writes. Commands that wait at the
//! same time share one commit. Rows are the present and the log is the past; both are written
//! together, so neither can lie alone.

pub mod backup;
mod clock;
mod error;
mod figures;
pub mod health;
mod migrate;
mod postgres;
mod query;
mod recent;
mod rows;
mod sqlite;

use std::{future::Future, sync::Arc, time::Duration};

use folkmoot_core::{
    Command, Delivery, DeliveryId, Digest, Event, Gate, GateId, Halt, HaltId, Head, Hold, Name, Outcome, QuestionId,
    Record, RecordQuery, RecordView, Run, RunId, Timer, Timestamp, Webhook, WorkflowName, audit::AuditedRow,
    delivery::DeliveryStatus, erase::ContentStatus, record::View, run::RunSummary, token::Token,
};
use tokio::sync::watch;

/// How many commands may wait before the next is told to come back.
pub const QUEUE: usize = 8192;

pub use clock::{Clock, ManualClock, SteadyClock, SystemClock};
pub use error::Error;
pub use postgres::Postgres;
pub use query::{
    Cursor, DeliveryQuery, GateQuery, GateView, JournalLine, JournalQuery, Page, QuestionQuery, QuestionView, RunQuery,
    WaitingFor, records::RunSummaryQuery,
};
pub use sqlite::{Sqlite, Witness};

/// Why a store stopped whose writer is no longer there.
const PANICKED: &str = "the writer panicked, which is a bug; what it said is in the log";

/// What both databases promise, little and exactly.
pub trait Store: Send + Sync {
    /// The clock that judging goes by; on PostgreSQL the database's.
    fn now(&self) -> Timestamp;

    /// Judges `command` inside one transaction and writes all that the rules return, or nothing.
    /// Durable on return. [`Error::Refused`] names the rule and, for a decided gate, the decision
    /// that stands.
    fn write(&self, command: Command) -> impl Future<Output = Result<WriteResult, Error>> + Send;

    /// As [`Store::write`], for whoever does not ask where in the log it was written.
    fn execute(&self, command: Command) -> impl Future<Output = Result<Outcome, Error>> + Send {
        async { Ok(self.write(command).await?.outcome) }
    }

    /// Whether other nodes write to the same database.
    fn is_shared(&self) -> bool;

    /// For how long somebody who knows the log up to this position has not known all of it. What
    /// others have written in that time they cannot know.
    fn silence(&self, known: u64) -> Duration;

    /// How many commands wait to be written.
    fn queued(&self) -> usize;

    /// The position up to which [`Store::follow`] has events to give.
    fn offered(&self) -> u64;

    /// Changes when the database turns out to have lost the end of the log that was followed until
    /// then, as after a fail-over to a standby that lagged behind. Positions and events from before
    /// then mean nothing afterwards.
    fn epoch(&self) -> watch::Receiver<u64>;

    /// Waits until the log has events after `after`, then returns the next of them, in order and
    /// without a gap.
    fn follow(&self, after: u64) -> impl Future<Output = Result<Vec<Arc<Event>>, Error>> + Send;

    /// The next `limit` events after `after`.
    fn events(&self, after: u64, limit: u32) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// The end of the log.
    fn head(&self) -> impl Future<Output = Result<Head, Error>> + Send;

    /// One gate, with the text of its summary.
    fn gate(&self, id: &GateId) -> impl Future<Output = Result<Option<GateView>, Error>> + Send;

    /// A page of gates: pending ones by risk, deadline and age, others newest first.
    fn gates(&self, query: GateQuery) -> impl Future<Output = Result<Page<GateView>, Error>> + Send;

    /// Of a run's gates those by which its next step is judged: all that wait, and of each way to
    /// stop the run or to let it go on the last.
    fn gates_of_run(&self, run: &RunId) -> impl Future<Output = Result<Vec<Gate>, Error>> + Send;

    /// One question, with what it asks.
    fn question(&self, id: &QuestionId) -> impl Future<Output = Result<Option<QuestionView>, Error>> + Send;

    /// A page of questions: pending ones by priority, timeout and age, others newest first.
    fn questions(&self, query: QuestionQuery) -> impl Future<Output = Result<Page<QuestionView>, Error>> + Send;

    /// One run.
    fn run(&self, id: &RunId) -> impl Future<Output = Result<Option<Run>, Error>> + Send;

    /// A page of runs, newest first.
    fn runs(&self, query: RunQuery) -> impl Future<Output = Result<Page<Run>, Error>> + Send;

    /// Part of a run's journal, in the order in which its steps began.
    fn journal(&self, query: JournalQuery) -> impl Future<Output = Result<Vec<JournalLine>, Error>> + Send;

    /// A page of runs in short, newest first.
    fn run_summaries(&self, query: RunSummaryQuery) -> impl Future<Output = Result<Page<RunSummary>, Error>> + Send;

    /// Some records, without their texts.
    fn record_rows(&self, query: RecordQuery) -> impl Future<Output = Result<Vec<Record>, Error>> + Send;

    /// Some records, with those of their texts that were not erased.
    fn records(&self, query: RecordQuery) -> impl Future<Output = Result<Vec<RecordView>, Error>> + Send {
        async { rows::records::with_texts(self, self.record_rows(query).await?).await }
    }

    /// Makes each of these views, or replaces it where it is another.
    fn create_views(&self, views: &'static [View]) -> impl Future<Output = Result<(), Error>> + Send;

    /// At most `limit` runs of which a record is kept, but no run: somebody has written behind
    /// the store's back.
    fn strays(&self, limit: u32) -> impl Future<Output = Result<Vec<String>, Error>> + Send;

    /// The next `limit` events after `after` of a run, its gates and its questions.
    fn events_of_run(
        &self,
        run: &RunId,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// At most `limit` runs of these workflows that a worker can take, those first that have waited
    /// longest.
    fn ready(&self, workflows: &[WorkflowName], limit: u32) -> impl Future<Output = Result<Vec<RunId>, Error>> + Send;

    /// At most `limit` runs of these workflows whose node has died, and as many that have stopped
    /// and whose parent is over.
    fn orphans(&self, workflows: &[WorkflowName], limit: u32)
    -> impl Future<Output = Result<Vec<RunId>, Error>> + Send;

    /// One halt, whether or not it still stands.
    fn halt(&self, id: &HaltId) -> impl Future<Output = Result<Option<Halt>, Error>> + Send;

    /// Everything that holds anybody, and the position of the log at which that is so.
    fn holds(&self) -> impl Future<Output = Result<(u64, Vec<Hold>), Error>> + Send;

    /// The bytes behind each digest that a gate or a question shows; `None` where they are unknown
    /// or were erased.
    fn contents(&self, digests: Vec<Digest>) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>, Error>> + Send;

    /// The same for what a run records, which is kept whatever was erased before.
    fn recorded(&self, digests: Vec<Digest>) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>, Error>> + Send;

    /// What is known of these contents, without the bytes; those that were never kept are left out.
    fn content_statuses(&self, digests: Vec<Digest>) -> impl Future<Output = Result<Vec<ContentStatus>, Error>> + Send;

    /// A gate or question that waits, or a run that is not over, that needs this content; none if
    /// nothing does.
    fn needed_by(&self, digest: Digest) -> impl Future<Output = Result<Option<String>, Error>> + Send;

    /// All contents that are barred.
    fn barred(&self) -> impl Future<Output = Result<Vec<Digest>, Error>> + Send;

    /// The events of these streams, in the order of the log.
    fn streams(&self, streams: Vec<String>) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// The events that erased any of these for their age.
    fn retirements(&self, digests: &[Digest]) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// Makes what was erased before this disappear from the database's own files too, and says
    /// whether it has: not yet, where somebody still reads what was there. PostgreSQL does so in
    /// its own time.
    fn scrub(&self) -> impl Future<Output = Result<bool, Error>> + Send;

    /// The next `limit` gates, questions, halts and runs by id after `after`, each row with all its
    /// events, in one snapshot. Those whose row is gone are among them.
    fn histories(&self, after: &str, limit: u32) -> impl Future<Output = Result<Vec<History>, Error>> + Send;

    /// At most `limit` timers that are due at `until`, the oldest first.
    fn due(&self, until: Timestamp, limit: u32) -> impl Future<Output = Result<Vec<Timer>, Error>> + Send;

    /// When the next timer is due.
    fn next_due(&self) -> impl Future<Output = Result<Option<Timestamp>, Error>> + Send;

    /// All tokens with the hashes of their secrets.
    fn tokens(&self) -> impl Future<Output = Result<Vec<(Token, [u8; 32])>, Error>> + Send;

    /// All webhooks, those that were removed too.
    fn webhooks(&self) -> impl Future<Output = Result<Vec<Webhook>, Error>> + Send;

    /// One delivery.
    fn delivery(&self, id: &DeliveryId) -> impl Future<Output = Result<Option<Delivery>, Error>> + Send;

    /// A page of deliveries, newest first.
    fn deliveries(&self, query: DeliveryQuery) -> impl Future<Output = Result<Page<Delivery>, Error>> + Send;

    /// At most `limit` channels for which something waits, or is under way, by name, from the one
    /// after `after`.
    fn waiting(&self, after: &str, limit: u32) -> impl Future<Output = Result<Vec<WaitingFor>, Error>> + Send;

    /// How many deliveries are in this state.
    fn count_deliveries(&self, status: DeliveryStatus) -> impl Future<Output = Result<u64, Error>> + Send;

    /// At most `limit` principals that have pending gates, by name.
    fn requesters(&self, limit: u32) -> impl Future<Output = Result<Vec<Name>, Error>> + Send;

    /// At most `limit` principals that asked pending questions, by name.
    fn askers(&self, limit: u32) -> impl Future<Output = Result<Vec<Name>, Error>> + Send;

    /// How many gates are pending.
    fn pending(&self) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Forgets idempotency keys that were used before `before`.
    fn forget_keys(&self, before: Timestamp) -> impl Future<Output = Result<(), Error>> + Send;

    /// Forgets at most `limit` deliveries that arrived before `before`, and returns how many there
    /// were.
    fn forget_deliveries(&self, before: Timestamp, limit: u32) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Forgets at most `limit` records whose time was over at `before`, and returns how
    /// many there were.
    fn forget_records(&self, before: Timestamp, limit: u32) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Returns once nothing can be written any more, with the reason: the first failed sync stops
    /// the writer.
    fn stopped(&self) -> impl Future<Output = String> + Send;

    /// Finishes what was begun and lets go of the database, whoever else still holds this store.
    /// Nothing can be asked of it afterwards.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// The outcome of a command, and the end of the log after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteResult {
    /// For the caller.
    pub outcome: Outcome,
    /// Everything that the command wrote is at this position or before it.
    pub position: u64,
    /// How many commands were written together, this one among them.
    pub together: usize,
}

/// A row, and all that the log says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The id of the gate, question or halt; `run:` and the id of a run.
    pub stream: String,
    /// What the row says; `Err` where it cannot even be read.
    pub row: Option<Result<AuditedRow, String>>,
    /// In order.
    pub events: Vec<Event>,
}

macro_rules! any_store {
    ($($name:ident($($arg:ident: $type:ty),*) -> $output:ty;)+) => {
        impl Store for AnyStore {
            fn now(&self) -> Timestamp {
                match self {
                    AnyStore::Sqlite(store) => store.now(),
                    AnyStore::Postgres(store) => store.now(),
                }
            }
            fn is_shared(&self) -> bool {
                match self {
                    AnyStore::Sqlite(store) => store.is_shared(),
                    AnyStore::Postgres(store) => store.is_shared(),
                }
            }
            fn silence(&self, known: u64) -> Duration {
                match self {
                    AnyStore::Sqlite(store) => store.silence(known),
                    AnyStore::Postgres(store) => store.silence(known),
                }
            }
            fn queued(&self) -> usize {
                match self {
                    AnyStore::Sqlite(store) => store.queued(),
                    AnyStore::Postgres(store) => store.queued(),
                }
            }
            fn epoch(&self) -> watch::Receiver<u64> {
                match self {
                    AnyStore::Sqlite(store) => store.epoch(),
                    AnyStore::Postgres(store) => store.epoch(),
                }
            }
            fn offered(&self) -> u64 {
                match self {
                    AnyStore::Sqlite(store) => store.offered(),
                    AnyStore::Postgres(store) => store.offered(),
                }
            }
            $(async fn $name(&self, $($arg: $type),*) -> $output {
                match self {
                    AnyStore::Sqlite(store) => store.$name($($arg),*).await,
                    AnyStore::Postgres(store) => store.$name($($arg),*).await,
                }
            })+
        }
    };
}

/// One of the two, chosen when the server starts.
#[derive(Debug)]
pub enum AnyStore {
    /// Inside, one file.
    Sqlite(Sqlite),
    /// For many nodes.
    Postgres(Postgres),
}

any_store! {
    write(command: Command) -> Result<WriteResult, Error>;
    follow(after: u64) -> Result<Vec<Arc<Event>>, Error>;
    events(after: u64, limit: u32) -> Result<Vec<Event>, Error>;
    head() -> Result<Head, Error>;
    gate(id: &GateId) -> Result<Option<GateView>, Error>;
    gates(query: GateQuery) -> Result<Page<GateView>, Error>;
    gates_of_run(run: &RunId) -> Result<Vec<Gate>, Error>;
    question(id: &QuestionId) -> Result<Option<QuestionView>, Error>;
    questions(query: QuestionQuery) -> Result<Page<QuestionView>, Error>;
    run(id: &RunId) -> Result<Option<Run>, Error>;
    runs(query: RunQuery) -> Result<Page<Run>, Error>;
    journal(query: JournalQuery) -> Result<Vec<JournalLine>, Error>;
    events_of_run(run: &RunId, after: u64, limit: u32) -> Result<Vec<Event>, Error>;
    ready(workflows: &[WorkflowName], limit: u32) -> Result<Vec<RunId>, Error>;
    orphans(workflows: &[WorkflowName], limit: u32) -> Result<Vec<RunId>, Error>;
    halt(id: &HaltId) -> Result<Option<Halt>, Error>;
    holds() -> Result<(u64, Vec<Hold>), Error>;
    contents(digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error>;
    recorded(digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error>;
    histories(after: &str, limit: u32) -> Result<Vec<History>, Error>;
    due(until: Timestamp, limit: u32) -> Result<Vec<Timer>, Error>;
    next_due() -> Result<Option<Timestamp>, Error>;
    tokens() -> Result<Vec<(Token, [u8; 32])>, Error>;
    webhooks() -> Result<Vec<Webhook>, Error>;
    delivery(id: &DeliveryId) -> Result<Option<Delivery>, Error>;
    deliveries(query: DeliveryQuery) -> Result<Page<Delivery>, Error>;
    waiting(after: &str, limit: u32) -> Result<Vec<WaitingFor>, Error>;
    count_deliveries(status: DeliveryStatus) -> Result<u64, Error>;
    requesters(limit: u32) -> Result<Vec<Name>, Error>;
    askers(limit: u32) -> Result<Vec<Name>, Error>;
    pending() -> Result<u64, Error>;
    forget_keys(before: Timestamp) -> Result<(), Error>;
    forget_deliveries(before: Timestamp, limit: u32) -> Result<u64, Error>;
    forget_records(before: Timestamp, limit: u32) -> Result<u64, Error>;
    run_summaries(query: RunSummaryQuery) -> Result<Page<RunSummary>, Error>;
    record_rows(query: RecordQuery) -> Result<Vec<Record>, Error>;
    create_views(views: &'static [View]) -> Result<(), Error>;
    strays(limit: u32) -> Result<Vec<String>, Error>;
    content_statuses(digests: Vec<Digest>) -> Result<Vec<ContentStatus>, Error>;
    needed_by(digest: Digest) -> Result<Option<String>, Error>;
    barred() -> Result<Vec<Digest>, Error>;
    streams(streams: Vec<String>) -> Result<Vec<Event>, Error>;
    retirements(digests: &[Digest]) -> Result<Vec<Event>, Error>;
    scrub() -> Result<bool, Error>;
    stopped() -> String;
    close() -> ();
}
