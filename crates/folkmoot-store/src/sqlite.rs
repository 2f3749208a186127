//! The store on SQLite: one file, one writer thread, and a few read-only connections.
//!
//! The writer takes all commands that were queued while the last commit was syncing, judges and
//! writes each, commits once, and only then answers. So an idle store answers after one sync, and a
//! busy one shares each sync among many commands.

pub(crate) mod backup;
mod checkpoint;
mod readers;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    thread::JoinHandle,
    time::Duration,
};

use folkmoot_core::{
    Command, Delivery, DeliveryId, Digest, Event, Gate, GateId, Halt, HaltId, Head, Hold, Name, QuestionId, Record,
    RecordQuery, Run, RunId, Timer, Timestamp, Webhook, WorkflowName, audit::AuditedRow, delivery::DeliveryStatus,
    erase::ContentStatus, record::View, run::RunSummary, token::Token,
};
use rusqlite::{Connection, OpenFlags, ToSql, ffi, types::ToSqlOutput};
use tokio::sync::{mpsc, oneshot, watch};

use self::{readers::Readers, writer::SqliteJob};
use crate::{
    Clock, DeliveryQuery, Error, GateQuery, GateView, History, JournalLine, JournalQuery, Page, QUEUE, QuestionQuery,
    QuestionView, RunQuery, RunSummaryQuery, Store, WaitingFor, WriteResult, migrate, query,
    recent::{EventsAfter, Recent},
    rows::{self, Columns, Value},
};

/// How many events [`Store::follow`] reads at once for a follower that has fallen behind.
const CATCH_UP: u32 = 1000;
/// The error of a closed store.
const CLOSED: &str = "it was closed";
/// How long one connection waits for another's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Observes each command before it is judged and after it is durable, for tests of what a crash
/// leaves behind. Returning `false` simulates the death of the process: the caller never learns
/// what became of the command.
pub trait Witness: Send + Sync + std::fmt::Debug {
    /// Called before `command` is judged.
    fn before(&self, command: &Command) -> bool;
    /// Called when the result of `command` is durable.
    fn after(&self, command: &Command) -> bool;
    /// Whether the caller receives the result. Otherwise the caller lives on without knowing it, as
    /// when the connection to a database is lost during a commit.
    fn tells(&self, _command: &Command) -> bool {
        true
    }
}

/// A store in one SQLite file, or in memory.
#[derive(Debug)]
pub struct Sqlite {
    /// `None` once the store is closed.
    jobs: RwLock<Option<Jobs>>,
    witness: Option<Arc<dyn Witness>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    readers: Readers,
    recent: Arc<Recent>,
    clock: Arc<dyn Clock>,
    stopped: watch::Receiver<Option<String>>,
}

/// Where commands are sent.
#[derive(Debug)]
enum Jobs {
    /// To the thread of the writer.
    Queue(mpsc::Sender<SqliteJob>),
    /// To the writer itself, which answers before the next command is taken.
    Memory(Arc<Mutex<writer::SqliteWriter>>),
}

