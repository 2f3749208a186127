//! One pass through a workflow: its state in memory while a worker executes its run.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    thread::ThreadId,
    time::Duration,
};

use folkmoot_core::{
    Action, Actor, Deadline, Name, Outcome, Refusal, Run, Timestamp,
    journal::{Entry, EntryKey, EntryState, Fence, JournalWrite, NewEntry, StepError, Write},
    run::{self, Conclusion, Outage},
};
use folkmoot_store::{Error, JournalLine};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::CtxCall;
use crate::{Engine, Failure, lock::lock};

/// The delay before a failed write or read is retried.
pub(crate) const AGAIN: Duration = Duration::from_millis(200);
/// The code of a replay that has reached the end of the record.
pub(crate) const NOT_RECORDED: &str = "not_recorded";
/// The code of a run that is stopped because its workflow never waits.
pub(crate) const SPINS: &str = "spins";
/// The maximum number of joins in a row without another call. Only an endless loop makes more.
const EMPTY_JOINS_MAX: u32 = 10_000;

/// When a pass must end, and since when its workflow is being polled. Shared with the task that
/// watches over the worker's passes.
#[derive(Debug)]
pub(crate) struct PassWatch {
    /// When the run will have used up its working time.
    pub(crate) ends_at: Timestamp,
    /// The start of the current poll in microseconds; `i64::MIN` while the workflow is not polled.
    polled_since: AtomicI64,
}

impl PassWatch {
    pub(crate) fn until(ends_at: Timestamp) -> Arc<Self> {
        Arc::new(Self { ends_at, polled_since: AtomicI64::new(i64::MIN) })
    }

    /// How long the current poll has taken; `None` while the workflow is not polled.
    pub(crate) fn polled_for(&self, now: Timestamp) -> Option<Duration> {
        match self.polled_since.load(Ordering::SeqCst) {
            i64::MIN => None,
            since => Some(now.since(Timestamp::from_micros(since))),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) engine: Engine,
    pub(crate) run: Run,
    /// Entries of earlier passes that this pass has not reached yet.
    journal: Mutex<HashMap<EntryKey, JournalLine>>,
    /// The keys that this pass has used.
    used: Mutex<HashSet<EntryKey>>,
    /// The number of calls that work or read now. It changes only while the workflow is polled.
    busy: AtomicUsize,
    /// The thread that polls the workflow now.
    polled_by: Mutex<Option<ThreadId>>,
    waits: Mutex<BTreeMap<u64, Wait>>,
    next_wait: AtomicU64,
    /// Raised when every waiting branch must check again what it waits for.
    look_again: watch::Sender<u64>,
    ended: Mutex<Option<PassEnd>>,
    /// Cancelled when the run is over or belongs to another worker. Everything in flight is then
    /// dropped.
    pub(crate) gone: CancellationToken,
    /// Whether this is a replay: calls are answered only from the record, and nothing is executed
    /// or written.
    replays: bool,
    watch: Arc<PassWatch>,
    /// Raised whenever something that the `Ctx` knows of begins, ends or is retried.
    progress: AtomicU64,
    /// The number of joins since the last other call.
    empty_joins: AtomicU32,
}

/// What a branch waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A gate, a question or another run, whose end wakes this run.
    Wake,
    Until(Timestamp),
    /// Clearance of this agent.
    Clearance(Name),
    /// A model provider that is unavailable.
    Provider(Outage),
}

/// Why a pass ends before the workflow's function does.
#[derive(Clone, Debug)]
pub(crate) enum PassEnd {
    /// The run stops until a person looks at it.
    Stop { code: String, message: String, at: Option<EntryKey> },
    /// The run has reached a limit and fails.
    Fail(Conclusion),
}

impl PassEnd {
    pub(crate) fn stop(code: &str, message: impl Into<String>) -> Self {
        PassEnd::Stop { code: code.to_owned(), message: message.into(), at: None }
    }

    /// Adds the call that caused the end.
    pub(crate) fn at(self, key: &EntryKey) -> Self {
        match self {
            PassEnd::Stop { code, message, .. } => PassEnd::Stop { code, message, at: Some(key.clone()) },
            PassEnd::Fail(conclusion) => PassEnd::Fail(conclusion),
        }
    }

    /// The end of a run that has used up its working time.
    pub(crate) fn out_of_time(run: &Run) -> Self {
        let message = format!("it has used up its {} milliseconds of work", run.start.limits.active_ms_max);
        PassEnd::Fail(Conclusion::Failed { code: "limit_exceeded".to_owned(), message })
    }

