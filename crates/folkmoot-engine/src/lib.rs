//! The engine: Folkmoot's verbs, deadlines, waiters and the feed.
//!
//! HTTP, the command line and embedding programs call the same verbs. A verb makes a command and
//! sends it to the store; it contains no rules. What follows a commit (waking, sending) is driven
//! only by the log, so it does not matter which node wrote it.

mod agent_limit;
mod audit;
mod channels;
mod check;
mod checkpoint;
mod clearance;
mod commands;
mod courier;
mod credentials;
mod ctx;
mod deadlines;
mod deliveries;
mod feed;
mod gate_cache;
mod host;
mod interleave;
mod lock;
mod questions;
mod receipt;
mod records;
mod refusals;
mod retention;
mod runs;
mod shared_head_read;
pub mod sim;
mod step_limit;
mod wait;
mod worker;
mod workflow;

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use folkmoot_core::{
    CommandId, Digest, Gate, GateId, GateStatus, Idempotency, KeyId, Name, Presence, Quota, Refusal, RunId, Timestamp,
    TokenId,
    audit::{AuditProblem, AuditedRow, check_row},
    delivery::Subscription,
    gate::GatePolicy,
    question::QuestionPolicy,
};
use folkmoot_store::{AnyStore, Sqlite, SteadyClock, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use agent_limit::AgentLimit;
pub use audit::{VerificationReport, verify};
pub use check::PhasePassage;
pub use clearance::{ClearanceGranted, ClearanceRefused, HaltOverview, Release};
pub use commands::{ArtifactInput, ErasedContent, Minted, OpenRequest, OpenedGate, RecordedEntry};
pub use courier::{Courier, CourierFailure, CourierMessage};
pub use credentials::Credential;
pub use ctx::{Ctx, GateOutcome, GateSpec, OnUncertain, QuestionOutcome, QuestionSpec, Retry, Step};
pub use feed::FeedLag;
pub use folkmoot_core::{self as core, Principal, Role, Timeout};
pub use folkmoot_store::{
    Cursor, DeliveryQuery, Error, GateQuery, GateView, JournalQuery, Page, QuestionQuery, QuestionView, RunQuery,
    RunSummaryQuery,
};
pub use host::{Host, HostTask, TokioHost};
pub use retention::Retention;
pub use runs::{RunWaitOutcome, WaitDetails};
pub use wait::Waiter;
pub use worker::{ReplayOutcome, ReplayReport, WorkerSettings};
pub use workflow::{Failure, Hindrance, Workflows};

#[derive(Clone, Debug, Default)]
pub struct EngineSettings {
    pub gates: GatePolicy,
    pub questions: QuestionPolicy,
    pub quota: Quota,
    pub workflows: Workflows,
    pub work: WorkerSettings,
    /// The configured channels and their events.
    pub channels: Vec<Subscription>,
    /// Sends messages. Without one they wait.
    pub courier: Option<Arc<dyn Courier>>,
    /// The key that signs webhooks. Webhooks of another key are left to other nodes.
    pub key: Option<KeyId>,
    pub retention: Retention,
}

/// The running engine. Clones share it.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: AnyStore,
    host: Arc<dyn Host>,
    policy: GatePolicy,
    questions: QuestionPolicy,
    quota: Quota,
    refusals: refusals::Refusals,
    agent_writes: AgentLimit,
    channels: channels::ChannelRegistry,
    clearance: clearance::ClearanceTracker,
    credentials: credentials::Credentials,
    deadlines: deadlines::Deadlines,
    deliveries: deliveries::Deliveries,
    waiters: wait::Waiters,
    gate_cache: gate_cache::GateCache,
    shared_head_read: shared_head_read::SharedHeadRead,
    worker: worker::Worker,
    retention: Retention,
    /// Why the last write failed, if it did.
    trouble: Mutex<Option<String>>,
    /// See [`Engine::log_epoch`].
    epoch: watch::Receiver<u64>,
    closing: CancellationToken,
}

/// The caller of a verb, and how to recognise a repeated call.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Principal,
    /// `None` for an embedding program, which vouches for the principal.
    pub token: Option<TokenId>,
    /// How the request claims that a person made it.
    pub claims: Option<Presence>,
    pub idempotency: Option<Idempotency>,
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self { principal, token: None, claims: None, idempotency: None }
    }
}

impl From<Credential> for Caller {
    fn from(Credential { principal, token }: Credential) -> Self {
        Self { principal, token: Some(token), claims: None, idempotency: None }
    }
}

