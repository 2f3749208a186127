//! The verbs of Folkmoot, and what goes on between them: deadlines that fire, waiters that wake,
//! the feed.
//!
//! Every door calls the same verb. A verb makes a command of what it was given and hands it to the
//! store; it holds no rule of its own. What follows a commit (waking, telling) is driven by the log
//! alone, so it does not matter which node wrote it.

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
mod debates;
mod deliveries;
mod feed;
mod gate_cache;
mod host;
mod lock;
mod questions;
mod receipt;
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
use folkmoot_store::{AnyStore, Page, Sqlite, SteadyClock, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use agent_limit::AgentLimit;
pub use audit::{VerificationReport, verify};
pub use check::PhasePassage;
pub use clearance::{ClearanceGranted, ClearanceRefused, HaltOverview, Release};
pub use commands::{ArtifactInput, Erasure, Minted, OpenRequest, OpenedGate, RecordedEntry};
pub use courier::{Courier, CourierFailure, CourierMessage};
pub use credentials::Credential;
pub use ctx::{Ctx, GateOutcome, GateSpec, OnUncertain, QuestionOutcome, QuestionSpec, Retry, Step};
pub use feed::FeedLag;
pub use folkmoot_core::{self as core, Principal, Role, Timeout};
pub use folkmoot_store::{
    Cursor, DebateQuery, DebateView, DeliveryQuery, Error, GateQuery, GateView, JournalQuery, LessonQuery, LessonView,
    LineQuery, QuestionQuery, QuestionView, RunQuery, TurnQuery, TurnView, VersionQuery, VersionView,
};
pub use host::{Host, HostTask, TokioHost};
pub use retention::Retention;
pub use runs::{RunWaitOutcome, WaitDetails};
pub use wait::Waiter;
pub use worker::{ReplayOutcome, ReplayReport, WorkerSettings};
pub use workflow::{Failure, Hindrance, Workflows};

/// What an engine is configured with.
#[derive(Clone, Debug, Default)]
pub struct EngineSettings {
    /// What holds for gates.
    pub gates: GatePolicy,
    /// What holds for questions.
    pub questions: QuestionPolicy,
    /// How much one agent may have open.
    pub quota: Quota,
    /// The workflows that this node executes.
    pub workflows: Workflows,
    /// How much it does at the same time.
    pub work: WorkerSettings,
    /// The channels that configuration names, beside the webhooks, and what each is told of.
    pub channels: Vec<Subscription>,
    /// Who carries messages to channels. Without one they wait.
    pub courier: Option<Arc<dyn Courier>>,
    /// The key that the courier signs webhooks with. Those whose secret is derived from another one
    /// are left to other nodes.
    pub key: Option<KeyId>,
    /// How long it keeps what it need not keep.
    pub retention: Retention,
}

/// The running engine. Clones are the same engine.
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

/// Who calls a verb, and how a repetition of the call is recognised.
#[derive(Clone, Debug)]
pub struct Caller {
    /// From the credential.
    pub principal: Principal,
    /// The token that it showed. `None` for a program that embeds an engine, and vouches for whom
    /// it names.
    pub token: Option<TokenId>,
    /// How the request says that a person made it.
    pub claims: Option<Presence>,
    /// From the caller's key, if it sent one.
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
    /// Starts an engine on a SQLite file of its own, making it if it is not there: all that a
    /// program needs to embed one. Nobody else may have the file open for writing.
    pub async fn on_file(path: impl AsRef<Path>, settings: EngineSettings) -> Result<Self, Error> {
        let store = Sqlite::open(path.as_ref(), Arc::new(SteadyClock::default()))?;
        Self::start(AnyStore::Sqlite(store), settings, Arc::new(TokioHost)).await
    }

    /// Starts the engine on a store. On return everything is recovered; overdue gates fire from now
    /// on, and could not be approved before.
    pub async fn start(store: AnyStore, settings: EngineSettings, host: Arc<dyn Host>) -> Result<Self, Error> {
        let EngineSettings { gates: policy, questions, quota, workflows, work, channels, courier, key, retention } =
            settings;
        policy.check()?;
        let (last, holds) = store.holds().await?;
        let barred = store.barred().await?;
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
                    // What is there can be read, and the work begins when there is room.
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

    /// Ends the engine's own tasks and closes the store. What was acknowledged is durable without
    /// it.
    pub async fn close(&self) {
        self.0.closing.cancel();
        self.finish_deliveries().await;
        self.leave().await;
        self.0.store.close().await;
    }

    /// The clock that judging goes by.
    pub fn now(&self) -> Timestamp {
        self.0.store.now()
    }

    /// Whether the database answers.
    pub async fn ready(&self) -> Result<(), Error> {
        self.0.store.head().await.map(drop)
    }

    /// Returns when whoever writes has answered, whatever the answer was; `false` if nothing can be
    /// written any more, or if so much waits that it could not even be asked.
    pub async fn is_alive(&self) -> bool {
        // A write that changes nothing: SQLite's writer must take it up, and nothing is synced for
        // it.
        let answered = self.0.store.forget_keys(Timestamp::from_micros(0)).await;
        !matches!(answered, Err(Error::Stopped(_) | Error::Busy))
    }

    /// Why nothing can be written, as far as is known: the last write failed so, and none has
    /// succeeded since.
    pub fn trouble(&self) -> Option<String> {
        lock::lock(&self.0.trouble).clone()
    }

    fn note<T>(&self, written: &Result<T, Error>) {
        match written {
            Ok(_) => *lock::lock(&self.0.trouble) = None,
            Err(error @ (Error::Full | Error::Unavailable(_) | Error::Database(_))) => {
                *lock::lock(&self.0.trouble) = Some(error.to_string());
            }
            // These say nothing about the next.
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

    /// Returns once nothing can be written any more, with the reason.
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

    /// Refuses to tell a decision that is not the log's: a disk can change what is on it, and so
    /// can people.
    async fn must_agree(&self, gate: &Gate) -> Result<(), Error> {
        if gate.decision().is_none() {
            return Ok(());
        }
        let mut events = self.0.store.streams(vec![gate.id.to_string()]).await?;
        // Of a gate that is decided only more refusals can have come since it was read.
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

    /// Pending gates with their requesters interleaved: the most urgent one of each, then the
    /// second of each, and so on. So nobody's gates hide another's, however many there are. At most
    /// `limit`, and of at most as many requesters; there is no next page.
    pub async fn interleaved_gates(&self, principal: &Principal, limit: u32) -> Result<Vec<GateView>, Error> {
        let of = |requester: Name, limit: u32, after: Option<Cursor>| {
            let query = GateQuery {
                status: Some(GateStatus::Pending),
                requester: Some(requester),
                after,
                limit,
                ..GateQuery::default()
            };
            self.gates(principal, query)
        };
        let requesters = self.0.store.requesters(limit).await?;
        let each = limit.div_ceil(u32::try_from(requesters.len()).unwrap_or(u32::MAX).max(1)).max(1);
        let mut pages = Vec::with_capacity(requesters.len());
        for requester in requesters {
            pages.push((requester.clone(), of(requester, each, None).await?));
        }
        let mut missing =
            limit as usize - pages.iter().map(|(_, page)| page.items.len()).sum::<usize>().min(limit as usize);
        for (requester, page) in pages.iter_mut().filter(|(_, page)| page.next.is_some()) {
            if missing > 0 {
                let more = of(requester.clone(), missing as u32, page.next.take()).await?.items;
                missing -= more.len();
                page.items.extend(more);
            }
        }
        let ranked = pages.into_iter().flat_map(|(_, page)| page.items.into_iter().enumerate());
        let mut ranked: Vec<(usize, GateView)> = ranked.collect();
        let key = |(rank, GateView { gate, .. }): &(usize, GateView)| {
            (*rank, std::cmp::Reverse(gate.content.risk), gate.deadline.as_micros(), gate.requested_at, gate.id.clone())
        };
        ranked.sort_by_cached_key(key);
        ranked.truncate(limit as usize);
        Ok(ranked.into_iter().map(|(_, view)| view).collect())
    }

    /// Whether there is such a run and `principal` started it: whatever belongs to it may then be
    /// seen.
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

    /// The bytes behind each digest that a gate or a question shows; `None` where they are unknown
    /// or were erased.
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