    pub(crate) fn changed(run: &Run, key: &EntryKey, differs: String) -> Self {
        PassEnd::refused(&Refusal::Changed { run: run.start.id.clone(), key: key.clone(), differs }).at(key)
    }

    fn refused(refusal: &Refusal) -> Self {
        PassEnd::stop(refusal.code(), refusal.to_string())
    }
}

/// Marks a call that works, or that waits in a way that does not allow parking the run.
pub(crate) struct Busy<'a>(&'a Pass);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        self.0.progresses();
    }
}

/// A branch of a workflow that waits. Dropping it ends the wait.
pub(crate) struct WaitingBranch<'a> {
    pass: &'a Pass,
    number: u64,
}

impl Drop for WaitingBranch<'_> {
    fn drop(&mut self) {
        lock(&self.pass.waits).remove(&self.number);
        self.pass.progresses();
    }
}

impl Pass {
    pub(crate) fn new(
        engine: Engine,
        run: Run,
        journal: Vec<JournalLine>,
        gone: CancellationToken,
        watch: Arc<PassWatch>,
    ) -> Self {
        Self {
            engine,
            run,
            journal: Mutex::new(journal.into_iter().map(|line| (line.entry.key.clone(), line)).collect()),
            used: Mutex::default(),
            busy: AtomicUsize::new(0),
            polled_by: Mutex::default(),
            waits: Mutex::default(),
            next_wait: AtomicU64::new(0),
            look_again: watch::Sender::new(0),
            ended: Mutex::default(),
            gone,
            replays: false,
            watch,
            progress: AtomicU64::new(0),
            empty_joins: AtomicU32::new(0),
        }
    }

    /// A pass that only replays the record.
    pub(crate) fn replaying(engine: Engine, run: Run, journal: Vec<JournalLine>, gone: CancellationToken) -> Self {
        let watch = PassWatch::until(Timestamp::from_micros(i64::MAX));
        Self { replays: true, ..Self::new(engine, run, journal, gone, watch) }
    }

    fn progresses(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// A counter of progress. If two calls return the same number, nothing that the `Ctx` knows of
    /// happened between them.
    pub(crate) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Never returns if the run is over, belongs to another worker, or has used up its time. This
    /// also ends a poll that would otherwise go on forever.
    pub(super) async fn must_be_allowed(&self) {
        if self.gone.is_cancelled() {
            std::future::pending::<()>().await;
        }
        if self.engine.now() >= self.watch.ends_at {
            self.end(PassEnd::out_of_time(&self.run)).await
        }
    }

    /// Never returns if the workflow only makes joins, one after another.
    pub(super) async fn must_not_only_join(&self, key: &str) {
        if self.empty_joins.fetch_add(1, Ordering::Relaxed) >= EMPTY_JOINS_MAX {
            let message = format!(
                "its workflow made {EMPTY_JOINS_MAX} joins in a row, up to {key:?}, and no other call: its code loops without \
                 end, which is a defect of the workflow"
            );
            self.end(PassEnd::stop(SPINS, message)).await
        }
    }

    /// Never returns in a replay: the result of this call is not recorded.
    pub(super) async fn stop_if_replaying(&self, key: &EntryKey) {
        if self.replays {
            self.end(PassEnd::stop(NOT_RECORDED, format!("what {key} gave is not recorded")).at(key)).await
        }
    }

    /// The keys of recorded calls that the workflow has not made.
    pub(crate) fn unused(&self) -> Vec<String> {
        let mut unused: Vec<String> = lock(&self.journal).keys().map(ToString::to_string).collect();
        unused.sort();
        unused
    }

    /// Polls the workflow.
    pub(crate) fn polls<T>(&self, poll: impl FnOnce() -> T) -> T {
        *lock(&self.polled_by) = Some(std::thread::current().id());
        self.watch.polled_since.store(self.engine.now().as_micros(), Ordering::SeqCst);
        let (mut poll, mut polled) = (Some(poll), None);
        self.engine.0.host.poll(&mut || polled = poll.take().map(|poll| poll()));
        self.watch.polled_since.store(i64::MIN, Ordering::SeqCst);
        *lock(&self.polled_by) = None;
        polled.expect("a host polls when it is told to")
    }

    /// # Panics
    ///
    /// If this is called by a step, or by a task that the workflow has spawned: once the step is
    /// recorded, no replay would make the call again; it would wait for a turn that the step has;
    /// and the run could be parked while it works.
    pub(super) fn must_be_polled(&self, key: &str) {
        let polled = *lock(&self.polled_by) == Some(std::thread::current().id());
        assert!(polled, "step {key:?} is called outside its workflow's function: a step must not use the Ctx");
    }

    /// Whether every branch waits for something that can wake the run.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.load(Ordering::SeqCst) == 0
    }

