//! Stores Folkmoot's rows, log, journal, records, timers and outbox, on SQLite or on PostgreSQL.
//!
//! A command is judged inside the write transaction, one command after another. Core says which
//! rows the command needs; the store loads them; core decides what to write; the store writes it.
//! Commands that wait at the same time share one commit. The rows are the present state and the log
//! is the history. Both are written in the same transaction, so they never disagree.

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

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use folkmoot_core::{
    Command, Delivery, DeliveryId, Digest, Event, Gate, GateId, Halt, HaltId, Head, Hold, Name, Outcome, QuestionId,
    Record, RecordQuery, RecordView, Run, RunId, Timer, Timestamp, Webhook, WorkflowName, audit::AuditedRow,
    delivery::DeliveryStatus, erase::ContentStatus, record::View, run::RunSummary, token::Token,
};
use tokio::sync::watch;

/// How many commands may wait to be written. Further commands get [`Error::Busy`].
pub const QUEUE: usize = 8192;

pub use clock::{Clock, ManualClock, SteadyClock, SystemClock};
pub use error::Error;
pub use postgres::Postgres;
pub use query::{
    Cursor, DeliveryQuery, GateQuery, GateView, JournalLine, JournalQuery, Page, QuestionQuery, QuestionView, RunQuery,
    WaitingFor, records::RunSummaryQuery,
};
pub use sqlite::{Sqlite, Witness};

/// The reason for a stop if the writer has ended without giving one.
const PANICKED: &str = "the writer panicked, which is a bug; what it said is in the log";

/// What both databases guarantee.
pub trait Store: Send + Sync {
    /// The time that judging uses; on PostgreSQL the database's clock.
    fn now(&self) -> Timestamp;

    /// Judges `command` inside one transaction and writes everything that the rules return, or
    /// nothing. The write is durable on return. [`Error::Refused`] names the rule and, for a
    /// decided gate, the existing decision.
    fn write(&self, command: Command) -> impl Future<Output = Result<WriteResult, Error>> + Send;

    /// Like [`Store::write`], but returns only the outcome, without the position in the log.
    fn execute(&self, command: Command) -> impl Future<Output = Result<Outcome, Error>> + Send {
        async { Ok(self.write(command).await?.outcome) }
    }

    /// Whether other nodes write to the same database.
    fn is_shared(&self) -> bool;

    /// How long ago the log up to position `known` was last known to be complete. A reader that
    /// knows no more than that may lack what others have written since.
    fn silence(&self, known: u64) -> Duration;

    /// The number of commands that wait to be written.
    fn queued(&self) -> usize;

    /// The position up to which [`Store::follow`] can return events at once.
    fn offered(&self) -> u64;

    /// Changes when the database turns out to have lost the end of the log, for example after a
    /// fail-over to a standby that lagged behind. Positions and events from before the change are
    /// invalid afterwards.
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

    /// The gates by which the next step of a run is judged: all pending ones, the last gate of each
    /// way to stop the run or to ask for a change, and the last one that people approved.
    fn gates_of_run(&self, run: &RunId) -> impl Future<Output = Result<Vec<Gate>, Error>> + Send;

    /// One question, with its text.
    fn question(&self, id: &QuestionId) -> impl Future<Output = Result<Option<QuestionView>, Error>> + Send;

    /// A page of questions: pending ones by priority, timeout and age, others newest first.
    fn questions(&self, query: QuestionQuery) -> impl Future<Output = Result<Page<QuestionView>, Error>> + Send;

    fn run(&self, id: &RunId) -> impl Future<Output = Result<Option<Run>, Error>> + Send;

    /// A page of runs, newest first.
    fn runs(&self, query: RunQuery) -> impl Future<Output = Result<Page<Run>, Error>> + Send;

    /// A page of a run's journal, in the order in which the entries began.
    fn journal(&self, query: JournalQuery) -> impl Future<Output = Result<Vec<JournalLine>, Error>> + Send;

    /// A page of run summaries, newest first.
    fn run_summaries(&self, query: RunSummaryQuery) -> impl Future<Output = Result<Page<RunSummary>, Error>> + Send;

    /// The records that match, without their texts.
    fn record_rows(&self, query: RecordQuery) -> impl Future<Output = Result<Vec<Record>, Error>> + Send;

    /// The records that match, with their texts, except for those that were erased.
    fn records(&self, query: RecordQuery) -> impl Future<Output = Result<Vec<RecordView>, Error>> + Send {
        async { rows::records::with_texts(self, self.record_rows(query).await?).await }
    }

