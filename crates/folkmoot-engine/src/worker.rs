//! A node's worker: claims runs that are ready, up to a limit, and releases them when they wait.
//!
//! A node is alive while its heartbeat is fresh. Afterwards others may claim its runs, each under a
//! higher epoch, and the old node's writes for them are refused.

mod drive;
mod replay;

use std::{
    any::Any,
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Event, Name, Outcome, Run, RunId, WorkflowName, node,
    run::{self, RunEvent},
};
use folkmoot_store::{Error, Store};
use futures_util::future::join_all;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

pub use replay::{ReplayOutcome, ReplayReport};

use crate::{
    Engine, Workflows,
    ctx::{PassEnd, PassWatch, SPINS},
    lock::lock,
    step_limit::FairStepLimit,
};

/// Check at least this often: another node may have died, or fired a timer.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many runs are claimed at once, so that they share commits.
const CLAIMS: usize = 64;
/// How long one poll of a workflow may take. A workflow only makes calls and waits, so a poll takes
/// moments.
const POLL_MAX: Duration = Duration::from_secs(10);

/// The limits of a node's worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// The number of runs that are executed at once. Parked runs do not count.
    pub runs_at_once: usize,
    /// The number of steps in flight, of all runs together.
    pub steps_at_once: usize,
    /// How long after a node's last heartbeat other nodes may claim its runs.
    pub lease: Duration,
    /// How long after its start the node claims its first run, so that a short-lived node begins
    /// nothing that it cannot end.
    pub begins_after: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self { runs_at_once: 1024, steps_at_once: 256, lease: Duration::from_secs(9), begins_after: Duration::ZERO }
    }
}

#[derive(Debug)]
pub(crate) struct Worker {
    node: Name,
    workflows: Workflows,
    names: Vec<WorkflowName>,
    lease: Duration,
    /// The end of the lease, by the store's clock. From then on others may claim this node's runs.
    alive_until_micros: AtomicI64,
    /// How often the lease has lapsed, so that others could have claimed this node's runs.
    lapses: AtomicU64,
    pub(crate) step_limit: FairStepLimit,
    slots: Arc<Semaphore>,
    /// The runs that this node executes. Sorted, so that a simulation is deterministic.
    active: Mutex<BTreeMap<RunId, Active>>,
    in_flight: Mutex<HashMap<(RunId, String), usize>>,
    /// Runs that this node may own but does not execute: the result of the claim is unknown, or the
    /// task that executed the run panicked.
    unattended: Mutex<Vec<RunId>>,
    ready: Notify,
}

#[derive(Debug)]
struct Active {
    epoch: u64,
    run: Run,
    gone: CancellationToken,
    watch: Arc<PassWatch>,
}

impl Worker {
    pub(crate) fn new(node: Name, workflows: Workflows, work: &WorkerSettings) -> Self {
        Self {
            node,
            names: workflows.names().cloned().collect(),
            workflows,
            lease: work.lease,
            alive_until_micros: AtomicI64::new(i64::MIN),
            lapses: AtomicU64::new(0),
            step_limit: FairStepLimit::new(work.steps_at_once.max(1)),
            slots: Arc::new(Semaphore::new(work.runs_at_once.max(1))),
            active: Mutex::default(),
            in_flight: Mutex::default(),
            unattended: Mutex::default(),
            ready: Notify::new(),
        }
    }

    pub(crate) fn has_workflows(&self) -> bool {
        !self.names.is_empty()
    }

    /// Fails if this node does not have the workflow. The error lists those that it has.
    pub(crate) fn must_know(&self, name: &WorkflowName) -> Result<(), String> {
        let known: Vec<_> = self.names.iter().map(|name| name.as_str()).collect();
        match known.as_slice() {
            _ if self.workflows.has(name) => Ok(()),
            [] => Err(format!("{name} is not known here: this node has no workflows")),
            known => Err(format!("{name} is not known here; use one of {}", known.join(", "))),
        }
    }

    /// Wakes the worker, because a run may be ready.
    pub(crate) fn nudge(&self) {
        self.ready.notify_one();
    }

    /// Records that a step is in flight until the returned guard is dropped.
    pub(crate) fn in_flight(&self, run: &RunId, key: &str) -> InFlight<'_> {
        let place = (run.clone(), key.to_owned());
        *lock(&self.in_flight).entry(place.clone()).or_default() += 1;
        InFlight { worker: self, place }
    }
}