impl Sqlite {
    /// Opens a database in memory. It is gone when the last store on it is dropped. Every command
    /// is executed in the calling thread and is done on return, so that a seeded simulation is
    /// deterministic.
    pub fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(Path::new(":memory:"), flags)?;
        migrate(&connection)?;
        let head = head(&connection)?;
        let recent = Arc::new(Recent::starting_at(head));
        let (stop, stopped) = watch::channel(None);
        let writer = writer::SqliteWriter::new(connection, head, recent.clone(), clock.clone(), stop, None)?;
        Ok(Self::on_writer(Arc::new(Mutex::new(writer)), recent, clock, stopped))
    }

    /// Another store on the same database in memory, as if the process had restarted. `None` if
    /// this store is in a file or closed.
    pub fn again(&self) -> Option<Self> {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Jobs::Memory(writer)) = jobs.as_ref() else { return None };
        Some(Self::on_writer(writer.clone(), self.recent.clone(), self.clock.clone(), self.stopped.clone()))
    }

    fn on_writer(
        writer: Arc<Mutex<writer::SqliteWriter>>,
        recent: Arc<Recent>,
        clock: Arc<dyn Clock>,
        stopped: watch::Receiver<Option<String>>,
    ) -> Self {
        Self {
            jobs: RwLock::new(Some(Jobs::Memory(writer.clone()))),
            witness: None,
            threads: Mutex::default(),
            readers: Readers::Memory(writer),
            recent,
            clock,
            stopped,
        }
    }

    /// The same store with a witness that observes each command.
    #[must_use]
    pub fn witnessed(self, witness: Arc<dyn Witness>) -> Self {
        let mut store = self;
        store.witness = Some(witness);
        store
    }

    /// Opens the file, and creates or migrates it if necessary. The caller must hold the lock on
    /// its folder, because there may be only one writer.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        // SQLite up to 3.51.2 can corrupt a database when its log is reset under load.
        if rusqlite::version_number() < 3_051_003 {
            return Err(Error::Schema(format!("SQLite {} is too old; 3.51.3 is needed", rusqlite::version())));
        }
        // A process that was killed before the database had a write-ahead log leaves such a
        // journal. Only a writer can undo what was half written, and until then the file cannot
        // even be read.
        let mut journal = path.as_os_str().to_owned();
        journal.push("-journal");
        if path.exists() && !Path::new(&journal).exists() {
            // Refuses a file of a newer version without changing a byte.
            migrate::missing(&taken(&connect_to_read(path)?)?)?;
        }
        keep_private(path)?;
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        migrate(&connection)?;
        if let Some(last) = last_event(&connection)? {
            clock.not_before(last);
        }
        let head = head(&connection)?;
        let recent = Arc::new(Recent::starting_at(head));
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (stop, stopped) = watch::channel(None);
        let (checkpointer, checkpoints) = checkpoint::Checkpointer::start(path, stop.clone())?;
        let writer =
            writer::SqliteWriter::new(connection, head, recent.clone(), clock.clone(), stop, Some(checkpointer))?;
        let writer = std::thread::Builder::new()
            .name("folkmoot-writer".to_owned())
            .spawn(move || writer.run(queue))
            .map_err(|error| Error::Database(format!("the writer thread does not start: {error}")))?;
        let readers = Readers::Pool(readers::Pool::new(PathBuf::from(path))?);
        Ok(Self {
            jobs: RwLock::new(Some(Jobs::Queue(jobs))),
            witness: None,
            threads: Mutex::new(vec![writer, checkpoints]),
            readers,
            recent,
            clock,
            stopped,
        })
    }

    /// Opens a file that nobody writes to, such as a backup, for reading only. The file is not
    /// changed, and its schema must be the newest.
    pub fn open_to_read(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let connection = connect_to_read(path)?;
        let schema = crate::backup::schema_of(&connection, path)?;
        if schema != migrate::newest() {
            return Err(Error::Schema(format!("{} has schema {schema} and must be migrated first", path.display())));
        }
        let recent = Arc::new(Recent::starting_at(head(&connection)?));
        drop(connection);
        let (_, stopped) = watch::channel(None);
        Ok(Self {
            jobs: RwLock::new(None),
            witness: None,
            threads: Mutex::default(),
            readers: Readers::Pool(readers::Pool::new(PathBuf::from(path))?),
            recent,
            clock,
            stopped,
        })
    }

    async fn submit<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> SqliteJob) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        match self.jobs.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(Jobs::Queue(jobs)) => match jobs.try_send(job(reply)) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(_)) => return Err(Error::Busy),
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(self.why_stopped()),
            },
            Some(Jobs::Memory(writer)) => {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer.commit(&mut vec![job(reply)]).map_err(Error::Stopped)?;
            }
            None => return Err(self.why_stopped()),
        }
        answer.await.unwrap_or_else(|_| Err(self.why_stopped()))
    }

    /// Accepts no more commands. The threads end when they have written the accepted ones.
    fn end_threads(&self) -> Vec<JoinHandle<()>> {
        *self.jobs.write().unwrap_or_else(PoisonError::into_inner) = None;
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn why_stopped(&self) -> Error {
        Error::Stopped(self.stopped.borrow().clone().unwrap_or_else(|| CLOSED.to_owned()))
    }
}

