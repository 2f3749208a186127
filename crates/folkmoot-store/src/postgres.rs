//! The store on PostgreSQL, which several nodes can share.
//!
//! Each node queues its commands and writes them in batches, one transaction each. Each transaction
//! first locks the head of the log, so that positions have no gaps and become visible in order.
//! `NOTIFY` is only a hint: a node learns of events only by reading the log.

pub(crate) mod backup;
mod batch;
pub(crate) mod health;
mod listener;
mod recent_looks;
mod statements;
mod tls;
mod warnings;
mod writer;

use std::{
    error::Error as _,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use folkmoot_core::{
    Command, Delivery, DeliveryId, Digest, Event, Gate, GateId, Halt, HaltId, Head, Hold, Name, QuestionId, Record,
    RecordQuery, Run, RunId, Timer, Timestamp, Webhook, WorkflowName, audit::AuditedRow, delivery::DeliveryStatus,
    erase::ContentStatus, record::View, run::RunSummary, token::Token,
};
use recent_looks::RecentLooks;
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinHandle,
    time::{error::Elapsed, timeout},
};
use tokio_postgres::{
    Client, Config, Row, Transaction,
    error::SqlState,
    types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

use self::{tls::TlsConnector, writer::PostgresJob};
use crate::{
    Clock, DeliveryQuery, Error, GateQuery, GateView, History, JournalLine, JournalQuery, Page, QUEUE, QuestionQuery,
    QuestionView, RunQuery, RunSummaryQuery, Store, SystemClock, WaitingFor, WriteResult, migrate, query,
    recent::{EventsAfter, Recent},
    rows::{self, Columns, Value},
};

/// The number of connections with which a node reads.
const READERS: usize = 8;
/// How long a node waits for a connection before it considers the database unreachable.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a query may take before the database is considered lost.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// PostgreSQL keeps the plan of a prepared statement. A plan that is made while a table is small
/// would scan the whole table, and still do so when it has a million rows. So scans are off: every
/// query has an index.
const PLANS: &str = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off";
/// How many events are read at once for a follower that has fallen behind.
const CATCH_UP: u32 = 1000;

/// Keeps two processes from creating or filling the tables at the same time.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7032600112)";

/// Selects the end of the log.
const SELECT_HEAD: &str = "SELECT position, hash FROM head WHERE log = 'main'";

/// The database's clock, in microseconds since 1970.
const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// A store in a PostgreSQL database, shared with other nodes.
#[derive(Debug)]
pub struct Postgres {
    jobs: mpsc::Sender<PostgresJob>,
    pool: Pool,
    recent: Arc<Recent>,
    time: Arc<Time>,
    heard: Arc<RecentLooks>,
    /// Tells the listener that the log contains more than this node knows, or something else.
    gap: Arc<Notify>,
    tasks: Vec<JoinHandle<()>>,
}

/// The database's clock as this node last read it, or an injected clock.
#[derive(Debug)]
struct Time {
    injected: Option<Arc<dyn Clock>>,
    ahead_micros: AtomicI64,
}

impl Time {
    fn now(&self) -> Timestamp {
        let clock: &dyn Clock = self.injected.as_deref().unwrap_or(&SystemClock);
        Timestamp::from_micros(clock.now().as_micros() + self.ahead_micros.load(Ordering::Relaxed))
    }

    /// Records what the database's clock says.
    fn learn(&self, database_micros: i64) {
        if self.injected.is_none() {
            let ahead = database_micros - SystemClock.now().as_micros();
            self.ahead_micros.store(ahead, Ordering::Relaxed);
        }
    }

    /// The time at which a batch is judged, given the database's clock.
    fn of_batch(&self, database_micros: i64) -> Timestamp {
        self.learn(database_micros);
        match &self.injected {
            Some(clock) => clock.now(),
            None => Timestamp::from_micros(database_micros),
        }
    }
}

impl Postgres {
    /// Opens the database that `url` names (a URL or `key=value` pairs), and creates or migrates
    /// the tables if necessary. Without `clock`, the database's clock is used.
    pub async fn open(url: &str, clock: Option<Arc<dyn Clock>>) -> Result<Self, Error> {
        let config = config(url)?;
        let tls = tls::connector()?;
        let pool = pool(&config, &tls)?;
        must_keep_statements(&config, &tls).await?;
        migrate(&config, &tls).await?;
        let time = Arc::new(Time { injected: clock, ahead_micros: AtomicI64::new(0) });
        time.learn(clock_of(&pool).await?);
        let recent = Arc::new(Recent::starting_at(head(&pool).await?));
        let (hint, gap) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (jobs, queue) = mpsc::channel(QUEUE);
        let writer = writer::PostgresWriter::new(
            config.clone(),
            tls.clone(),
            recent.clone(),
            time.clone(),
            hint.clone(),
            gap.clone(),
        );
        let heard = Arc::new(RecentLooks::starting_at(recent.last(), Instant::now()));
        let (known, time_known, heard_by) = (recent.clone(), time.clone(), heard.clone());
        let look = gap.clone();
        let listener =
            listener::PostgresListener { config, tls, recent: known, time: time_known, heard: heard_by, hint, gap };
        let tasks = vec![tokio::spawn(writer.run(queue)), tokio::spawn(listener.run())];
        Ok(Self { jobs, pool, recent, time, heard, gap: look, tasks })
    }

    async fn contents_by(&self, sql: &str, digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let mut contents = Vec::with_capacity(digests.len());
        for digest in digests {
            let found = self.all(sql, &[Value::Text(digest.to_string().into())], |row| row.maybe_bytes(0)).await?;
            contents.push(found.into_iter().next().flatten());
        }
        Ok(contents)
    }

    /// Deletes at most `limit` rows that were over before `before`, with the statement `sql`.
    async fn forget(&self, sql: &str, before: Timestamp, limit: u32) -> Result<u64, Error> {
        let arguments = [Value::Int(before.as_micros()), Value::Int(limit.into())];
        Ok(self.all(&format!("{sql} RETURNING id"), &arguments, |_| Ok(())).await?.len() as u64)
    }

    async fn all<T>(
        &self,
        sql: &str,
        arguments: &[Value<'_>],
        read: impl Fn(&dyn Columns) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let client = self.pool.get().await.map_err(unreachable)?;
        let arguments: Vec<&(dyn ToSql + Sync)> = arguments.iter().map(|value| value as _).collect();
        let asked = timeout(READ_TIMEOUT, async {
            let statement = client.prepare_cached(&dollars(sql)).await?;
            client.query(&statement, &arguments).await
        });
        let found = asked.await;
        answered(client, found)?.iter().map(|row| read(row)).collect()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Store for Postgres {
    fn now(&self) -> Timestamp {
        self.time.now()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn silence(&self, known: u64) -> Duration {
        self.heard.silence(known)
    }

    fn queued(&self) -> usize {
        self.jobs.max_capacity() - self.jobs.capacity()
    }

    fn offered(&self) -> u64 {
        self.recent.last()
    }

    async fn write(&self, command: Command) -> Result<WriteResult, Error> {
        let (reply, answer) = oneshot::channel();
        self.jobs.try_send(PostgresJob { command, reply }).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Stopped(crate::PANICKED.to_owned()),
        })?;
        answer.await.unwrap_or(Err(Error::OutcomeUnknown))
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
        let arguments = [Value::Int(rows::int(after)), Value::Int(limit.into())];
        self.all(&select_events(), &arguments, rows::read_event).await
    }

    async fn head(&self) -> Result<Head, Error> {
        let known = self.recent.head();
        let head = head(&self.pool).await?;
        if head.position < known.position || head.position == known.position && head.hash != known.hash {
            self.gap.notify_one();
            let why = "it has lost the end of its log, which is read again just now";
            return Err(Error::Unavailable(why.to_owned()));
        }
        Ok(head)
    }

    fn epoch(&self) -> watch::Receiver<u64> {
        self.recent.epoch()
    }

    async fn gate(&self, id: &GateId) -> Result<Option<GateView>, Error> {
        let sql = format!("{} WHERE id = ?1", rows::select_gates(false));
        Ok(self.all(&sql, &[Value::Text(id.as_str().into())], rows::read_view).await?.pop())
    }

    async fn gates(&self, query: GateQuery) -> Result<Page<GateView>, Error> {
        let (sql, arguments) = query.sql()?;
        Ok(query.page(self.all(&sql, &arguments, rows::read_view).await?))
    }

    async fn gates_of_run(&self, run: &RunId) -> Result<Vec<Gate>, Error> {
        self.all(&rows::select_gates_of("?1"), &[Value::Text(run.as_str().into())], rows::read_gate).await
    }

    async fn question(&self, id: &QuestionId) -> Result<Option<QuestionView>, Error> {
        let sql = format!("{} WHERE id = ?1", rows::select_questions(false));
        Ok(self.all(&sql, &[Value::Text(id.as_str().into())], rows::read_question_view).await?.pop())
    }

    async fn questions(&self, query: QuestionQuery) -> Result<Page<QuestionView>, Error> {
        let (sql, arguments) = query.sql()?;
        Ok(query.page(self.all(&sql, &arguments, rows::read_question_view).await?))
    }

    async fn run(&self, id: &RunId) -> Result<Option<Run>, Error> {
        let sql = format!("{} WHERE id = ?1", rows::select_runs());
        Ok(self.all(&sql, &[Value::Text(id.as_str().into())], rows::read_run).await?.pop())
    }

    async fn runs(&self, query: RunQuery) -> Result<Page<Run>, Error> {
        let (sql, arguments) = query.sql()?;
        Ok(query.page(self.all(&sql, &arguments, rows::read_run).await?))
    }

    async fn journal(&self, query: JournalQuery) -> Result<Vec<JournalLine>, Error> {
        let (sql, arguments) = query.sql();
        self.all(&sql, &arguments, rows::read_line).await
    }

    async fn run_summaries(&self, query: RunSummaryQuery) -> Result<Page<RunSummary>, Error> {
        let (sql, arguments) = query.sql()?;
        Ok(query.page(self.all(&sql, &arguments, rows::records::read_summary).await?))
    }

    async fn record_rows(&self, query: RecordQuery) -> Result<Vec<Record>, Error> {
        let (sql, arguments) = query::records::sql(&query);
        self.all(&sql, &arguments, rows::records::read_record).await
    }

    async fn create_views(&self, views: &'static [View]) -> Result<(), Error> {
        let mut client = self.pool.get().await.map_err(unreachable)?;
        let created = timeout(READ_TIMEOUT, create_views(&mut client, views)).await;
        answered(client, created)
    }

    async fn strays(&self, limit: u32) -> Result<Vec<String>, Error> {
        self.all(query::records::STRAYS, &[Value::Int(limit.into())], |row| row.text(0)).await
    }

    async fn events_of_run(&self, run: &RunId, after: u64, limit: u32) -> Result<Vec<Event>, Error> {
        self.all(&query::of_run(), &query::of_run_arguments(run, after, limit), rows::read_event).await
    }

    async fn ready(&self, workflows: &[WorkflowName], limit: u32) -> Result<Vec<RunId>, Error> {
        let arguments = query::of_workflows(vec![Value::Int(limit.into())], workflows);
        self.all(&query::ready(workflows.len()), &arguments, |row| rows::parse(&row.text(0)?)).await
    }

    async fn orphans(&self, workflows: &[WorkflowName], limit: u32) -> Result<Vec<RunId>, Error> {
        let first = vec![Value::Int(limit.into()), Value::Int(self.now().as_micros())];
        let arguments = query::of_workflows(first, workflows);
        self.all(&query::orphans(workflows.len()), &arguments, |row| rows::parse(&row.text(0)?)).await
    }

    async fn halt(&self, id: &HaltId) -> Result<Option<Halt>, Error> {
        let sql = format!("SELECT {} FROM halts WHERE id = ?1", rows::HALTS.names());
        Ok(self.all(&sql, &[Value::Text(id.as_str().into())], rows::read_halt).await?.pop())
    }

    async fn holds(&self) -> Result<(u64, Vec<Hold>), Error> {
        let mut client = self.pool.get().await.map_err(unreachable)?;
        let asked = timeout(READ_TIMEOUT, async {
            // One snapshot for all statements. Otherwise a commit between them would be missed or
            // counted twice.
            let level = tokio_postgres::IsolationLevel::RepeatableRead;
            let snapshot = client.build_transaction().isolation_level(level).read_only(true).start().await?;
            let head = snapshot.query_one("SELECT position FROM head WHERE log = 'main'", &[]).await?;
            let sql = format!("SELECT {} FROM questions WHERE {}", rows::QUESTIONS.names(), query::HOLDING);
            let questions = snapshot.query(&sql, &[]).await?;
            let sql = format!("SELECT {} FROM halts WHERE {}", rows::HALTS.names(), query::STANDING);
            let halts = snapshot.query(&sql, &[]).await?;
            Ok((head, questions, halts))
        });
        let found = asked.await;
        let (head, questions, halts) = answered(client, found)?;
        let questions = questions.iter().map(|row| Ok(rows::read_question(row)?.hold()));
        let halts = halts.iter().map(|row| Ok(rows::read_halt(row)?.hold()));
        let holds = questions.chain(halts).collect::<Result<Vec<_>, Error>>()?;
        Ok((rows::position(head.int(0)?)?, holds.into_iter().flatten().collect()))
    }

    async fn contents(&self, digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.contents_by(query::SHOWN, digests).await
    }

    async fn recorded(&self, digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.contents_by(query::RECORDED, digests).await
    }

    async fn content_statuses(&self, digests: Vec<Digest>) -> Result<Vec<ContentStatus>, Error> {
        let places: Vec<String> = (1..=digests.len()).map(|n| format!("?{n}")).collect();
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!("{} WHERE digest IN ({})", rows::SELECT_CONTENT_STATUS, places.join(", "));
        let arguments: Vec<Value<'_>> = digests.iter().map(|digest| Value::Text(digest.to_string().into())).collect();
        self.all(&sql, &arguments, rows::read_content_status).await
    }

    async fn needed_by(&self, digest: Digest) -> Result<Option<String>, Error> {
        let digest = [Value::Text(digest.to_string().into())];
        Ok(self.all(query::NEEDED_BY, &digest, |row| row.text(0)).await?.pop())
    }

    async fn barred(&self) -> Result<Vec<Digest>, Error> {
        self.all(query::BARRED, &[], |row| rows::parse(&row.text(0)?)).await
    }

    async fn streams(&self, streams: Vec<String>) -> Result<Vec<Event>, Error> {
        let sql = format!("SELECT {} FROM events WHERE stream = ?1", rows::EVENTS.names());
        let mut events = Vec::new();
        for stream in streams {
            events.extend(self.all(&sql, &[Value::Text(stream.into())], rows::read_event).await?);
        }
        Ok(query::each_once(events))
    }

    async fn retirements(&self, digests: &[Digest]) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        for digest in digests {
            let digest = [Value::Text(digest.to_string().into())];
            events.extend(self.all(&query::retirements(), &digest, rows::read_event).await?);
        }
        Ok(query::each_once(events))
    }

    async fn scrub(&self) -> Result<bool, Error> {
        Ok(false)
    }

    async fn forget_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.forget(rows::FORGET_DELIVERIES, before, limit).await
    }

    async fn forget_records(&self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.forget(query::records::FORGET, before, limit).await
    }

    async fn histories(&self, after: &str, limit: u32) -> Result<Vec<History>, Error> {
        let mut client = self.pool.get().await.map_err(unreachable)?;
        let limit = i64::from(limit);
        let asked = timeout(READ_TIMEOUT, async {
            // One snapshot for all statements. Otherwise a row could seem to disagree with the log
            // because of a commit between them.
            let level = tokio_postgres::IsolationLevel::RepeatableRead;
            let snapshot = client.build_transaction().isolation_level(level).read_only(true).start().await?;
            let found = snapshot.query(&dollars(query::STREAMS), &[&after, &limit, &query::runs_after(after)]).await?;
            let streams: Vec<String> = found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
            let columns = rows::EVENTS.names();
            let sql = format!("SELECT {columns} FROM events WHERE stream = ANY($1) ORDER BY stream, stream_seq");
            let events = snapshot.query(&sql, &[&streams]).await?;
            let runs: Vec<&str> = streams.iter().filter_map(|stream| stream.strip_prefix("run:")).collect();
            let plain: Vec<&str> = streams.iter().map(String::as_str).collect();
            let mut records = Vec::new();
            for (table, read) in rows::FOLDED {
                let (ids, prefix) = if table.name == rows::RUNS.name { (&runs, "run:") } else { (&plain, "") };
                let sql = format!("SELECT {} FROM {} WHERE id = ANY($1)", table.names(), table.name);
                records.extend(snapshot.query(&sql, &[ids]).await?.into_iter().map(|row| (row, prefix, read)));
            }
            let columns = rows::JOURNAL.names();
            let sql = format!("SELECT {columns} FROM journal WHERE run_id = ANY($1) ORDER BY run_id, key");
            let journal = snapshot.query(&sql, &[&runs]).await?;
            let sql = format!("SELECT {} FROM records WHERE run_id = ANY($1)", rows::records::TABLE.names());
            let kept = snapshot.query(&sql, &[&runs]).await?;
            Ok((streams, events, records, journal, kept))
        });
        let found = asked.await;
        let (streams, events, records, journal, kept) = answered(client, found)?;
        let mut histories: Vec<History> =
            streams.into_iter().map(|stream| History { stream, row: None, events: Vec::new() }).collect();
        let place = |histories: &[History], stream: &str| {
            histories.binary_search_by(|known| known.stream.as_str().cmp(stream)).ok()
        };
        for row in &events {
            let event = rows::read_event(row)?;
            if let Some(n) = place(&histories, &event.fact.stream) {
                histories[n].events.push(event);
            }
        }
        for (row, prefix, read) in &records {
            if let Some(n) = place(&histories, &format!("{prefix}{}", row.text(0)?)) {
                histories[n].row = Some(read(row).map_err(|error| error.to_string()));
            }
        }
        for row in &journal {
            let Some(n) = place(&histories, &format!("run:{}", row.text(0)?)) else { continue };
            if let Some(Ok(AuditedRow::Run(_, entries, _))) = &mut histories[n].row {
                match rows::read_entry(row) {
                    Ok(entry) => entries.push(entry),
                    Err(unreadable) => histories[n].row = Some(Err(unreadable.to_string())),
                }
            }
        }
        for row in &kept {
            let Some(n) = place(&histories, &format!("run:{}", row.text(0)?)) else { continue };
            if let Some(Ok(AuditedRow::Run(.., notes))) = &mut histories[n].row {
                match rows::records::read_record(row) {
                    Ok(row) => notes.push(row.note()),
                    Err(unreadable) => histories[n].row = Some(Err(unreadable.to_string())),
                }
            }
        }
        for history in &mut histories {
            if let Some(Ok(AuditedRow::Run(.., notes))) = &mut history.row {
                *notes = rows::records::in_order(std::mem::take(notes));
            }
        }
        Ok(histories)
    }

    async fn due(&self, until: Timestamp, limit: u32) -> Result<Vec<Timer>, Error> {
        let sql = "SELECT subject, kind, due FROM timers WHERE due <= ?1 ORDER BY due LIMIT ?2";
        self.all(sql, &[Value::Int(until.as_micros()), Value::Int(limit.into())], rows::read_timer).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Error> {
        let found = self.all("SELECT min(due) FROM timers", &[], |row| row.maybe_int(0)).await?;
        Ok(found.into_iter().flatten().next().map(Timestamp::from_micros))
    }

    async fn tokens(&self) -> Result<Vec<(Token, [u8; 32])>, Error> {
        let sql = format!("SELECT {} FROM tokens ORDER BY created_at, id", rows::TOKENS.names());
        self.all(&sql, &[], |row| Ok((rows::read_token(row)?, rows::read_token_hash(row)?))).await
    }

    async fn webhooks(&self) -> Result<Vec<Webhook>, Error> {
        let sql = format!("SELECT {} FROM webhooks ORDER BY created_at, id", rows::WEBHOOKS.names());
        self.all(&sql, &[], rows::read_webhook).await
    }

    async fn delivery(&self, id: &DeliveryId) -> Result<Option<Delivery>, Error> {
        let sql = format!("{} WHERE id = ?1", rows::select_deliveries());
        Ok(self.all(&sql, &[Value::Text(id.as_str().into())], rows::read_delivery).await?.pop())
    }

    async fn deliveries(&self, query: DeliveryQuery) -> Result<Page<Delivery>, Error> {
        let (sql, arguments) = query.sql()?;
        Ok(query.page(self.all(&sql, &arguments, rows::read_delivery).await?))
    }

    async fn waiting(&self, after: &str, limit: u32) -> Result<Vec<WaitingFor>, Error> {
        let arguments = [Value::Int(limit.into()), Value::Text(after.into())];
        self.all(query::WAITING, &arguments, query::read_waiting).await
    }

    async fn count_deliveries(&self, status: DeliveryStatus) -> Result<u64, Error> {
        let status = [Value::Text(status.word().into())];
        let found = self.all(query::COUNT_DELIVERIES, &status, |row| row.int(0)).await?;
        rows::position(found.into_iter().next().unwrap_or(0))
    }

    async fn requesters(&self, limit: u32) -> Result<Vec<Name>, Error> {
        self.all(query::REQUESTERS, &[Value::Int(limit.into())], |row| rows::parse(&row.text(0)?)).await
    }

    async fn askers(&self, limit: u32) -> Result<Vec<Name>, Error> {
        self.all(query::ASKERS, &[Value::Int(limit.into())], |row| rows::parse(&row.text(0)?)).await
    }

    async fn pending(&self) -> Result<u64, Error> {
        let found = self.all("SELECT count(*) FROM gates WHERE status = 'pending'", &[], |row| row.int(0)).await?;
        rows::position(found.into_iter().next().unwrap_or(0))
    }

    async fn forget_keys(&self, before: Timestamp) -> Result<(), Error> {
        let sql = "DELETE FROM idempotency WHERE created_at < ?1";
        self.all(sql, &[Value::Int(before.as_micros())], |_| Ok(())).await.map(drop)
    }

    async fn stopped(&self) -> String {
        // After a failed sync the database stops itself. It is then unreachable until it is back.
        self.jobs.closed().await;
        crate::PANICKED.to_owned()
    }

    async fn close(&self) {
        // A batch in flight is written completely or not at all; its callers cannot know which.
        self.tasks.iter().for_each(JoinHandle::abort);
        self.pool.close();
    }
}

fn config(url: &str) -> Result<Config, Error> {
    let mut config: Config =
        url.parse().map_err(|error| Error::Schema(format!("this is no address of a PostgreSQL database: {error}")))?;
    config.connect_timeout(REPLY_TIMEOUT).application_name("folkmoot").keepalives_idle(Duration::from_secs(5));
    Ok(config)
}

fn pool(config: &Config, tls: &TlsConnector) -> Result<Pool, Error> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config.clone(), tls.clone(), recycling);
    Pool::builder(manager)
        .max_size(READERS)
        .runtime(Runtime::Tokio1)
        .post_create(Hook::async_fn(|client, _| {
            Box::pin(async move { client.batch_execute(PLANS).await.map_err(HookError::Backend) })
        }))
        .create_timeout(Some(REPLY_TIMEOUT))
        .wait_timeout(Some(REPLY_TIMEOUT))
        .build()
        .map_err(|error| Error::Database(error.to_string()))
}

