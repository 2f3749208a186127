//! One pass through a workflow: what it has in memory while a worker has its run.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::ThreadId,
    time::Duration,
};

use folkmoot_core::{
    Action, Actor, Deadline, Name, Outcome, Refusal, Run, Timestamp,
    journal::{Entry, EntryState, Fence, Key, NewEntry, Recording, StepError, Write},
    run::Conclusion,
};
use folkmoot_store::{Error, Line};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Call;
use crate::{Engine, Failure, lock::lock};

/// How long after the database did not answer it is asked again.
pub(crate) const AGAIN: Duration = Duration::from_millis(200);
/// Why a replay cannot go on that has come to the end of what is recorded.
pub(crate) const NOT_RECORDED: &str = "not_recorded";

#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) engine: Engine,
    pub(crate) run: Run,
    /// What earlier passes have recorded, and this one has not come to yet.
    journal: Mutex<HashMap<Key, Line>>,
    /// The keys that this pass has used.
    used: Mutex<HashSet<Key>>,
    /// How many calls work or read just now. Only ever changed while the workflow is polled.
    busy: AtomicUsize,
    /// The thread that polls the workflow just now.
    polled_by: Mutex<Option<ThreadId>>,
    waits: Mutex<BTreeMap<u64, Wait>>,
    next_wait: AtomicU64,
    /// Goes up when everything that is waited for is to be looked at again.
    look_again: watch::Sender<u64>,
    halted: Mutex<Option<Halt>>,
    /// The run is over, or another's: whatever is in flight is dropped.
    pub(crate) gone: CancellationToken,
    /// Nothing is executed and nothing written: only what is recorded answers.
    replays: bool,
}

/// What a branch waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A gate, a question or another run: its end wakes this run.
    Wake,
    /// A moment.
    Until(Timestamp),
    /// This agent's clearance.
    Clearance(Name),
}

/// Why a pass ends before the workflow's function does.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    /// Somebody must look at it.
    Stop { code: String, message: String, at: Option<Key> },
    /// It has used up what it may.
    Fail(Conclusion),
}

impl Halt {
    pub(crate) fn stop(code: &str, message: impl Into<String>) -> Self {
        Halt::Stop { code: code.to_owned(), message: message.into(), at: None }
    }

    /// The same, and which call it is about.
    pub(crate) fn at(self, key: &Key) -> Self {
        match self {
            Halt::Stop { code, message, .. } => Halt::Stop { code, message, at: Some(key.clone()) },
            Halt::Fail(conclusion) => Halt::Fail(conclusion),
        }
    }

    pub(crate) fn changed(run: &Run, key: &Key, differs: String) -> Self {
        Halt::refused(&Refusal::Changed { run: run.start.id.clone(), key: key.clone(), differs }).at(key)
    }

    fn refused(refusal: &Refusal) -> Self {
        Halt::stop(refusal.code(), refusal.to_string())
    }
}

/// Something that a call does itself, or waits for without being able to park.
pub(crate) struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A branch that waits.
pub(crate) struct Waiting<'a> {
    pass: &'a Pass,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.pass.waits).remove(&self.number);
    }
}