impl Engine {
    /// Starts an engine on its own SQLite file, creating it if necessary. For programs that embed
    /// the engine. No other process may write to the file.
    pub async fn on_file(path: impl AsRef<Path>, settings: EngineSettings) -> Result<Self, Error> {
        let store = Sqlite::open(path.as_ref(), Arc::new(SteadyClock::default()))?;
        Self::start(AnyStore::Sqlite(store), settings, Arc::new(TokioHost)).await
    }

    /// Starts the engine on a store. On return everything is recovered. Overdue gates fire from now
    /// on; they could not be approved before.
    pub async fn start(store: AnyStore, settings: EngineSettings, host: Arc<dyn Host>) -> Result<Self, Error> {
        let EngineSettings { gates: policy, questions, quota, workflows, work, channels, courier, key, retention } =
            settings;
        policy.check()?;
        let (last, holds) = store.holds().await?;
        let barred = store.barred().await?;
        for views in workflows.views() {
            match store.create_views(views).await {
                // Not fatal: the records exist, and only SQL queries need the views.
                Err(Error::Full) => tracing::error!("the views of workflows cannot be made: {}", Error::Full),
                created => created?,
            }
        }
        let started_at = store.now();
        let node =
            format!("node-{:016x}", host.random() as u64).parse().expect("letters, digits and a dash are a name");
        let engine = Self(Arc::new(Inner {
            epoch: store.epoch(),
            store,
            host: host.clone(),
            policy,
            questions,
            quota,
            refusals: refusals::Refusals::default(),
            agent_writes: AgentLimit::new(commands::AGENT_WRITES_MAX),
            channels: channels::ChannelRegistry::new(channels, key),
            clearance: clearance::ClearanceTracker::new(last, holds, started_at),
            credentials: credentials::Credentials::default(),
            deadlines: deadlines::Deadlines::default(),
            deliveries: deliveries::Deliveries::new(courier),
            waiters: wait::Waiters::default(),
            gate_cache: gate_cache::GateCache::without(barred),
            shared_head_read: shared_head_read::SharedHeadRead::default(),
            worker: worker::Worker::new(node, workflows, &work),
            retention,
            trouble: Mutex::default(),
            closing: CancellationToken::new(),
        }));
        engine.reload_credentials().await?;
        engine.reload_webhooks().await?;
        engine.spawn(feed::tail(engine.clone(), last));
        engine.spawn(deadlines::watch(engine.clone()));
        engine.spawn(retention::keep(engine.clone()));
        if engine.0.deliveries.has_courier() {
            engine.spawn(deliveries::watch(engine.clone()));
        }
        if engine.worker().has_workflows() {
            let mut begun = false;
            if work.begins_after.is_zero() {
                let beat = engine.begin_work().await;
                engine.note(&beat);
                match beat {
                    Ok(()) => begun = true,
                    // Reading works; the work begins when there is room.
                    Err(Error::Full) => tracing::error!("nothing can be written: {}", Error::Full),
                    Err(error) => return Err(error),
                }
            }
            engine.spawn(worker::live(engine.clone(), work.begins_after));
            engine.spawn(worker::work(engine.clone(), work.begins_after, begun));
            engine.spawn(worker::watch(engine.clone()));
        }
        Ok(engine)
    }

    /// Ends the engine's tasks and closes the store. Acknowledged data is durable without it.
    pub async fn close(&self) {
        self.0.closing.cancel();
        self.finish_deliveries().await;
        self.leave().await;
        self.0.store.close().await;
    }

    /// The clock that judging uses.
    pub fn now(&self) -> Timestamp {
        self.0.store.now()
    }

    /// Whether the database answers.
    pub async fn ready(&self) -> Result<(), Error> {
        self.0.store.head().await.map(drop)
    }

    /// Returns when the writer has answered in any way; `false` if nothing can be written any more,
    /// or the queue is full.
    pub async fn is_alive(&self) -> bool {
        // A write that changes nothing: SQLite's writer must handle it, and nothing is synced.
        let answered = self.0.store.forget_keys(Timestamp::from_micros(0)).await;
        !matches!(answered, Err(Error::Stopped(_) | Error::Busy))
    }

    /// Why writing fails: the last write failed, and none has succeeded since.
    pub fn trouble(&self) -> Option<String> {
        lock::lock(&self.0.trouble).clone()
    }

    fn note<T>(&self, written: &Result<T, Error>) {
        match written {
            Ok(_) => *lock::lock(&self.0.trouble) = None,
            Err(error @ (Error::Full | Error::Unavailable(_) | Error::Database(_))) => {
                *lock::lock(&self.0.trouble) = Some(error.to_string());
            }
            // These say nothing about the next write.
            Err(_) => {}
        }
    }