async fn head(pool: &Pool) -> Result<Head, Error> {
    let client = pool.get().await.map_err(unreachable)?;
    let found = timeout(READ_TIMEOUT, client.query(SELECT_HEAD, &[])).await;
    read_head(&answered(client, found)?)
}

fn read_head(found: &[Row]) -> Result<Head, Error> {
    let row = found.first().ok_or_else(|| Error::Unreadable("the log has no head".to_owned()))?;
    Ok(Head { position: rows::position(row.int(0)?)?, hash: rows::parse(&row.text(1)?)? })
}

/// Returns what was found. A connection that did not answer in time is not reused: the database or
/// the network may be gone, and the next query would wait as long.
fn answered<T>(client: Object, found: Result<Result<T, tokio_postgres::Error>, Elapsed>) -> Result<T, Error> {
    match found {
        Ok(found) => found.map_err(failed),
        Err(_) => {
            drop(Object::take(client));
            Err(silent())
        }
    }
}

fn silent() -> Error {
    Error::Unavailable("the database does not answer".to_owned())
}

async fn clock_of(pool: &Pool) -> Result<i64, Error> {
    let client = pool.get().await.map_err(unreachable)?;
    client.query_one(CLOCK, &[]).await.map_err(failed)?.int(0)
}

/// A connection outside the pool, for what is done once, and the task that drives it.
async fn connect(
    config: &Config,
    tls: &TlsConnector,
) -> Result<(Client, JoinHandle<Result<(), tokio_postgres::Error>>), Error> {
    let connecting = timeout(REPLY_TIMEOUT, config.connect(tls.clone())).await.map_err(|_| silent())?;
    let (client, connection) = connecting.map_err(failed)?;
    Ok((client, tokio::spawn(connection)))
}