    /// Whether no branch waits for anything that the `Ctx` knows of. The workflow then awaits
    /// something else, and is stuck.
    pub(crate) fn waits_for_nothing(&self) -> bool {
        lock(&self.waits).is_empty()
    }

    /// When the first sleep or outage is over.
    pub(crate) fn due(&self) -> Deadline {
        let waits = lock(&self.waits);
        let moments = waits.values().filter_map(|wait| match wait {
            Wait::Until(moment) | Wait::Provider(Outage { retry_at: moment, .. }) => Some(Deadline::At(*moment)),
            Wait::Wake | Wait::Clearance(_) => None,
        });
        moments.min().unwrap_or(Deadline::Never)
    }

    /// The agents that wait for clearance.
    pub(crate) fn held(&self) -> Vec<Name> {
        let waits = lock(&self.waits);
        let mut held: Vec<Name> = waits
            .values()
            .filter_map(|wait| match wait {
                Wait::Clearance(agent) => Some(agent.clone()),
                Wait::Wake | Wait::Until(_) | Wait::Provider(_) => None,
            })
            .collect();
        held.sort();
        held.dedup();
        held
    }

    /// The providers that branches wait for, each with its earliest retry.
    pub(crate) fn outages(&self) -> Vec<Outage> {
        let waits = lock(&self.waits);
        let mut outages: Vec<Outage> = waits
            .values()
            .filter_map(|wait| match wait {
                Wait::Provider(outage) => Some(outage.clone()),
                Wait::Wake | Wait::Until(_) | Wait::Clearance(_) => None,
            })
            .collect();
        outages.sort_by(|one, other| (&one.provider, one.retry_at).cmp(&(&other.provider, other.retry_at)));
        outages.dedup_by(|later, first| later.provider == first.provider);
        outages
    }

    /// Takes the reason why the pass cannot continue, if there is one.
    pub(crate) fn ended(&self) -> Option<PassEnd> {
        lock(&self.ended).take()
    }

    /// Makes every waiting branch check again.
    pub(crate) fn look_again(&self) {
        self.look_again.send_modify(|n| *n += 1);
    }

    /// Changes when a waiting branch must check again. Subscribe before checking, so that no change
    /// is missed.
    pub(super) fn next_look(&self) -> watch::Receiver<u64> {
        self.look_again.subscribe()
    }

