//! The only writer. It commits in groups, without a timer: each commit takes what was queued during
//! the last one.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Instant,
};

use folkmoot_core::{
    Command, Commit, Delivery, Event, Head, Judgement, Loaded, Name, Outcome, Quota, QuotaUsage, Row, RunId, SessionId,
    TimerChange, Timestamp, Wake, chain,
    clearance::{Others, Target},
    judge,
    record::View,
    run,
    token::Token,
};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    all,
    checkpoint::{self, CheckpointMode, Checkpointer},
    failed,
};
use crate::{
    Clock, Error, WriteResult,
    figures::Figures,
    query,
    recent::Recent,
    rows::{self, Columns, Table, Value},
};

/// The maximum number of commands in one commit. With more, the slowest would wait longer than the
/// larger commit saves.
const BATCH: usize = 128;

/// Whether the agent `?2` is held by a question other than `?1` that is not of the run `?3`, or by
/// a halt other than `?1`.
const HELD_AGENT: [&str; 2] = [
    "SELECT EXISTS (SELECT 1 FROM questions WHERE agent_id = ?2 AND holds IS NOT NULL AND id <> ?1
     AND (?3 IS NULL OR run_id IS NULL OR run_id <> ?3))",
    "SELECT EXISTS (SELECT 1 FROM halts WHERE scope = 'agent' AND agent_id = ?2 AND lifted_at IS NULL AND id <> ?1)",
];
/// The same as [`HELD_AGENT`] for the session `?2`.
const HELD_SESSION: [&str; 2] = [
    "SELECT EXISTS (SELECT 1 FROM questions WHERE session_id = ?2 AND holds IN ('session', 'all') AND id <> ?1
     AND (?3 IS NULL OR run_id IS NULL OR run_id <> ?3))",
    "SELECT EXISTS (SELECT 1 FROM halts WHERE scope = 'session' AND session_id = ?2 AND lifted_at IS NULL AND id <> ?1)",
];
/// The same as [`HELD_AGENT`] for everyone; `?2` is null.
const HELD_ALL: [&str; 2] = [
    "SELECT EXISTS (SELECT 1 FROM questions WHERE holds = 'all' AND id <> ?1 AND ?2 IS NULL
     AND (?3 IS NULL OR run_id IS NULL OR run_id <> ?3))",
    "SELECT EXISTS (SELECT 1 FROM halts WHERE scope = 'all' AND lifted_at IS NULL AND id <> ?1 AND ?2 IS NULL)",
];

/// Wakes the run `?1`.
pub(super) const WAKE: &str = "UPDATE runs SET wakes = wakes + 1 WHERE id = ?1";
/// Wakes the runs that the run `?1` started.
pub(super) const WAKE_CHILDREN: &str = "UPDATE runs SET wakes = wakes + 1 WHERE parent = ?1";
/// Wakes the runs that wait for clearance of the agent `?1`, which is `?2` in the JSON of their
/// state.
pub(super) const WAKE_AGENT: &str = "UPDATE runs SET wakes = wakes + 1
    WHERE held IN (?1, '*') AND (held = ?1 OR instr(state, ?2) > 0)";
/// Wakes the runs in the session `?1` that wait for clearance.
pub(super) const WAKE_SESSION: &str = "UPDATE runs SET wakes = wakes + 1 WHERE held IS NOT NULL AND session_id = ?1";
/// Wakes all runs that wait for clearance: `?1` is the empty string, and every value of `held`
/// sorts after it.
pub(super) const WAKE_EVERYONE: &str = "UPDATE runs SET wakes = wakes + 1 WHERE held > ?1";

/// Erases the content with digest `?1`.
const ERASE: &str = "UPDATE artifacts SET content = NULL, erasures = ?2, barred = ?3 WHERE digest = ?1";