impl Pass {
    pub(crate) fn new(engine: Engine, run: Run, journal: Vec<Line>, gone: CancellationToken) -> Self {
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
            halted: Mutex::default(),
            gone,
            replays: false,
        }
    }

    /// A pass that only looks.
    pub(crate) fn replaying(engine: Engine, run: Run, journal: Vec<Line>, gone: CancellationToken) -> Self {
        Self { replays: true, ..Self::new(engine, run, journal, gone) }
    }

    /// Never returns in a pass that only looks.
    pub(super) async fn must_act(&self, key: &Key) {
        if self.replays {
            self.halt(Halt::stop(NOT_RECORDED, format!("what {key} gave is not recorded")).at(key)).await
        }
    }

    /// What is recorded and was not asked for.
    pub(crate) fn unused(&self) -> Vec<String> {
        let mut unused: Vec<String> = lock(&self.journal).keys().map(ToString::to_string).collect();
        unused.sort();
        unused
    }

    /// Polls the workflow.
    pub(crate) fn polls<T>(&self, poll: impl FnOnce() -> T) -> T {
        *lock(&self.polled_by) = Some(std::thread::current().id());
        let polled = poll();
        *lock(&self.polled_by) = None;
        polled
    }

    /// # Panics
    ///
    /// If this is called by a step, or by a task that the workflow has spawned: once the step is recorded, no replay would
    /// make the call again; it would wait for a turn that the step has; and the run could be parked while it works.
    pub(super) fn must_be_polled(&self, key: &str) {
        let polled = *lock(&self.polled_by) == Some(std::thread::current().id());
        assert!(polled, "step {key:?} is called outside its workflow's function: a step must not use the Ctx");
    }

    /// Whether every branch waits for something that can wake the run.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.load(Ordering::SeqCst) == 0
    }

    /// Whether no branch waits for anything that the `Ctx` knows of.
    pub(crate) fn waits_for_nothing(&self) -> bool {
        lock(&self.waits).is_empty()
    }

    /// The moment that the first sleep is over.
    pub(crate) fn due(&self) -> Deadline {
        let waits = lock(&self.waits);
        let moments = waits.values().filter_map(|wait| match wait {
            Wait::Until(moment) => Some(Deadline::At(*moment)),
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
                Wait::Wake | Wait::Until(_) => None,
            })
            .collect();
        held.sort();
        held.dedup();
        held
    }

    /// Why the pass cannot go on, if it cannot.
    pub(crate) fn halted(&self) -> Option<Halt> {
        lock(&self.halted).take()
    }

    /// Everything that is waited for may have changed.
    pub(crate) fn look_again(&self) {
        self.look_again.send_modify(|n| *n += 1);
    }

    /// Resolves when everything that is waited for is to be looked at again. Taken before the look that it follows.
    pub(super) fn next_look(&self) -> watch::Receiver<u64> {
        self.look_again.subscribe()
    }

    pub(super) fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        Busy(&self.busy)
    }

    pub(super) fn waiting(&self, wait: Wait) -> Waiting<'_> {
        let number = self.next_wait.fetch_add(1, Ordering::Relaxed);
        lock(&self.waits).insert(number, wait);
        Waiting { pass: self, number }
    }

    /// Ends the pass. The workflow's function never hears of it: it is dropped where it is.
    pub(super) async fn halt<T>(&self, halt: Halt) -> T {
        lock(&self.halted).get_or_insert(halt);
        std::future::pending().await
    }

    /// `false` where this pass has used the key before.
    pub(super) fn use_key(&self, key: &Key) -> bool {
        lock(&self.used).insert(key.clone())
    }

    /// What is recorded under this key, once: no pass uses a key twice, and what it was told need not stay in memory.
    pub(super) fn recorded(&self, key: &Key) -> Option<Line> {
        lock(&self.journal).remove(key)
    }

    /// Writes to the journal. Returns when it is durable; never, where the run is no longer this worker's. What the
    /// rules refuse is the workflow's to handle, and is recorded too: it goes on from there, and must not find another
    /// answer when it is replayed under another policy, or do again what it has done.
    pub(super) async fn record(
        &self,
        call: &Call,
        agent: Option<&Name>,
        began_at: Timestamp,
        write: Write,
    ) -> Result<Entry, Failure> {
        match self.write(call, agent, began_at, write).await {
            Ok(entry) => Ok(entry),
            Err(refusal) => {
                let error = StepError { code: refusal.code().to_owned(), message: refusal.to_string() };
                Err(self.fail(call, agent, began_at, error).await)
            }
        }
    }

    /// Records that a call has failed for good, and returns the failure as every later pass finds it.
    pub(super) async fn fail(
        &self,
        call: &Call,
        agent: Option<&Name>,
        began_at: Timestamp,
        error: StepError,
    ) -> Failure {
        match self.write(call, agent, began_at, Write::Failed(error)).await {
            Ok(Entry { state: EntryState::Failed { error }, .. }) => Failure::of(error),
            Ok(entry) => self.halt(Halt::stop("store", format!("a failure was recorded, and {entry:?} came"))).await,
            Err(refusal) => Failure::new(refusal.code(), refusal.to_string()),
        }
    }

    async fn write(
        &self,
        call: &Call,
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
        let recording = Recording { run: self.run.start.id.clone(), fence, entry, write };
        match self.persist(Action::Record(Box::new(recording))).await {
            Ok(Outcome::Entry(entry) | Outcome::Stands(entry)) => Ok(*entry),
            Ok(other) => self.halt(Halt::stop("store", format!("an entry was expected, and {other:?} came"))).await,
            Err(refusal @ Refusal::Changed { .. }) => self.halt(Halt::refused(&refusal)).await,
            Err(refusal @ Refusal::LimitExceeded { .. }) => {
                let (code, message) = (refusal.code().to_owned(), refusal.to_string());
                self.halt(Halt::Fail(Conclusion::Failed { code, message })).await
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Writes for this run, for as long as it takes: what is only told late is not lost. Never returns where the run is
    /// over, or another worker's.
    pub(crate) async fn persist(&self, action: Action) -> Result<Outcome, Refusal> {
        if self.replays {
            return self.halt(Halt::stop(NOT_RECORDED, format!("a replay does not {}", action.word()))).await;
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
                    // Also where nobody knows whether it was written: what stands is found when it is written again.
                    let run = &self.run.start.id;
                    tracing::warn!(run.id = %run, "run {run}: cannot be written just now: {error}");
                    self.engine.0.host.sleep(AGAIN).await;
                }
            }
        }
    }

    /// Reads for this run, for as long as it takes.
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
                }
            }
        }
    }
}