/// Refuses a pooler that gives each transaction another session without carrying over prepared
/// statements, because nothing works with it for long. The test prepares a statement, occupies a
/// session with a second connection, and checks that the statement still exists.
async fn must_keep_statements(config: &Config, tls: &TlsConnector) -> Result<(), Error> {
    let ((client, driver), (other, other_driver)) = tokio::try_join!(connect(config, tls), connect(config, tls))?;
    let asked = timeout(REPLY_TIMEOUT, async {
        let statement = client.prepare("SELECT 1").await?;
        other.batch_execute("BEGIN").await?;
        client.query(&statement, &[]).await
    });
    let answer = asked.await;
    driver.abort();
    other_driver.abort();
    match answer {
        Ok(Err(error)) if error.code().is_some_and(pooled) => Err(Error::Schema(POOLED.to_owned())),
        Ok(Err(error)) => Err(failed(error)),
        Ok(Ok(_)) => Ok(()),
        // A pool of a single session has none for the second connection.
        Err(_) => Ok(()),
    }
}

async fn migrate(config: &Config, tls: &TlsConnector) -> Result<(), Error> {
    let (mut client, driver) = connect(config, tls).await?;
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(LOCK).await.map_err(failed)?;
    transaction.batch_execute(&migrate::for_postgres(migrate::TABLE)).await.map_err(failed)?;
    let missing = migrate::missing(&taken(&transaction).await?)?;
    take_steps(&transaction, missing).await?;
    transaction.commit().await.map_err(failed)?;
    driver.abort();
    Ok(())
}