/// A request to the writer.
#[derive(Debug)]
pub(super) enum SqliteJob {
    Execute(Box<Command>, oneshot::Sender<Result<WriteResult, Error>>),
    ForgetKeys(Timestamp, oneshot::Sender<Result<(), Error>>),
    /// Deletes at most this many rows that were over before this time, with this statement.
    Forget(&'static str, Timestamp, u32, oneshot::Sender<Result<u64, Error>>),
    /// Creates each of these views, or replaces it if its definition has changed.
    CreateViews(&'static [View], oneshot::Sender<Result<(), Error>>),
    /// Removes previously erased content from the files too. Executed after the batch, outside its
    /// transaction.
    Scrub(oneshot::Sender<Result<bool, Error>>),
}

#[derive(Debug)]
pub(super) struct SqliteWriter {
    connection: Connection,
    head: Head,
    recent: Arc<Recent>,
    clock: Arc<dyn Clock>,
    stop: watch::Sender<Option<String>>,
    /// `None` if the database is in memory.
    checkpointer: Option<Checkpointer>,
    pages: Arc<AtomicI32>,
    restart_at: i32,
    sql: SqliteStatements,
    figures: Figures,
}

/// The SQL of the statements, which is also the key of the statement cache.
#[derive(Debug)]
struct SqliteStatements {
    load_gate: String,
    load_pending_duplicate: String,
    load_question: String,
    load_halt: String,
    load_run: String,
    load_gates_of_run: String,
    load_open_questions: String,
    load_entry: String,
    load_token: String,
    load_webhook: String,
    load_webhook_named: String,
    load_delivery: String,
    load_waiting: String,
    insert: Vec<(&'static str, String)>,
}

/// Stops the store if the writer panics. A panic is a bug, and a half-finished write cannot be
/// trusted.
struct Alarm(watch::Sender<Option<String>>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.send_replace(Some(crate::PANICKED.to_owned()));
        }
    }
}

/// What one batch has written so far.
struct Batch {
    head: Head,
    events: Vec<Arc<Event>>,
    answers: Vec<Result<WriteResult, Error>>,
    /// The number of rows that a `Forget` job deleted. No two of them are in flight at the same
    /// time.
    forgotten: u64,
}

impl SqliteWriter {
    pub(super) fn new(
        mut connection: Connection,
        head: Head,
        recent: Arc<Recent>,
        clock: Arc<dyn Clock>,
        stop: watch::Sender<Option<String>>,
        checkpointer: Option<Checkpointer>,
    ) -> Result<Self, Error> {
        let pages = Arc::new(AtomicI32::new(0));
        let counter = pages.clone();
        let count = move |_: &mut rusqlite::hooks::Wal, pages| {
            counter.store(pages, Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(count)).map_err(failed)?;
        // 64 MB. With the default of 2 MB, a batch that touches many pages reads them repeatedly
        // and writes some twice.
        connection.execute_batch("PRAGMA cache_size = -65536").map_err(failed)?;
        let sql = SqliteStatements::new();
        let restart_at = checkpoint::PAGES_RESTART;
        Ok(Self {
            connection,
            head,
            recent,
            clock,
            stop,
            checkpointer,
            pages,
            restart_at,
            sql,
            figures: Figures::new(),
        })
    }

    /// Executes jobs until the store is closed or dropped, or a sync fails.
    pub(super) fn run(mut self, queue: mpsc::Receiver<SqliteJob>) {
        self.work_off(queue);
        if self.stop.borrow().is_some() {
            // The last connection to close moves the write-ahead log into the database and removes
            // it. After a failed sync nothing is moved or removed, so that the next start finds the
            // files as they were left.
            std::mem::forget(self.connection);
        }
    }

    fn work_off(&mut self, mut queue: mpsc::Receiver<SqliteJob>) {
        let mut jobs = Vec::with_capacity(BATCH);
        let _alarm = Alarm(self.stop.clone());
        while queue.blocking_recv_many(&mut jobs, BATCH) > 0 {
            // A checkpoint may have failed since the last batch. Dropping `jobs` then tells the
            // callers.
            if self.stop.borrow().is_some() {
                return;
            }
            if let Err(reason) = self.commit(&mut jobs) {
                tracing::error!("the store stops: {reason}");
                self.stop.send_replace(Some(reason));
                return;
            }
            self.checkpoint();
        }
    }

    /// Writes one batch and answers it. `Err` means that nothing may be acknowledged any more.
    pub(super) fn commit(&mut self, jobs: &mut Vec<SqliteJob>) -> Result<(), String> {
        let scrubs: Vec<SqliteJob> = jobs.extract_if(.., |job| matches!(job, SqliteJob::Scrub(_))).collect();
        if !jobs.is_empty() {
            self.commit_all(jobs)?;
        }
        for job in scrubs {
            let SqliteJob::Scrub(reply) = job else { continue };
            let scrubbed = self.move_log(CheckpointMode::Truncate).map_err(failed);
            if let Err(Error::Stopped(reason)) = &scrubbed {
                return Err(reason.clone());
            }
            // The caller may be gone.
            let _ = reply.send(scrubbed);
        }
        Ok(())
    }

    fn commit_all(&mut self, jobs: &mut Vec<SqliteJob>) -> Result<(), String> {
        let began = Instant::now();
        match self.write(jobs) {
            Ok(batch) => {
                self.figures.committed(jobs.len(), began);
                self.head = batch.head;
                self.recent.offer(&batch.events);
                let forgotten = batch.forgotten;
                jobs.drain(..).zip(batch.answers).for_each(|(job, answer)| job.answer(answer, forgotten));
                Ok(())
            }
            // One of the commands broke a constraint or needs an unreadable page. Executed alone,
            // each gets its own answer.
            Err(Error::Database(_) | Error::Unreadable(_)) if jobs.len() > 1 => {
                std::mem::take(jobs).into_iter().try_for_each(|job| self.commit(&mut vec![job]))
            }
            Err(error) => {
                tracing::error!("nothing of this batch was written: {error}");
                jobs.drain(..).for_each(|job| job.answer(Err(error.clone()), 0));
                match error {
                    Error::Stopped(reason) => Err(reason),
                    _ => Ok(()),
                }
            }
        }
    }

    fn create_view(&self, View { name, sql }: &View) -> Result<(), Error> {
        // SQLite stores the text without trailing white space.
        let create = format!("CREATE VIEW {name} AS {}", sql.trim_end());
        let known = "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?1";
        let known = super::all(&self.connection, known, &[Value::Text((*name).into())], |row| row.text(0))?;
        if known.contains(&create) {
            return Ok(());
        }
        let replace = format!("DROP VIEW IF EXISTS {name}; {create}");
        self.connection.execute_batch(&replace).map_err(failed)
    }

    /// Writes all jobs or none. There is no savepoint for each command: it would copy every page
    /// that is touched, for failures that hardly ever happen.
    fn write(&self, jobs: &[SqliteJob]) -> Result<Batch, Error> {
        self.execute("BEGIN IMMEDIATE", &[])?;
        let written = self.write_all(jobs);
        if written.is_err() && !self.connection.is_autocommit() {
            // If this fails too, the next BEGIN reports it.
            let _ = self.execute("ROLLBACK", &[]);
        }
        written
    }

    fn write_all(&self, jobs: &[SqliteJob]) -> Result<Batch, Error> {
        let mut batch =
            Batch { head: self.head, events: Vec::new(), answers: Vec::with_capacity(jobs.len()), forgotten: 0 };
        for job in jobs {
            let answer = match job {
                SqliteJob::Execute(command, _) => self.judge(&mut batch, command)?,
                SqliteJob::ForgetKeys(before, _) => {
                    let before = [Value::Int(before.as_micros())];
                    self.execute("DELETE FROM idempotency WHERE created_at < ?1", &before)?;
                    Ok(Outcome::Nothing)
                }
                SqliteJob::Forget(sql, before, limit, _) => {
                    let arguments = [Value::Int(before.as_micros()), Value::Int((*limit).into())];
                    batch.forgotten = self.execute(sql, &arguments)? as u64;
                    Ok(Outcome::Nothing)
                }
                SqliteJob::CreateViews(views, _) => {
                    views.iter().try_for_each(|view| self.create_view(view))?;
                    Ok(Outcome::Nothing)
                }
                SqliteJob::Scrub(_) => unreachable!("it was taken out of the batch"),
            };
            let position = batch.head.position;
            batch.answers.push(answer.map(|outcome| WriteResult { outcome, position, together: jobs.len() }));
        }
        if batch.head != self.head {
            let head = [Value::Int(rows::int(batch.head.position)), Value::Text(batch.head.hash.to_string().into())];
            self.execute("UPDATE head SET position = ?1, hash = ?2 WHERE log = 'main'", &head)?;
        }
        self.execute("COMMIT", &[])?;
        Ok(batch)
    }

    /// Judges and writes one command. The inner result is the command's own. The outer error means
    /// that the whole batch cannot continue.
    fn judge(&self, batch: &mut Batch, command: &Command) -> Result<Result<Outcome, Error>, Error> {
        let loaded = match self.replay(command) {
            Ok(Some(outcome)) => match command.must_be_authentic(self.credential(command)?.as_ref()) {
                Ok(()) => return Ok(Ok(outcome)),
                Err(refusal) => Err(refusal.into()),
            },
            Ok(None) => self.load(command),
            Err(error) => Err(error),
        };
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error @ (Error::Refused(_) | Error::Unreadable(_))) => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        let now = self.clock.now();
        match judge(command, loaded, now) {
            Judgement::Done(commit) => {
                self.apply(batch, command, &commit, now, true)?;
                Ok(Ok(commit.outcome))
            }
            Judgement::Refused(refusal, record) => {
                self.apply(batch, command, &record, now, false)?;
                Ok(Err(refusal.into()))
            }
        }
    }