pub(crate) struct InFlight<'a> {
    worker: &'a Worker,
    place: (RunId, String),
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.worker.in_flight);
        if let Some(count) = in_flight.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                in_flight.remove(&self.place);
            }
        }
    }
}

impl Engine {
    pub(crate) fn worker(&self) -> &Worker {
        &self.0.worker
    }

    /// This node's name. It is new at each start.
    pub fn node(&self) -> &Name {
        &self.0.worker.node
    }

    /// The number of runs that this node executes now.
    pub fn active_runs(&self) -> usize {
        lock(&self.0.worker.active).len()
    }

    /// The keys of the steps that are in flight on this node.
    pub fn steps_in_flight(&self) -> Vec<(RunId, String)> {
        let mut steps: Vec<_> = lock(&self.0.worker.in_flight).keys().cloned().collect();
        steps.sort();
        steps
    }

    /// Whether this node's lease holds, so that nobody else can have claimed its runs.
    pub(crate) fn has_lease(&self) -> bool {
        self.now().as_micros() < self.0.worker.alive_until_micros.load(Ordering::SeqCst)
    }

    /// The number of the present lease; `None` if it has lapsed. If two calls return the same
    /// number, nobody can have claimed this node's runs between them.
    pub(crate) fn lease(&self) -> Option<u64> {
        self.has_lease().then(|| self.0.worker.lapses.load(Ordering::SeqCst))
    }

    /// Sends a heartbeat, which renews the lease.
    pub(crate) async fn beat(&self, alone: bool) -> Result<(), Error> {
        let worker = self.worker();
        // Measured before sending, so that the lease does not end before this node believes it
        // does.
        let sent = self.now();
        let action = node::Action::Heartbeat { node: worker.node.clone(), span: worker.lease, alone };
        self.execute_command(self.system_command(action)).await?;
        if !self.has_lease() {
            // Before the new end is stored, so that a reader of the new lease also sees the lapse.
            worker.lapses.fetch_add(1, Ordering::SeqCst);
        }
        worker.alive_until_micros.store(sent.plus(worker.lease).as_micros(), Ordering::SeqCst);
        Ok(())
    }

    /// Sends the first heartbeat. If no other node can use the database, the previous node is dead,
    /// and its runs can be claimed before its lease is over.
    pub(crate) async fn begin_work(&self) -> Result<(), Error> {
        self.beat(!self.0.store.is_shared()).await
    }

    /// Releases this node's runs, so that others need not wait for the end of its lease.
    pub(crate) async fn leave(&self) {
        // A node without a heartbeat has no runs.
        if self.worker().alive_until_micros.load(Ordering::SeqCst) == i64::MIN {
            return;
        }
        lock(&self.worker().active).values().for_each(|active| active.gone.cancel());
        let action = node::Action::Leave { node: self.node().clone() };
        if let Err(error) = self.execute_command(self.system_command(action)).await {
            tracing::warn!("this node's runs stay its own until its lease is over: {error}");
        }
    }

    /// Restarts every run of this node from the database, after the database has lost the end of
    /// its log. A decision that a run has seen may be lost, and the run must not continue after a
    /// decision that was never made.
    pub(crate) fn restart_all_runs(&self) {
        let worker = self.worker();
        let stopped: Vec<RunId> = {
            let active = lock(&worker.active);
            active.values().for_each(|active| active.gone.cancel());
            active.keys().cloned().collect()
        };
        lock(&worker.unattended).extend(stopped);
        worker.nudge();
    }

    /// Applies the next event of the log.
    pub(crate) fn hear(&self, event: &Event) {
        let worker = self.worker();
        if !worker.has_workflows() {
            return;
        }
        let Some(run) = event.fact.stream.strip_prefix("run:") else {
            if frees(&event.fact.kind) {
                worker.nudge();
            }
            return;
        };
        match event.fact.kind.as_ref() {
            "run.started" | "run.reopened" => worker.nudge(),
            "run.ended" => {
                worker.nudge();
                self.end_with(run);
            }
            "run.claimed" | "run.resumed" => {
                let Ok(RunEvent::Claimed { epoch, .. }) = RunEvent::read(&event.fact) else { return };
                let active = lock(&worker.active);
                if let Some(active) = active.get(run).filter(|active| active.epoch < epoch) {
                    active.gone.cancel();
                }
            }
            _ => {}
        }
    }