/// Waits for the accepted commands, so that the file is closed when this returns. The readers close
/// first: if the last connection can write, it moves the write-ahead log into the database, and one
/// file is left.
impl Drop for Sqlite {
    fn drop(&mut self) {
        self.readers.close();
        join(self.end_threads());
    }
}

impl Store for Sqlite {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn silence(&self, _known: u64) -> Duration {
        // Only this process writes to the file, so this node knows everything that was written.
        if self.stopped.borrow().is_some() { Duration::MAX } else { Duration::ZERO }
    }

    fn queued(&self) -> usize {
        match self.jobs.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(Jobs::Queue(queue)) => queue.max_capacity() - queue.capacity(),
            Some(Jobs::Memory(_)) | None => 0,
        }
    }

    fn epoch(&self) -> watch::Receiver<u64> {
        self.recent.epoch()
    }

    fn offered(&self) -> u64 {
        self.recent.last()
    }

    async fn write(&self, command: Command) -> Result<WriteResult, Error> {
        let Some(witness) = &self.witness else {
            return self.submit(|reply| SqliteJob::Execute(Box::new(command), reply)).await;
        };
        if !witness.before(&command) {
            return std::future::pending().await;
        }
        let written = self.submit(|reply| SqliteJob::Execute(Box::new(command.clone()), reply)).await;
        if !witness.after(&command) {
            return std::future::pending().await;
        }
        if witness.tells(&command) { written } else { Err(Error::OutcomeUnknown) }
    }

    async fn follow(&self, after: u64) -> Result<Vec<Arc<Event>>, Error> {
        loop {
            match self.recent.after(after) {
                EventsAfter::Events(events) => return Ok(events),
                EventsAfter::Forgotten => return crate::recent::caught_up(self.events(after, CATCH_UP).await?),
                EventsAfter::Nothing => self.recent.grown_past(after).await,
            }
        }
    }

    async fn events(&self, after: u64, limit: u32) -> Result<Vec<Event>, Error> {
        let sql = format!("SELECT {} FROM events WHERE position > ?1 ORDER BY position LIMIT ?2", rows::EVENTS.names());
        let arguments = vec![Value::Int(rows::int(after)), Value::Int(limit.into())];
        self.readers.read(move |connection| all(connection, &sql, &arguments, rows::read_event)).await
    }

    async fn head(&self) -> Result<Head, Error> {
        self.readers.read(head).await
    }

    async fn gate(&self, id: &GateId) -> Result<Option<GateView>, Error> {
        let id = id.clone();
        self.readers
            .read(move |connection| {
                let sql = format!("{} WHERE id = ?1", rows::select_gates(false));
                Ok(all(connection, &sql, &[Value::Text(id.as_str().into())], rows::read_view)?.pop())
            })
            .await
    }

    async fn gates(&self, query: GateQuery) -> Result<Page<GateView>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query.sql()?;
                Ok(query.page(all(connection, &sql, &arguments, rows::read_view)?))
            })
            .await
    }

    async fn gates_of_run(&self, run: &RunId) -> Result<Vec<Gate>, Error> {
        let run = run.clone();
        self.readers
            .read(move |connection| {
                let key = [Value::Text(run.as_str().into())];
                all(connection, &rows::select_gates_of("?1"), &key, rows::read_gate)
            })
            .await
    }

    async fn question(&self, id: &QuestionId) -> Result<Option<QuestionView>, Error> {
        let id = id.clone();
        self.readers
            .read(move |connection| {
                let sql = format!("{} WHERE id = ?1", rows::select_questions(false));
                Ok(all(connection, &sql, &[Value::Text(id.as_str().into())], rows::read_question_view)?.pop())
            })
            .await
    }

    async fn questions(&self, query: QuestionQuery) -> Result<Page<QuestionView>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query.sql()?;
                Ok(query.page(all(connection, &sql, &arguments, rows::read_question_view)?))
            })
            .await
    }

    async fn run(&self, id: &RunId) -> Result<Option<Run>, Error> {
        let id = id.clone();
        self.readers
            .read(move |connection| {
                let sql = format!("{} WHERE id = ?1", rows::select_runs());
                Ok(all(connection, &sql, &[Value::Text(id.as_str().into())], rows::read_run)?.pop())
            })
            .await
    }

    async fn runs(&self, query: RunQuery) -> Result<Page<Run>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query.sql()?;
                Ok(query.page(all(connection, &sql, &arguments, rows::read_run)?))
            })
            .await
    }

    async fn journal(&self, query: JournalQuery) -> Result<Vec<JournalLine>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query.sql();
                all(connection, &sql, &arguments, rows::read_line)
            })
            .await
    }

    async fn run_summaries(&self, query: RunSummaryQuery) -> Result<Page<RunSummary>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query.sql()?;
                Ok(query.page(all(connection, &sql, &arguments, rows::records::read_summary)?))
            })
            .await
    }

    async fn record_rows(&self, query: RecordQuery) -> Result<Vec<Record>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query::records::sql(&query);
                all(connection, &sql, &arguments, rows::records::read_record)
            })
            .await
    }

    async fn create_views(&self, views: &'static [View]) -> Result<(), Error> {
        self.submit(|reply| SqliteJob::CreateViews(views, reply)).await
    }

    async fn strays(&self, limit: u32) -> Result<Vec<String>, Error> {
        let limit = [Value::Int(limit.into())];
        let read = move |connection: &Connection| all(connection, query::records::STRAYS, &limit, |row| row.text(0));
        self.readers.read(read).await
    }

    async fn events_of_run(&self, run: &RunId, after: u64, limit: u32) -> Result<Vec<Event>, Error> {
        let run = run.clone();
        self.readers
            .read(move |connection| {
                all(connection, &query::of_run(), &query::of_run_arguments(&run, after, limit), rows::read_event)
            })
            .await
    }

    async fn ready(&self, workflows: &[WorkflowName], limit: u32) -> Result<Vec<RunId>, Error> {
        let workflows = workflows.to_vec();
        self.readers
            .read(move |connection| {
                let arguments = query::of_workflows(vec![Value::Int(limit.into())], &workflows);
                all(connection, &query::ready(workflows.len()), &arguments, |row| rows::parse(&row.text(0)?))
            })
            .await
    }

    async fn orphans(&self, workflows: &[WorkflowName], limit: u32) -> Result<Vec<RunId>, Error> {
        let (workflows, now) = (workflows.to_vec(), self.now());
        self.readers
            .read(move |connection| {
                let first = vec![Value::Int(limit.into()), Value::Int(now.as_micros())];
                let arguments = query::of_workflows(first, &workflows);
                all(connection, &query::orphans(workflows.len()), &arguments, |row| rows::parse(&row.text(0)?))
            })
            .await
    }

    async fn halt(&self, id: &HaltId) -> Result<Option<Halt>, Error> {
        let id = id.clone();
        self.readers
            .read(move |connection| {
                let sql = format!("SELECT {} FROM halts WHERE id = ?1", rows::HALTS.names());
                Ok(all(connection, &sql, &[Value::Text(id.as_str().into())], rows::read_halt)?.pop())
            })
            .await
    }

    async fn holds(&self) -> Result<(u64, Vec<Hold>), Error> {
        self.readers.read(holds).await
    }

    async fn contents(&self, digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.readers.read(move |connection| contents(connection, query::SHOWN, &digests)).await
    }

    async fn recorded(&self, digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.readers.read(move |connection| contents(connection, query::RECORDED, &digests)).await
    }

    async fn content_statuses(&self, digests: Vec<Digest>) -> Result<Vec<ContentStatus>, Error> {
        self.readers.read(move |connection| content_statuses(connection, &digests)).await
    }

    async fn needed_by(&self, digest: Digest) -> Result<Option<String>, Error> {
        let needed = move |connection: &Connection| {
            all(connection, query::NEEDED_BY, &[Value::Text(digest.to_string().into())], |row| row.text(0))
        };
        Ok(self.readers.read(needed).await?.pop())
    }

    async fn barred(&self) -> Result<Vec<Digest>, Error> {
        let barred = |connection: &Connection| all(connection, query::BARRED, &[], |row| rows::parse(&row.text(0)?));
        self.readers.read(barred).await
    }

    async fn streams(&self, streams: Vec<String>) -> Result<Vec<Event>, Error> {
        let read = move |connection: &Connection| {
            let snapshot = connection.unchecked_transaction().map_err(failed)?;
            let sql = format!("SELECT {} FROM events WHERE stream = ?1", rows::EVENTS.names());
            let mut events = Vec::new();
            for stream in &streams {
                events.extend(all(&snapshot, &sql, &[Value::Text(stream.into())], rows::read_event)?);
            }
            Ok(query::each_once(events))
        };
        self.readers.read(read).await
    }

    async fn retirements(&self, digests: &[Digest]) -> Result<Vec<Event>, Error> {
        let digests = digests.to_vec();
        let read = move |connection: &Connection| {
            let mut events = Vec::new();
            for digest in digests {
                let digest = [Value::Text(digest.to_string().into())];
                events.extend(all(connection, &query::retirements(), &digest, rows::read_event)?);
            }
            Ok(query::each_once(events))
        };
        self.readers.read(read).await
    }

    async fn scrub(&self) -> Result<bool, Error> {
        self.submit(SqliteJob::Scrub).await
    }

    async fn forget_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.submit(|reply| SqliteJob::Forget(rows::FORGET_DELIVERIES, before, limit, reply)).await
    }

    async fn forget_records(&self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.submit(|reply| SqliteJob::Forget(query::records::FORGET, before, limit, reply)).await
    }

    async fn histories(&self, after: &str, limit: u32) -> Result<Vec<History>, Error> {
        let after = after.to_owned();
        self.readers.read(move |connection| histories(connection, &after, limit)).await
    }

    async fn due(&self, until: Timestamp, limit: u32) -> Result<Vec<Timer>, Error> {
        let arguments = vec![Value::Int(until.as_micros()), Value::Int(limit.into())];
        let sql = "SELECT subject, kind, due FROM timers WHERE due <= ?1 ORDER BY due LIMIT ?2";
        self.readers.read(move |connection| all(connection, sql, &arguments, rows::read_timer)).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Error> {
        let next =
            |connection: &Connection| all(connection, "SELECT min(due) FROM timers", &[], |row| row.maybe_int(0));
        let found = self.readers.read(next).await?;
        Ok(found.into_iter().flatten().next().map(Timestamp::from_micros))
    }

    async fn tokens(&self) -> Result<Vec<(Token, [u8; 32])>, Error> {
        let sql = format!("SELECT {} FROM tokens ORDER BY created_at, id", rows::TOKENS.names());
        let read = |row: &dyn Columns| Ok((rows::read_token(row)?, rows::read_token_hash(row)?));
        self.readers.read(move |connection| all(connection, &sql, &[], read)).await
    }

    async fn webhooks(&self) -> Result<Vec<Webhook>, Error> {
        let sql = format!("SELECT {} FROM webhooks ORDER BY created_at, id", rows::WEBHOOKS.names());
        self.readers.read(move |connection| all(connection, &sql, &[], rows::read_webhook)).await
    }

    async fn delivery(&self, id: &DeliveryId) -> Result<Option<Delivery>, Error> {
        let id = id.clone();
        self.readers
            .read(move |connection| {
                let sql = format!("{} WHERE id = ?1", rows::select_deliveries());
                Ok(all(connection, &sql, &[Value::Text(id.as_str().into())], rows::read_delivery)?.pop())
            })
            .await
    }

    async fn deliveries(&self, query: DeliveryQuery) -> Result<Page<Delivery>, Error> {
        self.readers
            .read(move |connection| {
                let (sql, arguments) = query.sql()?;
                Ok(query.page(all(connection, &sql, &arguments, rows::read_delivery)?))
            })
            .await
    }

    async fn waiting(&self, after: &str, limit: u32) -> Result<Vec<WaitingFor>, Error> {
        let arguments = [Value::Int(limit.into()), Value::Text(after.to_owned().into())];
        let read = move |connection: &Connection| all(connection, query::WAITING, &arguments, query::read_waiting);
        self.readers.read(read).await
    }

    async fn count_deliveries(&self, status: DeliveryStatus) -> Result<u64, Error> {
        let count = [Value::Text(status.word().into())];
        let read = move |connection: &Connection| all(connection, query::COUNT_DELIVERIES, &count, |row| row.int(0));
        rows::position(self.readers.read(read).await?.into_iter().next().unwrap_or(0))
    }

    async fn requesters(&self, limit: u32) -> Result<Vec<Name>, Error> {
        let arguments = [Value::Int(limit.into())];
        let name = |row: &dyn Columns| rows::parse(&row.text(0)?);
        self.readers.read(move |connection| all(connection, query::REQUESTERS, &arguments, name)).await
    }

    async fn askers(&self, limit: u32) -> Result<Vec<Name>, Error> {
        let arguments = [Value::Int(limit.into())];
        let name = |row: &dyn Columns| rows::parse(&row.text(0)?);
        self.readers.read(move |connection| all(connection, query::ASKERS, &arguments, name)).await
    }

    async fn pending(&self) -> Result<u64, Error> {
        let sql = "SELECT count(*) FROM gates WHERE status = 'pending'";
        let found = self.readers.read(move |connection| all(connection, sql, &[], |row| row.int(0))).await?;
        rows::position(found.into_iter().next().unwrap_or(0))
    }

    async fn forget_keys(&self, before: Timestamp) -> Result<(), Error> {
        self.submit(|reply| SqliteJob::ForgetKeys(before, reply)).await
    }

    async fn stopped(&self) -> String {
        let mut stopped = self.stopped.clone();
        let reason = stopped.wait_for(Option::is_some).await.map(|reason| reason.clone());
        match reason {
            Ok(reason) => reason.unwrap_or_default(),
            // The writer has ended because the store is being closed. That is not a failure.
            Err(_) => std::future::pending().await,
        }
    }

    async fn close(&self) {
        self.readers.finish().await;
        let threads = self.end_threads();
        if let Err(error) = tokio::task::spawn_blocking(|| join(threads)).await {
            tracing::error!("the database may not be closed: {error}");
        }
    }
}