    fn apply(
        &self,
        batch: &mut Batch,
        command: &Command,
        commit: &Commit,
        now: Timestamp,
        done: bool,
    ) -> Result<(), Error> {
        for row in &commit.rows {
            match row {
                Row::Gate(gate) => self.insert(&rows::GATES, &rows::gate(gate))?,
                Row::Question(question) => self.insert(&rows::QUESTIONS, &rows::question(question))?,
                Row::Halt(halt) => self.insert(&rows::HALTS, &rows::halt(halt))?,
                Row::Artifact(artifact) => self.insert(&rows::ARTIFACTS, &rows::artifact(artifact, now))?,
                Row::Erased { digest, erasures, barred } => {
                    let arguments = [
                        Value::Text(digest.to_string().into()),
                        Value::Int(rows::int(*erasures)),
                        Value::Int((*barred).into()),
                    ];
                    self.execute(ERASE, &arguments)?;
                }
                Row::Run(run) => {
                    if run.seq == 1 {
                        self.insert(&rows::SESSIONS, &rows::session(&run.start.session_id, now))?;
                    }
                    self.insert(&rows::RUNS, &rows::run(run))?;
                }
                Row::Entry(run, entry) => self.insert(&rows::JOURNAL, &rows::entry(run, entry))?,
                Row::Record(row) => self.insert(&rows::records::TABLE, &rows::records::record(row))?,
                Row::Node { node, until, alone } => {
                    if *alone {
                        self.execute("DELETE FROM nodes", &[])?;
                    }
                    self.insert(&rows::NODES, &rows::node(node, *until))?;
                }
                Row::NodeGone(node) => {
                    self.execute("DELETE FROM nodes WHERE node = ?1", &[Value::Text(node.as_str().into())])?;
                }
                Row::Session(id, at) => self.insert(&rows::SESSIONS, &rows::session(id, *at))?,
                Row::Token(token, hash) => {
                    self.insert(&rows::PRINCIPALS, &rows::principal(&token.principal))?;
                    self.insert(&rows::TOKENS, &rows::token(token, hash))?;
                }
                Row::Revoked(token) => {
                    let arguments = [
                        Value::Text(token.id.as_str().into()),
                        Value::MaybeInt(token.revoked_at.map(Timestamp::as_micros)),
                    ];
                    self.execute("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1", &arguments)?;
                }
                Row::Webhook(webhook) => self.insert(&rows::WEBHOOKS, &rows::webhook(webhook))?,
                Row::Delivery(delivery) => self.insert(&rows::OUTBOX, &rows::delivery(delivery))?,
            }
        }
        let before = batch.events.len();
        for fact in &commit.events {
            let event = chain::append(&mut batch.head, fact.clone());
            self.insert(&rows::EVENTS, &rows::event(&event))?;
            batch.events.push(Arc::new(event));
        }
        for change in &commit.timers {
            match change {
                TimerChange::Set(timer) => self.insert(&rows::TIMERS, &rows::timer(timer))?,
                TimerChange::Clear(subject) => {
                    self.execute("DELETE FROM timers WHERE subject = ?1", &[Value::Text(subject.key())])?;
                }
            }
        }
        for telling in &commit.outbox {
            let delivery = Delivery::new(telling, &batch.events[before + telling.event]);
            self.insert(&rows::OUTBOX, &rows::delivery(&delivery))?;
        }
        for wake in &commit.wakes {
            let (sql, argument) = match wake {
                Wake::Run(run) => (WAKE, run.as_str()),
                Wake::Children(run) => (WAKE_CHILDREN, run.as_str()),
                Wake::Held(Target::Agent(agent)) => {
                    let written = rows::json_text(agent);
                    let arguments = [Value::Text(agent.as_str().into()), Value::Text(written.into())];
                    self.execute(WAKE_AGENT, &arguments)?;
                    continue;
                }
                Wake::Held(Target::Session(id)) => (WAKE_SESSION, id.as_str()),
                Wake::Held(Target::System) => (WAKE_EVERYONE, ""),
            };
            self.execute(sql, &[Value::Text(argument.into())])?;
        }
        if let Some(record) = rows::idempotency(command, &commit.outcome, now).filter(|_| done) {
            self.insert(&rows::IDEMPOTENCY, &record)?;
        }
        Ok(())
    }