/// Creates the views, or replaces those that have changed. Each view has the digest of its text as
/// a comment. An unchanged view is left alone, because replacing it would wait for everybody who
/// reads it.
async fn create_views(client: &mut Client, views: &[View]) -> Result<(), tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK).await?;
    for View { name, sql } in views {
        let digest = Digest::of(sql.as_bytes()).to_string();
        let known = transaction.query_one("SELECT obj_description(to_regclass($1), 'pg_class')", &[name]).await?;
        if known.try_get::<_, Option<String>>(0)?.as_ref() != Some(&digest) {
            let sql = migrate::for_postgres(sql);
            let replace = format!("DROP VIEW IF EXISTS {name}; CREATE VIEW {name} AS {sql}");
            transaction.batch_execute(&format!("{replace}; COMMENT ON VIEW {name} IS '{digest}'")).await?;
        }
    }
    transaction.commit().await
}

/// The version and checksum of the migrations that were applied.
async fn taken(transaction: &Transaction<'_>) -> Result<Vec<(i64, String)>, Error> {
    let sql = "SELECT version, checksum FROM migrations ORDER BY version";
    let found = transaction.query(sql, &[]).await.map_err(failed)?;
    found.iter().map(|row| Ok((row.int(0)?, row.text(1)?))).collect()
}