/// Creates the database file, or changes the mode of an existing one, so that only its owner can
/// read it. SQLite gives its companion files the same mode.
fn keep_private(path: &Path) -> Result<(), Error> {
    const OWNER_ONLY: u32 = 0o600;
    let failed = |path: &Path, error: io::Error| Error::Database(format!("cannot open {}: {error}", path.display()));
    let created = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path);
    match created {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(path, error)),
        Err(_) => {}
    }
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        let file = Path::new(&file);
        match fs::metadata(file) {
            Ok(found) if found.permissions().mode() & 0o077 != 0 => {
                fs::set_permissions(file, fs::Permissions::from_mode(OWNER_ONLY))
                    .map_err(|error| failed(file, error))?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(file, error)),
        }
    }
    Ok(())
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A thread that panicked needs no handling here: its callers have got an error.
        let _ = thread.join();
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection = connect_bare(path, flags)?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
             PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;",
        )
        .map_err(failed)?;
    Ok(connection)
}

/// A read-only connection, which leaves the file as it is.
pub(crate) fn connect_to_read(path: &Path) -> Result<Connection, Error> {
    connect_bare(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

pub(crate) fn connect_bare(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| Error::Database(format!("cannot open {}: {error}", path.display())))?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.busy_timeout(LOCK_TIMEOUT).map_err(failed)?;
    Ok(connection)
}

/// Lets SQLite check the integrity of the file. `quick_check` omits the slowest part: whether
/// indexes agree with tables.
pub(crate) fn check_integrity(connection: &Connection, pragma: &str) -> Result<(), Error> {
    let found = all(connection, &format!("PRAGMA {pragma}(10)"), &[], |row| row.text(0))?;
    match found.as_slice() {
        [ok] if ok == "ok" => Ok(()),
        problems => Err(Error::Unreadable(format!("SQLite finds the file damaged: {}", problems.join("; ")))),
    }
}

/// The version and checksum of the migrations that were applied; empty if there is no such table.
pub(crate) fn taken(connection: &Connection) -> Result<Vec<(i64, String)>, Error> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'";
    if all(connection, sql, &[], |row| row.int(0))?.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT version, checksum FROM migrations ORDER BY version";
    all(connection, sql, &[], |row| Ok((row.int(0)?, row.text(1)?)))
}