    fn load(&self, command: &Command) -> Result<Loaded, Error> {
        let needs = command.needs();
        let mut loaded = Loaded { credential: self.credential(command)?, ..Loaded::default() };
        if let Some(id) = needs.gate.id {
            loaded.gate.gate = self.one(&self.sql.load_gate, &[Value::Text(id.as_str().into())], rows::read_gate)?;
        }
        if let (true, Some(gate)) = (needs.gate.summary, &loaded.gate.gate) {
            let digest = [Value::Text(gate.content.summary.to_string().into())];
            let text = self.one(query::SHOWN, &digest, |row| row.maybe_bytes(0))?;
            loaded.gate.summary = text.flatten().and_then(|bytes| String::from_utf8(bytes).ok());
        }
        if let Some(name) = needs.usage {
            loaded.usage = self.usage(name, command.quota)?;
        }
        if let Some((requester, key)) = needs.gate.pending_duplicate {
            let arguments = [Value::Text(requester.as_str().into()), Value::Text(key.into())];
            loaded.gate.pending_duplicate = self.one(&self.sql.load_pending_duplicate, &arguments, rows::read_gate)?;
        }
        if let Some(id) = needs.question {
            let question =
                self.one(&self.sql.load_question, &[Value::Text(id.as_str().into())], rows::read_question)?;
            if let Some(question) = &question {
                let (agent, session) = (Some(&question.agent_id), question.session_id.as_ref());
                loaded.question.others = self.others(id.as_str(), None, agent, session)?;
            }
            loaded.question.question = question;
        }
        if let Some(id) = needs.halt {
            let halt = self.one(&self.sql.load_halt, &[Value::Text(id.as_str().into())], rows::read_halt)?;
            if let Some(halt) = &halt {
                let (agent, session) = (halt.agent_id.as_ref(), halt.session_id.as_ref());
                loaded.halt.others = self.others(id.as_str(), None, agent, session)?;
            }
            loaded.halt.halt = halt;
        }
        loaded.run = self.load_run(&needs.run)?;
        if !needs.contents.is_empty() {
            loaded.contents = super::content_statuses(&self.connection, &needs.contents)?;
        }
        for name in &needs.principals {
            let sql = "SELECT name, role FROM principals WHERE lower(name) = lower(?1)";
            let name = [Value::Text(name.as_str().into())];
            loaded.principals.extend(all(&self.connection, sql, &name, rows::read_principal)?);
        }
        if let Some(token) = needs.token {
            loaded.token = self.one(&self.sql.load_token, &[Value::Text(token.as_str().into())], rows::read_token)?;
        }
        if let Some(id) = needs.webhook.id {
            let id = [Value::Text(id.as_str().into())];
            loaded.webhook = self.one(&self.sql.load_webhook, &id, rows::read_webhook)?;
        }
        if let Some(name) = needs.webhook.name {
            let name = [Value::Text(name.as_str().into())];
            loaded.webhook = self.one(&self.sql.load_webhook_named, &name, rows::read_webhook)?;
        }
        if let Some(id) = needs.delivery.id {
            let id = [Value::Text(id.as_str().into())];
            loaded.delivery.delivery = self.one(&self.sql.load_delivery, &id, rows::read_delivery)?;
        }
        for (channel, limit) in needs.delivery.waiting {
            let arguments = [Value::Text(channel.into()), Value::Int(limit.into())];
            let waiting = all(&self.connection, &self.sql.load_waiting, &arguments, rows::read_delivery)?;
            loaded.delivery.waiting.extend(waiting);
        }
        Ok(loaded)
    }