async fn take_steps(transaction: &Transaction<'_>, steps: &[migrate::Migration]) -> Result<(), Error> {
    transaction.batch_execute(&migrate::for_postgres(migrate::TABLE)).await.map_err(failed)?;
    for step in steps {
        transaction.batch_execute(&migrate::for_postgres(step.sql)).await.map_err(failed)?;
        let taken = "INSERT INTO migrations (version, name, checksum) VALUES ($1, $2, $3)";
        transaction.execute(taken, &[&step.version, &step.name, &step.checksum()]).await.map_err(failed)?;
    }
    Ok(())
}

fn select_events() -> String {
    format!("SELECT {} FROM events WHERE position > ?1 ORDER BY position LIMIT ?2", rows::EVENTS.names())
}

/// The same statement with PostgreSQL's placeholders.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Text(text) => text.as_ref().to_sql(ty, out),
            Value::MaybeText(text) => text.as_deref().to_sql(ty, out),
            Value::Int(n) => n.to_sql(ty, out),
            Value::MaybeInt(n) => n.to_sql(ty, out),
            Value::Bytes(bytes) => bytes.as_ref().to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl Columns for Row {
    fn maybe_text(&self, n: usize) -> Result<Option<String>, Error> {
        self.try_get(n).map_err(failed)
    }
    fn maybe_int(&self, n: usize) -> Result<Option<i64>, Error> {
        self.try_get(n).map_err(failed)
    }
    fn maybe_bytes(&self, n: usize) -> Result<Option<Vec<u8>>, Error> {
        self.try_get(n).map_err(failed)
    }
}