fn migrate(connection: &Connection) -> Result<(), Error> {
    take_steps(connection, migrate::missing(&taken(connection)?)?)
}

/// Applies migrations, each in its own transaction.
pub(crate) fn take_steps(connection: &Connection, steps: &[migrate::Migration]) -> Result<(), Error> {
    connection.execute_batch(migrate::TABLE).map_err(failed)?;
    for step in steps {
        let transaction = connection.unchecked_transaction().map_err(failed)?;
        transaction.execute_batch(step.sql).map_err(failed)?;
        let taken = "INSERT INTO migrations (version, name, checksum) VALUES (?1, ?2, ?3)";
        transaction.execute(taken, (step.version, step.name, step.checksum())).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

pub(crate) fn head(connection: &Connection) -> Result<Head, Error> {
    let sql = "SELECT position, hash FROM head WHERE log = 'main'";
    let read =
        |row: &dyn Columns| Ok(Head { position: rows::position(row.int(0)?)?, hash: rows::parse(&row.text(1)?)? });
    all(connection, sql, &[], read)?.pop().ok_or_else(|| Error::Unreadable("the log has no head".to_owned()))
}

/// The time of the last event.
fn last_event(connection: &Connection) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT at FROM events ORDER BY position DESC LIMIT 1";
    Ok(all(connection, sql, &[], |row| Ok(Timestamp::from_micros(row.int(0)?)))?.pop())
}

fn contents(connection: &Connection, sql: &str, digests: &[Digest]) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let one = |digest: &Digest| {
        let found = all(connection, sql, &[Value::Text(digest.to_string().into())], |row| row.maybe_bytes(0));
        Ok(found?.pop().flatten())
    };
    digests.iter().map(one).collect()
}