    fn load_run(&self, needs: &run::Needs<'_>) -> Result<run::Loaded, Error> {
        let mut loaded = run::Loaded::default();
        if let Some(id) = needs.id {
            let key = [Value::Text(id.as_str().into())];
            let found = self.one(&self.sql.load_run, &key, rows::read_run_with_extras)?;
            if let Some((run, extras)) = found {
                (loaded.wakes, loaded.alive_until, loaded.parent_over) =
                    (extras.wakes, extras.alive_until, extras.parent_over);
                loaded.run = Some(run);
            }
            if needs.gates && loaded.run.is_some() {
                loaded.gates = all(&self.connection, &self.sql.load_gates_of_run, &key, rows::read_gate)?;
            }
            if needs.open_questions && loaded.run.is_some() {
                let questions = all(&self.connection, &self.sql.load_open_questions, &key, rows::read_question)?;
                for question in questions {
                    let (agent, session) = (Some(&question.agent_id), question.session_id.as_ref());
                    let others = self.others("", Some(id), agent, session)?;
                    loaded.open_questions.push((question, others));
                }
            }
            if let Some(line) = needs.entry {
                let key = [Value::Text(id.as_str().into()), Value::Text(line.as_str().into())];
                loaded.entry = self.one(&self.sql.load_entry, &key, rows::read_entry)?;
            }
        }
        if let Some((agents, session)) = needs.held {
            for agent in agents {
                let others = self.others("", None, Some(agent), Some(session))?;
                loaded.any_agent_free |= others == Others::default();
            }
        }
        Ok(loaded)
    }