    /// Creates each of these views, or replaces it if its definition has changed.
    fn create_views(&self, views: &'static [View]) -> impl Future<Output = Result<(), Error>> + Send;

    /// The ids of at most `limit` runs that have records but no row. They show that somebody has
    /// written to the database without the store.
    fn strays(&self, limit: u32) -> impl Future<Output = Result<Vec<String>, Error>> + Send;

    /// The next `limit` events after `after` of a run, of its gates and of its questions.
    fn events_of_run(
        &self,
        run: &RunId,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// At most `limit` runs of these workflows that a worker can claim, those that have waited
    /// longest first.
    fn ready(&self, workflows: &[WorkflowName], limit: u32) -> impl Future<Output = Result<Vec<RunId>, Error>> + Send;

    /// At most `limit` runs of these workflows whose node has died, and as many again that are
    /// stopped and whose parent is over.
    fn orphans(&self, workflows: &[WorkflowName], limit: u32)
    -> impl Future<Output = Result<Vec<RunId>, Error>> + Send;

    /// One halt, lifted or not.
    fn halt(&self, id: &HaltId) -> impl Future<Output = Result<Option<Halt>, Error>> + Send;

    /// All holds, and the position of the log for which they are correct.
    fn holds(&self) -> impl Future<Output = Result<(u64, Vec<Hold>), Error>> + Send;

    /// The bytes behind each digest that a gate or a question shows; `None` if they are unknown or
    /// were erased.
    fn contents(&self, digests: Vec<Digest>) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>, Error>> + Send;

    /// Like [`Store::contents`], but for what a run recorded. A bar does not apply to it: a run may
    /// record bytes that were erased from gates and questions before.
    fn recorded(&self, digests: Vec<Digest>) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>, Error>> + Send;

    /// The status of these contents, without the bytes. Contents that were never stored are left
    /// out.
    fn content_statuses(&self, digests: Vec<Digest>) -> impl Future<Output = Result<Vec<ContentStatus>, Error>> + Send;

    /// The id of a pending gate or question, or of a run that is not over, that needs this content;
    /// `None` if nothing needs it.
    fn needed_by(&self, digest: Digest) -> impl Future<Output = Result<Option<String>, Error>> + Send;

    /// All barred contents: they were erased, and no gate or question may show them again.
    fn barred(&self) -> impl Future<Output = Result<Vec<Digest>, Error>> + Send;

    /// The events of these streams, in the order of the log.
    fn streams(&self, streams: Vec<String>) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// The events that erased any of these contents because of their age.
    fn retirements(&self, digests: &[Digest]) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// Removes previously erased content from the database's files too, and returns whether that is
    /// done. It is not done yet if somebody still reads the old data. PostgreSQL removes it later,
    /// in its own time.
    fn scrub(&self) -> impl Future<Output = Result<bool, Error>> + Send;

    /// The next `limit` gates, questions, halts and runs by id after `after`, each row with all its
    /// events, in one snapshot. Includes those that have events but no row any more.
    fn histories(&self, after: &str, limit: u32) -> impl Future<Output = Result<Vec<History>, Error>> + Send;

    /// At most `limit` timers that are due at `until`, oldest first.
    fn due(&self, until: Timestamp, limit: u32) -> impl Future<Output = Result<Vec<Timer>, Error>> + Send;

    /// When the next timer is due.
    fn next_due(&self) -> impl Future<Output = Result<Option<Timestamp>, Error>> + Send;

    /// All tokens with the hashes of their secrets.
    fn tokens(&self) -> impl Future<Output = Result<Vec<(Token, [u8; 32])>, Error>> + Send;

    /// All webhooks, including removed ones.
    fn webhooks(&self) -> impl Future<Output = Result<Vec<Webhook>, Error>> + Send;

    fn delivery(&self, id: &DeliveryId) -> impl Future<Output = Result<Option<Delivery>, Error>> + Send;

    /// A page of deliveries, newest first.
    fn deliveries(&self, query: DeliveryQuery) -> impl Future<Output = Result<Page<Delivery>, Error>> + Send;

    /// At most `limit` channels with deliveries that wait or are being sent, sorted by name, after
    /// the channel `after`.
    fn waiting(&self, after: &str, limit: u32) -> impl Future<Output = Result<Vec<WaitingFor>, Error>> + Send;

    /// The number of deliveries in this state.
    fn count_deliveries(&self, status: DeliveryStatus) -> impl Future<Output = Result<u64, Error>> + Send;

    /// At most `limit` principals that have pending gates, or whose runs have, sorted by name.
    fn requesters(&self, limit: u32) -> impl Future<Output = Result<Vec<Name>, Error>> + Send;

    /// At most `limit` principals that have pending questions, or whose runs have, sorted by name.
    fn askers(&self, limit: u32) -> impl Future<Output = Result<Vec<Name>, Error>> + Send;

    /// The number of pending gates.
    fn pending(&self) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Deletes idempotency keys that were used before `before`.
    fn forget_keys(&self, before: Timestamp) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes at most `limit` deliveries that were delivered before `before`, and returns how many
    /// were deleted.
    fn forget_deliveries(&self, before: Timestamp, limit: u32) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Deletes at most `limit` records that expired by `before`, and returns how many were deleted.
    fn forget_records(&self, before: Timestamp, limit: u32) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Returns when nothing can be written any more, with the reason. The first failed sync stops
    /// the writer.
    fn stopped(&self) -> impl Future<Output = String> + Send;

    /// Finishes what was begun and closes the database, even if others still hold this store. The
    /// store cannot be used afterwards.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// The outcome of a command, and the end of the log after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteResult {
    pub outcome: Outcome,
    /// Everything that the command wrote is at this position or before it.
    pub position: u64,
    /// The number of commands in the same transaction, including this one.
    pub together: usize,
}

/// A row, and all its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The id of the gate, question or halt; for a run, `run:` and its id.
    pub stream: String,
    /// The row; `Err` if it cannot be read, `None` if there is none.
    pub row: Option<Result<AuditedRow, String>>,
    /// In the order of the log.
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
                // Boxed, so that the futures of both databases are compiled once, in this crate.
                // Otherwise every crate and function that awaits one compiles them again, which
                // made up a quarter of the binary.
                let answer: Pin<Box<dyn Future<Output = $output> + Send + '_>> = match self {
                    AnyStore::Sqlite(store) => Box::pin(store.$name($($arg),*)),
                    AnyStore::Postgres(store) => Box::pin(store.$name($($arg),*)),
                };
                answer.await
            })+
        }
    };
}

/// The store that was chosen when the server started.
#[derive(Debug)]
pub enum AnyStore {
    /// One file, embedded in this process.
    Sqlite(Sqlite),
    /// A database that several nodes can share.
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