fn unreachable(error: deadpool_postgres::PoolError) -> Error {
    match error {
        deadpool_postgres::PoolError::Backend(error) => failed(error),
        error => Error::Unavailable(error.to_string()),
    }
}

/// Translates an error of PostgreSQL.
fn failed(error: tokio_postgres::Error) -> Error {
    // The outer text is only "db error". The source says what happened.
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => Error::Full,
        Some(code) if lost(code) => Error::Unavailable(text),
        Some(code) if cancelled(code) => Error::Cancelled(text),
        Some(code) if pooled(code) => Error::Unavailable(format!("{text}: {POOLED}")),
        Some(_) => Error::Database(text),
        None if error.is_closed()
            || error.to_string().contains("connect")
            || error.to_string().contains("communicating") =>
        {
            Error::Unavailable(text)
        }
        None => Error::Unreadable(text),
    }
}

/// Whether the connection is unusable, or the database accepts no commands from anybody.
fn lost(code: &SqlState) -> bool {
    // 08 is the class of connection exceptions, 53 of exhausted resources.
    let class = |class| code.code().starts_with(class);
    class("08")
        || class("53")
        || [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_SESSION_TIMEOUT,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            // Somebody keeps the head locked, so nothing can be written.
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ]
        .contains(code)
}

/// Whether the database cancelled this transaction only, because of an operator's
/// `statement_timeout` or in favour of another one. It accepts the next.
fn cancelled(code: &SqlState) -> bool {
    [SqlState::QUERY_CANCELED, SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code)
}

/// Whether a prepared statement is missing, or its name exists although it was not prepared. Either
/// means that another session answers.
fn pooled(code: &SqlState) -> bool {
    [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code)
}

/// Explains an unsuitable pooler, and what to do about it.
const POOLED: &str = "a connection pooler that gives each transaction another session, and does not carry prepared \
    statements along, stands before the database; use its session mode, or PgBouncer 1.21 or later with \
    max_prepared_statements above 0";