    /// Whether the agent, the session or everyone is held by anything other than `id` and the
    /// questions of `run`.
    fn others(
        &self,
        id: &str,
        run: Option<&RunId>,
        agent: Option<&Name>,
        session: Option<&SessionId>,
    ) -> Result<Others, Error> {
        let exists =
            |sql: &str, arguments: &[Value<'_>]| Ok::<_, Error>(self.one(sql, arguments, |row| row.int(0))? == Some(1));
        let held = |sql: &[&str; 2], key: Option<&str>| {
            let run = Value::MaybeText(run.map(|run| run.as_str().into()));
            let arguments = [Value::Text(id.into()), Value::MaybeText(key.map(Cow::Borrowed)), run];
            Ok::<_, Error>(exists(sql[0], &arguments)? || exists(sql[1], &arguments[..2])?)
        };
        Ok(Others {
            agent: agent.map_or(Ok(false), |agent| held(&HELD_AGENT, Some(agent.as_str())))?,
            session: session.map_or(Ok(false), |session| held(&HELD_SESSION, Some(session.as_str())))?,
            system: held(&HELD_ALL, None)?,
        })
    }

    /// What an agent has open, counted no further than its quota needs.
    fn usage(&self, name: &Name, quota: Quota) -> Result<QuotaUsage, Error> {
        let of = |limit| [Value::Text(name.as_str().into()), Value::Int(query::counted(limit))];
        let gates = self.one(query::PENDING_OF, &of(quota.pending_gates), |row| Ok((row.int(0)?, row.int(1)?)))?;
        let questions = self.one(query::OPEN_OF, &of(quota.open_questions), |row| row.int(0))?;
        let runs = self.one(query::OPEN_RUNS_OF, &of(quota.open_runs), |row| row.int(0))?;
        let halts = self.one(query::HALTS_OF, &of(quota.standing_halts), |row| row.int(0))?;
        let (gates, bytes) = gates.unwrap_or_default();
        Ok(QuotaUsage {
            gates: gates as u64,
            bytes: bytes as u64,
            questions: questions.unwrap_or_default() as u64,
            runs: runs.unwrap_or_default() as u64,
            halts: halts.unwrap_or_default() as u64,
        })
    }

    /// The token with which the command was sent.
    fn credential(&self, command: &Command) -> Result<Option<Token>, Error> {
        let Some(token) = &command.token else { return Ok(None) };
        self.one(&self.sql.load_token, &[Value::Text(token.as_str().into())], rows::read_token)
    }

    fn replay(&self, command: &Command) -> Result<Option<Outcome>, Error> {
        let Some(idempotency) = &command.idempotency else { return Ok(None) };
        let sql = "SELECT fingerprint, outcome FROM idempotency WHERE principal = ?1 AND route = ?2 AND key = ?3";
        let principal = command.by.name();
        let arguments = [
            Value::Text(principal.as_str().into()),
            Value::Text(idempotency.route.as_str().into()),
            Value::Text(idempotency.key.as_str().into()),
        ];
        let known = self.one(sql, &arguments, |row| Ok((row.text(0)?, row.text(1)?)))?;
        known.map(|(fingerprint, outcome)| rows::replay(command, &fingerprint, &outcome)).transpose()
    }

    fn one<T>(
        &self,
        sql: &str,
        arguments: &[Value<'_>],
        read: impl Fn(&dyn Columns) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(all(&self.connection, sql, arguments, read)?.pop())
    }

    fn insert(&self, table: &Table, values: &[Value<'_>]) -> Result<(), Error> {
        let known = self.sql.insert.iter().find(|(name, _)| *name == table.name);
        let (_, sql) = known.expect("every table that is written has its statement");
        self.execute(sql, values).map(drop)
    }

    fn execute(&self, sql: &str, arguments: &[Value<'_>]) -> Result<usize, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        statement.execute(rusqlite::params_from_iter(arguments)).map_err(failed)
    }

    /// The writer's connection, which the readers of a database in memory share.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn checkpoint(&mut self) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages >= self.restart_at {
            match self.move_log(CheckpointMode::Restart).map_err(failed) {
                Ok(true) => {
                    self.pages.store(0, Ordering::Relaxed);
                    self.restart_at = checkpoint::PAGES_RESTART;
                }
                // A long reader, such as a backup, still uses the log. The writer retries ever less
                // often, because it waits a little each time.
                Ok(false) => self.restart_at = pages + checkpoint::PAGES_PASSIVE.max(pages / 4),
                Err(Error::Stopped(reason)) => drop(self.stop.send_replace(Some(reason))),
                Err(error) => tracing::warn!("a checkpoint failed: {error}"),
            }
        } else if pages >= checkpoint::PAGES_PASSIVE {
            self.checkpointer.iter().for_each(Checkpointer::ask);
        }
    }

    /// Moves the write-ahead log into the database. Returns `false` if somebody still reads from
    /// the log; it then keeps growing, because the writer does not wait long.
    fn move_log(&self, mode: CheckpointMode) -> rusqlite::Result<bool> {
        let _paused = self.checkpointer.as_ref().map(Checkpointer::pause);
        self.connection.busy_timeout(checkpoint::READERS_TIMEOUT)?;
        let busy = self.connection.query_row(mode.statement(), [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(super::LOCK_TIMEOUT)?;
        Ok(busy? == 0)
    }
}

impl SqliteStatements {
    fn new() -> Self {
        let gates = rows::GATES.names();
        let insert = |table: &Table| {
            let places: Vec<_> = (1..=table.columns.len()).map(|n| format!("?{n}")).collect();
            let (name, columns) = (table.name, table.names());
            (name, format!("INSERT INTO {name} ({columns}) VALUES ({}){}", places.join(", "), table.on_conflict()))
        };
        Self {
            load_gate: format!("SELECT {gates} FROM gates WHERE id = ?1"),
            load_pending_duplicate: format!(
                "SELECT {gates} FROM gates WHERE requested_by = ?1 AND dedupe_key = ?2 AND status = 'pending'"
            ),
            load_question: format!("SELECT {} FROM questions WHERE id = ?1", rows::QUESTIONS.names()),
            load_halt: format!("SELECT {} FROM halts WHERE id = ?1", rows::HALTS.names()),
            load_run: format!("{} WHERE id = ?1", rows::select_runs()),
            load_gates_of_run: rows::select_gates_of("?1"),
            load_open_questions: format!(
                "SELECT {} FROM questions WHERE run_id = ?1 AND (status = 'pending' OR holds IS NOT NULL) ORDER BY asked_at, id",
                rows::QUESTIONS.names()
            ),
            load_entry: format!("SELECT {} FROM journal WHERE run_id = ?1 AND key = ?2", rows::JOURNAL.names()),
            load_token: format!("SELECT {} FROM tokens WHERE id = ?1", rows::TOKENS.names()),
            load_webhook: format!("SELECT {} FROM webhooks WHERE id = ?1", rows::WEBHOOKS.names()),
            load_webhook_named: format!(
                "SELECT {} FROM webhooks WHERE name = ?1 AND removed_at IS NULL",
                rows::WEBHOOKS.names()
            ),
            load_delivery: format!("{} WHERE id = ?1", rows::select_deliveries()),
            load_waiting: format!("{} WHERE {}", rows::select_deliveries(), query::LOAD_WAITING),
            insert: rows::WRITTEN.iter().map(insert).collect(),
        }
    }
}

impl SqliteJob {
    fn answer(self, answer: Result<WriteResult, Error>, forgotten: u64) {
        // A caller that is gone can ask again with the same idempotency key.
        match self {
            SqliteJob::Execute(_, reply) => drop(reply.send(answer)),
            SqliteJob::ForgetKeys(_, reply) | SqliteJob::CreateViews(_, reply) => drop(reply.send(answer.map(drop))),
            SqliteJob::Forget(.., reply) => drop(reply.send(answer.map(|_| forgotten))),
            SqliteJob::Scrub(reply) => drop(reply.send(answer.map(|_| false))),
        }
    }
}