    /// How many gates are pending.
    pub async fn pending(&self) -> Result<u64, Error> {
        self.0.store.pending().await
    }

    /// How many commands wait to be written.
    pub fn queued(&self) -> usize {
        self.0.store.queued()
    }

    /// Returns the reason when nothing can be written any more.
    pub async fn stopped(&self) -> String {
        self.0.store.stopped().await
    }

    /// One gate, if `principal` may know of it.
    pub async fn gate(&self, principal: &Principal, id: &GateId) -> Result<GateView, Error> {
        let found = self.0.store.gate(id).await?;
        let unknown = || Refusal::UnknownGate { gate: id.clone() };
        let view = found.filter(|view| principal.may_see(&view.gate)).ok_or_else(unknown)?;
        self.must_agree(&view.gate).await?;
        Ok(view)
    }

    /// Refuses to return a decision that differs from the log: a disk or a person may have changed
    /// it.
    async fn must_agree(&self, gate: &Gate) -> Result<(), Error> {
        if gate.decision().is_none() {
            return Ok(());
        }
        let mut events = self.0.store.streams(vec![gate.id.to_string()]).await?;
        // After a decision, only refusals can have been added since the read.
        events.retain(|event| event.fact.stream_seq <= gate.seq);
        let row = AuditedRow::Gate(Box::new(gate.clone()));
        match check_row(gate.id.as_str(), Some(&row), &events) {
            Some(AuditProblem { at, problem }) => Err(Error::Unreadable(format!("gate {at}: {problem}"))),
            None => Ok(()),
        }
    }

    /// A page of the gates that `principal` may know of.
    pub async fn gates(&self, principal: &Principal, mut query: GateQuery) -> Result<Page<GateView>, Error> {
        if !principal.role.sees_everything() && !self.is_own_run(principal, query.run.as_ref()).await? {
            if query.requester.as_ref().is_some_and(|asked| *asked != principal.name) {
                return Ok(Page { items: Vec::new(), next: None });
            }
            query.requester = Some(principal.name.clone());
        }
        self.0.store.gates(query).await
    }

    /// Pending gates, alternating between requesters: the most urgent of each, then the second of
    /// each, and so on, so that nobody's gates hide another's. The requester of a workflow's gate
    /// is whoever started the run. At most `limit`, without a next page.
    pub async fn interleaved_gates(
        &self,
        principal: &Principal,
        limit: u32,
        brief: bool,
    ) -> Result<Vec<GateView>, Error> {
        let of = |requester: Name, limit: u32, after: Option<Cursor>| {
            let (status, requester) = (Some(GateStatus::Pending), Some(requester));
            self.gates(principal, GateQuery { status, requester, brief, after, limit, ..GateQuery::default() })
        };
        let urgency = |GateView { gate, .. }: &GateView| {
            (std::cmp::Reverse(gate.content.risk), gate.deadline.as_micros(), gate.requested_at, gate.id.clone())
        };
        interleave::interleave(self.0.store.requesters(limit).await?, limit, of, urgency).await
    }

    /// Whether `principal` started this run and so may see what belongs to it.
    async fn is_own_run(&self, principal: &Principal, run: Option<&RunId>) -> Result<bool, Error> {
        let Some(run) = run else { return Ok(false) };
        Ok(self.0.store.run(run).await?.is_some_and(|run| run.start.initiator == principal.name))
    }

    /// The text of a gate's summary, unless it was erased.
    pub async fn summary(&self, gate: &Gate) -> Result<Option<String>, Error> {
        let digest = gate.content.summary;
        if let Some(text) = self.0.gate_cache.text(digest) {
            return Ok(Some(text));
        }
        let found = self.contents(vec![digest]).await?.into_iter().next().flatten();
        Ok(found.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// The bytes of each digest that a gate or question shows; `None` if unknown or erased.
    pub async fn contents(&self, digests: Vec<Digest>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        if digests.is_empty() {
            return Ok(Vec::new());
        }
        self.0.store.contents(digests).await
    }

    /// The text behind a digest that a run has recorded, unless it was erased.
    pub(crate) async fn recorded(&self, digest: Option<Digest>) -> Result<Option<String>, Error> {
        let Some(digest) = digest else { return Ok(None) };
        let found = self.0.store.recorded(vec![digest]).await?.into_iter().next().flatten();
        Ok(found.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.0.closing.clone();
        self.0.host.spawn(Box::pin(async move {
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = task => {}
            }
        }));
    }

    fn new_command_id(&self) -> CommandId {
        format!("cmd-{:032x}", self.0.host.random()).parse().expect("letters, digits and a dash are an id")
    }
}