    pub(super) fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        self.progresses();
        Busy(self)
    }

    pub(super) fn waiting(&self, wait: Wait) -> WaitingBranch<'_> {
        let number = self.next_wait.fetch_add(1, Ordering::Relaxed);
        lock(&self.waits).insert(number, wait);
        self.progresses();
        WaitingBranch { pass: self, number }
    }

    /// Ends the pass. Never returns: the workflow's function is dropped here.
    pub(super) async fn end<T>(&self, end: PassEnd) -> T {
        lock(&self.ended).get_or_insert(end);
        std::future::pending().await
    }

    /// Marks a key as used. Returns `false` if this pass has used it before.
    pub(super) fn use_key(&self, key: &EntryKey) -> bool {
        self.progresses();
        lock(&self.used).insert(key.clone())
    }

    /// Records that a call other than a join was made.
    pub(super) fn has_called(&self) {
        self.empty_joins.store(0, Ordering::Relaxed);
    }

    /// Takes the entry that is recorded under this key. A pass uses each key only once, so the
    /// entry need not stay in memory.
    pub(super) fn recorded(&self, key: &EntryKey) -> Option<JournalLine> {
        lock(&self.journal).remove(key)
    }

    /// Writes to the journal. Returns when the entry is durable, and never if the run no longer
    /// belongs to this worker. A refusal is a failure that the workflow can handle. It is recorded
    /// too, so that a replay under another policy finds the same answer and does nothing twice.
    pub(super) async fn record(
        &self,
        call: &CtxCall,
        agent: Option<&Name>,
        began_at: Timestamp,
        write: Write,
    ) -> Result<Entry, Failure> {
        match self.write(call, agent, began_at, write).await {
            Ok(entry) => Ok(entry),
            Err(refusal) => {
                let error = StepError::new(refusal.code(), refusal.to_string());
                Err(self.fail(call, agent, began_at, error).await)
            }
        }
    }

    /// Records that a call has finally failed, and returns the failure as later passes will find
    /// it.
    pub(super) async fn fail(
        &self,
        call: &CtxCall,
        agent: Option<&Name>,
        began_at: Timestamp,
        error: StepError,
    ) -> Failure {
        match self.write(call, agent, began_at, Write::Failed(error)).await {
            Ok(Entry { state: EntryState::Failed { error }, .. }) => Failure::of(error),
            Ok(entry) => self.end(PassEnd::stop("store", format!("a failure was recorded, and {entry:?} came"))).await,
            Err(refusal) => Failure::new(refusal.code(), refusal.to_string()),
        }
    }

    async fn write(
        &self,
        call: &CtxCall,
        agent: Option<&Name>,
        began_at: Timestamp,
        write: Write,
    ) -> Result<Entry, Refusal> {
        let _busy = self.busy();
        let entry = NewEntry {
            key: call.key.clone(),
            kind: call.kind,
            ordinal: call.ordinal,
            input: call.input,
            agent_id: agent.cloned(),
            began_at,
        };
        let fence = Fence::Epoch(self.run.epoch);
        let journal_write = JournalWrite { run: self.run.start.id.clone(), fence, entry, write };
        match self.persist(run::Action::Record(Box::new(journal_write))).await {
            Ok(Outcome::Entry(entry) | Outcome::Stands(entry)) => Ok(*entry),
            Ok(other) => self.end(PassEnd::stop("store", format!("an entry was expected, and {other:?} came"))).await,
            Err(refusal @ Refusal::Changed { .. }) => self.end(PassEnd::refused(&refusal)).await,
            Err(refusal @ Refusal::LimitExceeded { .. }) => {
                let (code, message) = (refusal.code().to_owned(), refusal.to_string());
                self.end(PassEnd::Fail(Conclusion::Failed { code, message })).await
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Writes for this run, and retries until the database answers. Never returns if the run is
    /// over or belongs to another worker.
    pub(crate) async fn persist(&self, action: impl Into<Action>) -> Result<Outcome, Refusal> {
        let action = action.into();
        if self.replays {
            return self
                .end(PassEnd::stop(NOT_RECORDED, format!("a replay writes nothing, and this is {}", action.word())))
                .await;
        }
        loop {
            let by = Actor::Principal(self.run.speaker());
            let command = self.engine.command_by(by, action.clone());
            match self.engine.execute_command(command).await {
                Ok(outcome) => return Ok(outcome),
                Err(Error::Refused(Refusal::LeaseLost { .. } | Refusal::RunEnded { .. })) => {
                    self.gone.cancel();
                    std::future::pending::<()>().await;
                }
                Err(Error::Refused(refusal)) => return Err(refusal),
                Err(Error::Stopped(reason)) => {
                    tracing::warn!(run.id = %self.run.start.id, "run {}: {reason}", self.run.start.id);
                    self.gone.cancel();
                    std::future::pending::<()>().await;
                }
                Err(error) => {
                    // Also if it is unknown whether it was written: writing it again then finds the
                    // existing entry.
                    let run = &self.run.start.id;
                    tracing::warn!(run.id = %run, "run {run}: cannot be written just now: {error}");
                    self.engine.0.host.sleep(AGAIN).await;
                    self.progresses();
                }
            }
        }
    }

    /// Reads for this run, and retries until the database answers.
    pub(super) async fn read<T, F>(&self, query: impl Fn(Engine) -> F) -> T
    where
        F: Future<Output = Result<T, Error>>,
    {
        let _busy = self.busy();
        loop {
            match query(self.engine.clone()).await {
                Ok(found) => return found,
                Err(Error::Stopped(_)) => {
                    self.gone.cancel();
                    std::future::pending::<()>().await;
                }
                Err(error) => {
                    let run = &self.run.start.id;
                    tracing::warn!(run.id = %run, "run {run}: cannot be read just now: {error}");
                    self.engine.0.host.sleep(AGAIN).await;
                    self.progresses();
                }
            }
        }
    }
}