fn content_statuses(connection: &Connection, digests: &[Digest]) -> Result<Vec<ContentStatus>, Error> {
    let sql = format!("{} WHERE digest = ?1", rows::SELECT_CONTENT_STATUS);
    let one =
        |digest: &Digest| all(connection, &sql, &[Value::Text(digest.to_string().into())], rows::read_content_status);
    let found = digests.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

fn holds(connection: &Connection) -> Result<(u64, Vec<Hold>), Error> {
    // One snapshot for all statements. Otherwise a commit between them would be missed or counted
    // twice.
    let snapshot = connection.unchecked_transaction().map_err(failed)?;
    let position = head(&snapshot)?.position;
    let sql = format!("SELECT {} FROM questions WHERE {}", rows::QUESTIONS.names(), query::HOLDING);
    let mut holds = all(&snapshot, &sql, &[], |row| Ok(rows::read_question(row)?.hold()))?;
    let sql = format!("SELECT {} FROM halts WHERE {}", rows::HALTS.names(), query::STANDING);
    holds.extend(all(&snapshot, &sql, &[], |row| Ok(rows::read_halt(row)?.hold()))?);
    Ok((position, holds.into_iter().flatten().collect()))
}

fn histories(connection: &Connection, after: &str, limit: u32) -> Result<Vec<History>, Error> {
    // One snapshot for all statements. Otherwise a row could seem to disagree with the log because
    // of a commit between them.
    let snapshot = connection.unchecked_transaction().map_err(failed)?;
    let arguments = [Value::Text(after.into()), Value::Int(limit.into()), Value::Text(query::runs_after(after).into())];
    let streams = all(&snapshot, query::STREAMS, &arguments, |row| row.text(0))?;
    streams
        .into_iter()
        .map(|stream| {
            let id = [Value::Text(stream.as_str().into())];
            let sql = format!("SELECT {} FROM events WHERE stream = ?1 ORDER BY stream_seq", rows::EVENTS.names());
            let events = all(&snapshot, &sql, &id, rows::read_event)?;
            let run = stream.strip_prefix("run:");
            let mut row = None;
            for (table, read) in rows::FOLDED {
                let id = if table.name == rows::RUNS.name { run } else { Some(stream.as_str()) };
                let Some(id) = id.map(|id| [Value::Text(id.into())]) else { continue };
                let sql = format!("SELECT {} FROM {} WHERE id = ?1", table.names(), table.name);
                row = row.or(all(&snapshot, &sql, &id, |row| Ok(read(row).map_err(|e| e.to_string())))?.pop());
            }
            if let (Some(Ok(AuditedRow::Run(_, journal, notes))), Some(run)) = (&mut row, run) {
                let run = [Value::Text(run.into())];
                let sql = format!("SELECT {} FROM journal WHERE run_id = ?1 ORDER BY key", rows::JOURNAL.names());
                let read = |row: &dyn Columns| Ok(rows::read_entry(row).map_err(|error| error.to_string()));
                let lines: Result<Vec<_>, String> = all(&snapshot, &sql, &run, read)?.into_iter().collect();
                let sql = format!("SELECT {} FROM records WHERE run_id = ?1", rows::records::TABLE.names());
                let read = |row: &dyn Columns| {
                    Ok(rows::records::read_record(row).map(|row| row.note()).map_err(|error| error.to_string()))
                };
                let kept = all(&snapshot, &sql, &run, read)?;
                match lines.and_then(|lines| Ok((lines, kept.into_iter().collect::<Result<Vec<_>, _>>()?))) {
                    Ok((lines, kept)) => (*journal, *notes) = (lines, rows::records::in_order(kept)),
                    Err(unreadable) => row = Some(Err(unreadable)),
                }
            }
            Ok(History { stream, row, events })
        })
        .collect()
}

pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    arguments: &[Value<'_>],
    read: impl Fn(&dyn Columns) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut found = statement.query(rusqlite::params_from_iter(arguments)).map_err(failed)?;
    let mut items = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        items.push(read(row)?);
    }
    Ok(items)
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Value::Text(text) => text.as_ref().to_sql(),
            Value::MaybeText(text) => text.as_deref().map_or(Ok(ToSqlOutput::from(rusqlite::types::Null)), str::to_sql),
            Value::Int(n) => n.to_sql(),
            Value::MaybeInt(n) => n.to_sql(),
            Value::Bytes(bytes) => bytes.as_ref().to_sql(),
        }
    }
}