    /// Stops executing a run that is over, and cancels its children on this node.
    fn end_with(&self, run: &str) {
        let active = lock(&self.worker().active);
        if let Some(active) = active.get(run) {
            active.gone.cancel();
        }
        let children =
            active.iter().filter(|(_, active)| active.run.start.parent.as_ref().is_some_and(|id| id.as_str() == run));
        for (child, _) in children {
            let (engine, child) = (self.clone(), child.clone());
            self.spawn(async move {
                // Retried until it succeeds: while this node executes the child, nobody else ends
                // it.
                while let Err(error) = engine.end_child(&child).await {
                    tracing::warn!(run.id = %child, "run {child}: cannot be ended just now: {error}");
                    engine.0.host.sleep(LOOK_EVERY).await;
                }
            });
        }
    }

    /// Cancels a run because its parent is over.
    async fn end_child(&self, run: &RunId) -> Result<(), Error> {
        let reason = "the run that started it is over".to_owned();
        match self.execute_command(self.system_command(run::Action::Cancel { run: run.clone(), reason })).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether an event of this kind may have woken a run.
fn frees(kind: &str) -> bool {
    matches!(
        kind,
        "gate.decided"
            | "question.answered"
            | "question.denied"
            | "question.skipped"
            | "question.expired"
            | "question.cancelled"
            | "question.fetched"
            | "halt.lifted"
    )
}

/// Sends heartbeats forever.
pub(crate) async fn live(engine: Engine, begins_after: Duration) {
    engine.0.host.sleep(begins_after).await;
    let beats = engine.worker().lease / 3;
    loop {
        engine.0.host.sleep(beats).await;
        while let Err(error) = engine.beat(false).await {
            tracing::warn!("this node cannot give a sign of life just now: {error}");
            engine.0.host.sleep(beats.min(LOOK_EVERY)).await;
        }
    }
}

/// Stops or fails runs whose workflow blocks its thread. Runs forever. The thread itself cannot be
/// stopped; it is free at the workflow's next call, or ends with the process.
pub(crate) async fn watch(engine: Engine) {
    loop {
        engine.0.host.sleep(LOOK_EVERY).await;
        let now = engine.now();
        let stuck: Vec<(Run, CancellationToken, bool)> = lock(&engine.worker().active)
            .values()
            .filter(|active| !active.gone.is_cancelled())
            .filter_map(|active| {
                let polled_for = active.watch.polled_for(now)?;
                let is_over = now >= active.watch.ends_at && polled_for >= LOOK_EVERY;
                (is_over || polled_for >= POLL_MAX).then(|| (active.run.clone(), active.gone.clone(), is_over))
            })
            .collect();
        for (run, gone, is_over) in stuck {
            let id = &run.start.id;
            tracing::error!(run.id = %id, "run {id}: {BLOCKS}");
            let end = if is_over { PassEnd::out_of_time(&run) } else { PassEnd::stop(SPINS, BLOCKS) };
            match engine.execute_command(engine.system_command(drive::action(&run, end))).await {
                // A refusal means that the run is over or belongs to another node. Then it is not
                // executed here either.
                Ok(_) | Err(Error::Refused(_)) => gone.cancel(),
                Err(error) => tracing::warn!(run.id = %id, "run {id}: cannot be stopped just now: {error}"),
            }
        }
    }
}

const BLOCKS: &str = "its workflow's code does not let go of its thread: it computes, blocks or loops without end between two calls, \
                      which is a defect of the workflow. Such work belongs into a step";

/// Claims ready runs forever. Sends the first heartbeat unless that was done already.
pub(crate) async fn work(engine: Engine, begins_after: Duration, begun: bool) {
    if !begun {
        engine.0.host.sleep(begins_after).await;
        loop {
            let beat = engine.begin_work().await;
            engine.note(&beat);
            let Err(error) = beat else { break };
            tracing::warn!("this node cannot begin to work just now: {error}");
            engine.0.host.sleep(LOOK_EVERY).await;
        }
    }
    let mut looks_for_orphans = true;
    let mut look = engine.0.host.sleep(LOOK_EVERY);
    loop {
        let took = take_ready(&engine, looks_for_orphans).await.unwrap_or_else(|error| {
            tracing::warn!("runs cannot be taken just now: {error}");
            false
        });
        looks_for_orphans = tokio::select! {
            biased;
            // First, and not restarted in each round, so that a busy node also finds the runs of
            // dead nodes.
            () = &mut look => true,
            // There may be more.
            () = std::future::ready(()), if took => false,
            () = engine.worker().ready.notified() => false,
        };
        if looks_for_orphans {
            look = engine.0.host.sleep(LOOK_EVERY);
        }
    }
}

/// Claims as many runs as possible, and returns whether there were any.
async fn take_ready(engine: &Engine, orphans: bool) -> Result<bool, Error> {
    let worker = engine.worker();
    let limit = worker.slots.available_permits().min(CLAIMS);
    if limit == 0 {
        return Ok(false);
    }
    if !engine.has_lease() {
        // This process was suspended, or could not reach the database.
        engine.beat(false).await?;
    }
    // Orphans come first, because there may always be enough ready runs.
    let mut found = Vec::new();
    if orphans {
        found.extend(engine.0.store.orphans(&worker.names, limit as u32).await?);
    }
    found.extend(engine.0.store.ready(&worker.names, limit as u32).await?);
    // Drained after everything that can fail, and no more than can be claimed, because nobody else
    // finds these runs again.
    let mut wanted: Vec<RunId> = {
        let mut unattended = lock(&worker.unattended);
        let count = limit.min(unattended.len());
        unattended.drain(..count).collect()
    };
    wanted.extend(found);
    // A second claim of the same run would displace the first. Runs beyond the limit are found
    // again.
    let mut seen = HashSet::new();
    wanted.retain(|id| seen.insert(id.clone()));
    wanted.truncate(limit);
    let claims = join_all(wanted.into_iter().map(|run| claim(engine, run))).await;
    let mut any = false;
    for claimed in claims {
        any |= claimed?;
    }
    Ok(any)
}

async fn claim(engine: &Engine, id: RunId) -> Result<bool, Error> {
    let worker = engine.worker();
    let Ok(slot) = worker.slots.clone().try_acquire_owned() else { return Ok(false) };
    let action = run::Action::Claim { run: id.clone(), node: worker.node.clone() };
    let claimed = match engine.execute_command(engine.system_command(action)).await {
        Ok(Outcome::Claimed(run, wakes)) => {
            let attended = engine.attend(&run, slot);
            let engine = engine.clone();
            engine.clone().spawn(async move {
                tokio::select! {
                    biased;
                    () = attended.gone.cancelled() => {}
                    () = drive::drive(&engine, *run, wakes, attended.gone.clone(), attended.watch.clone()) => {}
                }
                attended.ends();
            });
            Ok(true)
        }
        // The parent is over.
        Ok(_) => engine.end_child(&id).await.map(|()| true),
        // Another node was faster.
        Err(Error::Refused(_)) => Ok(false),
        Err(error) => Err(error),
    };
    if claimed.is_err() {
        lock(&worker.unattended).push(id);
    }
    claimed
}

/// A run that this node executes. If it is dropped before the execution has ended, the run becomes
/// unattended and is claimed again.
struct AttendedRun {
    engine: Engine,
    run: RunId,
    epoch: u64,
    gone: CancellationToken,
    watch: Arc<PassWatch>,
    slot: Option<OwnedSemaphorePermit>,
    ended: bool,
}

impl Engine {
    fn attend(&self, run: &Run, slot: OwnedSemaphorePermit) -> AttendedRun {
        let (id, epoch, gone) = (run.start.id.clone(), run.epoch, CancellationToken::new());
        let now = self.now();
        let watch = PassWatch::until(now.plus(run.start.limits.time_left(run, now)));
        let active = Active { epoch, run: run.clone(), gone: gone.clone(), watch: watch.clone() };
        if let Some(old) = lock(&self.worker().active).insert(id.clone(), active) {
            old.gone.cancel();
        }
        AttendedRun { engine: self.clone(), run: id, epoch, gone, watch, slot: Some(slot), ended: false }
    }
}

impl AttendedRun {
    fn ends(mut self) {
        self.ended = true;
    }
}

impl Drop for AttendedRun {
    fn drop(&mut self) {
        let worker = self.engine.worker();
        let mut active = lock(&worker.active);
        if active.get(&self.run).is_some_and(|active| active.epoch == self.epoch) {
            active.remove(&self.run);
            if !self.ended {
                lock(&worker.unattended).push(self.run.clone());
            }
        }
        drop(active);
        // The slot is freed first, because the worker checks for a free slot as soon as it is
        // woken.
        drop(self.slot.take());
        worker.nudge();
    }
}

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_else(|| "without a word".to_owned()))
}