impl Columns for rusqlite::Row<'_> {
    fn maybe_text(&self, n: usize) -> Result<Option<String>, Error> {
        self.get(n).map_err(failed)
    }
    fn maybe_int(&self, n: usize) -> Result<Option<i64>, Error> {
        self.get(n).map_err(failed)
    }
    fn maybe_bytes(&self, n: usize) -> Result<Option<Vec<u8>>, Error> {
        self.get(n).map_err(failed)
    }
}

/// Translates an error of SQLite.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    let Some(code) = error.sqlite_error().map(|error| error.extended_code) else {
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => Error::Unreadable(error.to_string()),
            error => Error::Database(error.to_string()),
        };
    };
    match code {
        // After a failed sync, data may be lost even if a second sync succeeds. So nothing is
        // acknowledged any more.
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => Error::Stopped(format!("a sync failed: {error}")),
        code if code & 0xff == ffi::SQLITE_FULL => Error::Full,
        code if code & 0xff == ffi::SQLITE_IOERR || code & 0xff == ffi::SQLITE_READONLY => {
            Error::Unavailable(error.to_string())
        }
        code if code & 0xff == ffi::SQLITE_CORRUPT || code & 0xff == ffi::SQLITE_NOTADB => {
            Error::Unreadable(error.to_string())
        }
        _ => Error::Database(error.to_string()),
    }
}
