//! Steps: work that is executed, recorded, and answered from the record from then on.

use std::{fmt, marker::PhantomData, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use folkmoot_core::{
    Digest, Gate, Name, Timestamp,
    gate::{Choice, DecisionWord, GateKind, Risk},
    journal::{Entry, EntryKind, EntryState, StepError, Write},
    run::Outage,
};
use folkmoot_store::JournalLine;
use futures_util::FutureExt;
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::oneshot;

use super::{Ctx, CtxCall, GateSpec, PassEnd, canonical, digest_of, pass::Wait};
use crate::{Failure, Hindrance, Timeout, host::guarded, step_limit::StepPermit};

/// The default timeout of an attempt. A model that never answers must not hold up its run forever.
const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// How long an attempt that has timed out may take to end.
const LET_GO: Duration = Duration::from_secs(1);

/// How long a step waits that has a permit but may not begin yet.
const NOT_YET: Duration = Duration::from_millis(50);

/// How a failed step is retried.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The maximum number of attempts, including the first.
    pub attempts: u32,
    /// The delay before the second attempt.
    pub backoff: Duration,
    /// The factor by which the delay grows after each attempt.
    pub factor: f64,
    /// The longest delay.
    pub backoff_max: Duration,
    /// The codes of errors that are retried; all errors if empty.
    pub codes: Vec<String>,
}

impl Default for Retry {
    /// One attempt, without a retry.
    fn default() -> Self {
        Self {
            attempts: 1,
            backoff: Duration::from_secs(1),
            factor: 2.0,
            backoff_max: Duration::from_secs(300),
            codes: Vec::new(),
        }
    }
}

impl Retry {
    /// This number of attempts. The delay is one second at first, and doubles after each attempt.
    pub fn times(attempts: u32) -> Self {
        Self { attempts, ..Self::default() }
    }

    /// The delay before the next attempt; `None` if there is no further attempt.
    fn again(&self, tried: u32, failure: &Failure) -> Option<Duration> {
        let worth = self.codes.is_empty() || self.codes.contains(&failure.code);
        let grown = self.backoff.as_secs_f64() * self.factor.powi(i32::try_from(tried).unwrap_or(i32::MAX) - 1);
        let wait = Duration::try_from_secs_f64(grown).unwrap_or(self.backoff_max).min(self.backoff_max);
        (worth && tried < self.attempts).then_some(wait)
    }
}

/// What happens to a `once` step if it is unknown whether it was done: its node died, or it timed
/// out, while it was in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUncertain {
    /// A gate asks a person. The step is never repeated automatically.
    #[default]
    Ask,
    /// The step is done again.
    Retry,
    /// The step fails.
    Fail,
}

/// A step. It runs when it is awaited.
#[must_use = "a step does nothing until it is awaited"]
pub struct Step<T, W> {
    ctx: Ctx,
    key: String,
    work: W,
    kind: EntryKind,
    input: Option<Digest>,
    agent: Option<Name>,
    retry: Retry,
    timeout: Timeout,
    on_uncertain: OnUncertain,
    gives: PhantomData<fn() -> T>,
}

impl Ctx {
    /// Executes `work` and records its result under `key`. If a result is recorded already, returns
    /// that instead. If the node dies while the step is in flight, the step is done again, unless
    /// it is [`Step::once`].
    pub fn step<T, F, W>(&self, key: impl Into<String>, work: W) -> Step<T, W>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
        W: Fn() -> F + Send + Sync + 'static,
    {
        Step {
            ctx: self.clone(),
            key: key.into(),
            work,
            kind: EntryKind::Step,
            input: None,
            agent: None,
            retry: Retry::default(),
            timeout: Timeout::After(STEP_TIMEOUT),
            on_uncertain: OnUncertain::default(),
            gives: PhantomData,
        }
    }
}

impl<T, W> fmt::Debug for Step<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("key", &self.key).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<T, W> Step<T, W> {
    /// Marks a step whose effect must not happen twice. The intent is recorded before the work
    /// begins.
    pub fn once(mut self) -> Self {
        self.kind = EntryKind::Once;
        self
    }

    /// What happens if it is unknown whether the step was done.
    pub fn on_uncertain(mut self, on_uncertain: OnUncertain) -> Self {
        self.on_uncertain = on_uncertain;
        self
    }

    /// The input of the step. If the workflow passes another input when it is replayed, the run is
    /// stopped.
    pub fn input(mut self, input: &impl Serialize) -> Self {
        self.input = digest_of(&canonical(input));
        self
    }

    /// The agent that does the step; by default the run's own. It needs clearance as `agent@run`.
    /// An operator's halt of the bare name holds it too.
    pub fn agent(mut self, agent: Name) -> Self {
        self.agent = Some(agent);
        self
    }

    /// How the step is retried.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How long one attempt may take; default ten minutes.
    pub fn timeout(mut self, timeout: impl Into<Timeout>) -> Self {
        self.timeout = timeout.into();
        self
    }
}

impl<T, W, F> IntoFuture for Step<T, W>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    W: Fn() -> F + Send + Sync + 'static,
{
    type Output = Result<T, Failure>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Step { ctx, key, work, kind, input, agent, retry, timeout, on_uncertain, gives: _ } = self;
        let work = Arc::new(work);
        // The code below handles every result as JSON, whatever its type.
        let attempt = move || -> AttemptFuture {
            let work = work.clone();
            Box::pin(async move {
                let result = work().await?;
                serde_json::to_string(&result).map_err(Failure::from)
            })
        };
        let job = StepJob { ctx, key, kind, input, agent, retry, timeout, on_uncertain, attempt: Box::new(attempt) };
        Box::pin(async move {
            let result = job.run().await?;
            let misfit = |error| Failure::new("invalid_result", format!("what is recorded does not fit: {error}"));
            serde_json::from_str(&result).map_err(misfit)
        })
    }
}

type AttemptFuture = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;

struct StepJob {
    ctx: Ctx,
    key: String,
    kind: EntryKind,
    input: Option<Digest>,
    agent: Option<Name>,
    retry: Retry,
    timeout: Timeout,
    on_uncertain: OnUncertain,
    attempt: Box<dyn Fn() -> AttemptFuture + Send + Sync>,
}

/// How an attempt ended.
enum AttemptEnd {
    Done(String),
    Failed(Failure),
    /// It timed out, and it is unknown what it did.
    OutOfTime,
    /// A `once` step was not begun, because its node was suspended for so long that another may
    /// have claimed the run.
    NotBegun,
}

/// What to do about a `once` step of which it is unknown whether it was done.
enum Uncertain {
    /// Do it again.
    Redo,
    /// It was done, and this is the result.
    AlreadyDone(String),
    /// Let it fail.
    Failed(Failure),
}

impl StepJob {
    async fn run(self) -> Result<String, Failure> {
        let (call, known) = self.ctx.call(self.kind, &self.key, self.input).await;
        let mut tried = 0;
        if let Some(JournalLine { entry, result }) = known {
            tried = entry.attempts;
            match &entry.state {
                EntryState::Done { .. } => return self.remembered(&entry, result),
                EntryState::Failed { error } => return Err(Failure::of(error.clone())),
                EntryState::Failing { error, retry_at } => {
                    self.ctx.pass.stop_if_replaying(&call.key).await;
                    match outage(error, *retry_at) {
                        // The run was resumed since, so the provider is tried at once.
                        Some(_) if self.ctx.pass.run.resumed_at.is_some_and(|resumed| resumed > entry.at) => {}
                        Some(outage) => self.ctx.wait_for(outage).await,
                        None => self.ctx.wait_until(*retry_at).await,
                    }
                }
                EntryState::Begun | EntryState::Waiting(_) => {
                    if let Some(settled) = self.settle(&call, tried).await {
                        return settled;
                    }
                }
            }
        }
        self.ctx.pass.stop_if_replaying(&call.key).await;
        loop {
            let (began_at, permit, lease) = self.begin(&call, &mut tried).await?;
            // In flight until the result is recorded, because nobody knows of it before that.
            let in_flight = self.ctx.pass.engine.worker().in_flight(&self.ctx.pass.run.start.id, call.key.as_str());
            let ended = self.try_once(lease).await;
            drop(permit);
            let failure = match ended {
                AttemptEnd::NotBegun => continue,
                AttemptEnd::Done(result) => {
                    self.ctx.pass.record(&call, Some(&self.agent()), began_at, Write::Done(result.clone())).await?;
                    return Ok(result);
                }
                AttemptEnd::OutOfTime if self.kind == EntryKind::Once => {
                    drop(in_flight);
                    match self.settle(&call, tried).await {
                        Some(settled) => return settled,
                        None => continue,
                    }
                }
                AttemptEnd::OutOfTime => Failure::new("timeout", "the step took longer than it may"),
                AttemptEnd::Failed(failure) => failure,
            };
            if let Some(hindrance) = &failure.hindrance {
                let wait = self.hindered(&call, began_at, &failure, hindrance, tried).await?;
                drop(in_flight);
                self.ctx.wait_for(wait).await;
                continue;
            }
            let error = failure.as_step_error();
            let Some(pause) = self.retry.again(tried, &failure) else {
                return Err(self.ctx.pass.fail(&call, Some(&self.agent()), began_at, error).await);
            };
            let retry_at = self.ctx.pass.engine.now().plus(pause);
            self.ctx.pass.record(&call, Some(&self.agent()), began_at, Write::Failing(error, retry_at)).await?;
            drop(in_flight);
            self.ctx.wait_until(retry_at).await;
        }
    }

    /// Records an attempt that failed for a reason outside the step, and returns what to wait for.
    /// Never returns if the run must stop for a person.
    async fn hindered(
        &self,
        call: &CtxCall,
        began_at: Timestamp,
        failure: &Failure,
        hindrance: &Hindrance,
        tried: u32,
    ) -> Result<Outage, Failure> {
        let (pass, error) = (&self.ctx.pass, failure.as_step_error());
        let pause = match hindrance {
            Hindrance::Outage { retry_after, .. } => outage_pause(tried, *retry_after),
            Hindrance::NeedsPerson => Duration::ZERO,
        };
        let retry_at = pass.engine.now().plus(pause);
        let write = Write::Failing(error.clone(), retry_at);
        let entry = pass.record(call, Some(&self.agent()), began_at, write).await?;
        let Hindrance::Outage { provider, wait_max, .. } = hindrance else {
            return pass.end(PassEnd::stop(&failure.code, &failure.message).at(&call.key)).await;
        };
        let since = pass.run.resumed_at.map_or(entry.began_at, |resumed| resumed.max(entry.began_at));
        if retry_at.since(since) > *wait_max {
            let waited = wait_max.as_secs().div_ceil(60);
            let message = format!(
                "provider {provider} gave no answer for {waited} minutes: {}. Nothing is lost; resume this run when it is back",
                failure.message
            );
            return pass.end(PassEnd::stop(PROVIDER_AWAY, message).at(&call.key)).await;
        }
        let outage = Outage { provider: provider.clone(), reason: error.message, retry_at };
        tracing::warn!(run.id = %pass.run.start.id, provider, "step {} waits for provider {provider}", call.key);
        Ok(outage)
    }

    fn agent(&self) -> Name {
        self.agent.clone().unwrap_or_else(|| self.ctx.pass.run.agent())
    }

    fn remembered(&self, entry: &Entry, result: Option<String>) -> Result<String, Failure> {
        let erased = || Failure::new("erased", format!("the result of step {} was erased", entry.key));
        result.ok_or_else(erased)
    }

    /// Waits for clearance and for a permit, and records the intent of a `once` step. Returns the
    /// lease under which the intent is valid.
    async fn begin(&self, call: &CtxCall, tried: &mut u32) -> Result<(Timestamp, StepPermit, Option<u64>), Failure> {
        let (pass, agent) = (&self.ctx.pass, self.agent());
        let permit = loop {
            self.ctx.clearance(&agent).await;
            let _busy = pass.busy();
            let permit = pass.engine.worker().step_limit.take(&pass.run.start.id).await;
            // According to the store: the agent may have been halted while the step waited, or on
            // another node.
            if pass.engine.is_cleared_in(&pass.run, &agent).await && pass.engine.has_lease() {
                break permit;
            }
            drop(permit);
            pass.engine.0.host.sleep(NOT_YET).await;
        };
        let began_at = pass.engine.now();
        *tried += 1;
        let mut lease = None;
        if self.kind == EntryKind::Once {
            let _busy = pass.busy();
            loop {
                lease = pass.engine.lease();
                // The journal's count. If the outcome of the first write was unknown, the intent
                // was written twice. A gate that asks about this attempt must have the same key in
                // a replay.
                *tried = pass.record(call, Some(&agent), began_at, Write::Begin).await?.attempts;
                // If this node was suspended after the write, it may have lost the run, and a
                // person may have said that the step was not done. Writing once more finds out.
                if lease.is_some() && pass.engine.lease() == lease {
                    break;
                }
                pass.engine.0.host.sleep(NOT_YET).await;
            }
        }
        Ok((began_at, permit, lease))
    }

    /// Makes one attempt, in a task of its own. It continues while other branches are polled, and
    /// ends with the pass. If there is a lease, it begins only while that lease holds.
    async fn try_once(&self, lease: Option<u64>) -> AttemptEnd {
        let pass = &self.ctx.pass;
        let _busy = pass.busy();
        let gone = pass.gone.child_token();
        let _dropped = gone.clone().drop_guard();
        let ends = gone.clone();
        let (tell, told) = oneshot::channel();
        let attempt = AssertUnwindSafe((self.attempt)()).catch_unwind();
        // Outside the task, so that an attempt that blocks its thread times out too.
        let over = match self.timeout {
            Timeout::After(span) => pass.engine.0.host.sleep(span),
            Timeout::Never => Box::pin(std::future::pending()),
        };
        let engine = pass.engine.clone();
        let attempt = Box::pin(async move {
            // Checked as late as possible, because the node may have been suspended since the
            // intent was recorded.
            let taken_away = lease.is_some() && engine.lease() != lease;
            let ended = tokio::select! {
                biased;
                () = std::future::ready(()), if taken_away => AttemptEnd::NotBegun,
                () = ends.cancelled() => return,
                done = attempt => match done {
                    Ok(Ok(result)) => AttemptEnd::Done(result),
                    Ok(Err(failure)) => AttemptEnd::Failed(failure),
                    Err(panic) => AttemptEnd::Failed(Failure::new("panicked", crate::worker::panic_text(panic.as_ref()))),
                },
            };
            // Nobody listens if the pass has ended or the attempt has timed out.
            let _ = tell.send(ended);
        });
        pass.engine.0.host.spawn(guarded(pass.engine.0.host.clone(), attempt));
        let mut told = told;
        tokio::select! {
            biased;
            told = &mut told => match told {
                Ok(ended) => ended,
                // The task was dropped, and so is everything else of this pass.
                Err(_) => std::future::pending().await,
            },
            () = over => {
                gone.cancel();
                // Waits until the attempt is dropped before the workflow continues, unless it
                // blocks its thread.
                tokio::select! {
                    biased;
                    _ = &mut told => {}
                    () = pass.engine.0.host.sleep(LET_GO) => {}
                }
                AttemptEnd::OutOfTime
            }
        }
    }

    /// Resolves a step of which it is unknown whether it was done; `None` if it must be done.
    async fn settle(&self, call: &CtxCall, tried: u32) -> Option<Result<String, Failure>> {
        let fate = match self.on_uncertain {
            OnUncertain::Retry => Uncertain::Redo,
            OnUncertain::Fail => Uncertain::Failed(uncertain(&call.key, "and its policy is to fail then")),
            OnUncertain::Ask => self.ask(call, tried).await,
        };
        let began_at = self.ctx.pass.engine.now();
        let agent = self.agent();
        match fate {
            Uncertain::Redo => None,
            Uncertain::AlreadyDone(result) => {
                let written = self.ctx.pass.record(call, Some(&agent), began_at, Write::Done(result.clone())).await;
                Some(written.map(|_| result))
            }
            Uncertain::Failed(failure) => {
                Some(Err(self.ctx.pass.fail(call, Some(&agent), began_at, failure.as_step_error()).await))
            }
        }
    }

    /// Asks a person, again if the answer cannot be used.
    async fn ask(&self, call: &CtxCall, tried: u32) -> Uncertain {
        for asked in 1.. {
            let key = format!("{}?{tried}.{asked}", self.key);
            let decided = match self.ctx.gate_at(&key, 0, self.request(call, tried)).await {
                Ok(decided) => decided,
                Err(failure) => return Uncertain::Failed(failure),
            };
            let by = &decided.decision.reviewer;
            match (decided.decision.decision, decided.edited) {
                (DecisionWord::Approved | DecisionWord::Override, _) => return Uncertain::Redo,
                (DecisionWord::AdjustRequested | DecisionWord::AdjustStrategy, Some(result)) => {
                    if serde_json::from_str::<serde::de::IgnoredAny>(&result).is_ok() {
                        return Uncertain::AlreadyDone(result);
                    }
                }
                (DecisionWord::AdjustRequested | DecisionWord::AdjustStrategy, None) => {}
                (word, _) => return Uncertain::Failed(uncertain(&call.key, &format!("and a gate was {word} by {by}"))),
            }
        }
        unreachable!("a gate is asked until it has an answer")
    }

    fn request(&self, call: &CtxCall, tried: u32) -> GateSpec {
        let (key, run) = (&call.key, &self.ctx.pass.run.start);
        let workflow = run.workflow.as_ref().map_or("its workflow", |name| name.as_str());
        GateSpec::new(format!(
            "Step {key} of run {} ({workflow}) was begun {tried} time(s), and nobody knows whether it was done: its node \
             ended, or its time was over, while it was in flight. It must not happen twice, so somebody has to look.\n\n\
             - approve: it was not done; do it now\n\
             - adjust, with its result as JSON in `edited`: it was done; go on with that result\n\
             - reject: the step fails",
            run.id
        ))
        .title(format!("{WAS}{key}{DONE}"))
        .kind(GateKind::Proposal)
        .risk(Risk::High)
        .allow([Choice::Approve, Choice::Reject, Choice::Adjust])
        .timeout(Timeout::Never)
    }
}

/// The code of a run that is stopped because a provider was unavailable for too long.
const PROVIDER_AWAY: &str = "provider_away";
/// The pause after the first failed attempt to reach a provider. It doubles after each further
/// attempt, up to [`OUTAGE_PAUSE_MAX`].
const OUTAGE_PAUSE: Duration = Duration::from_secs(5);
const OUTAGE_PAUSE_MAX: Duration = Duration::from_secs(300);
/// The longest pause if the provider says when to retry.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

fn outage_pause(tried: u32, retry_after: Option<Duration>) -> Duration {
    let doubled = OUTAGE_PAUSE.saturating_mul(1 << tried.saturating_sub(1).min(16)).min(OUTAGE_PAUSE_MAX);
    retry_after.map_or(doubled, |wanted| wanted.min(RETRY_AFTER_MAX).max(doubled))
}

/// The outage that a recorded attempt ran into, if it was one.
fn outage(error: &StepError, retry_at: Timestamp) -> Option<Outage> {
    Some(Outage { provider: error.provider.clone()?, reason: error.message.clone(), retry_at })
}

const WAS: &str = "Was ";
const DONE: &str = " done?";

/// The key of the step about which a gate asks whether it was done.
pub(crate) fn step_asked_about(gate: &Gate) -> Option<&str> {
    gate.content.title.strip_prefix(WAS)?.strip_suffix(DONE)
}

fn uncertain(key: &folkmoot_core::journal::EntryKey, why: &str) -> Failure {
    Failure::new("uncertain", format!("nobody knows whether step {key} was done, {why}"))
}

impl Ctx {
    /// Returns when, to this node's knowledge, the agent has clearance in this run's session. The
    /// run can be parked meanwhile.
    async fn clearance(&self, agent: &Name) {
        let engine = &self.pass.engine;
        loop {
            let (mut look, mut changes) = (self.pass.next_look(), engine.clearance_changes());
            let Some(held) = engine.held_as(&self.pass.run, agent) else { return };
            let _waiting = self.pass.waiting(Wait::Clearance(held));
            tokio::select! {
                biased;
                // An error means that the engine has ended, and this future with it.
                _ = look.changed() => {}
                _ = changes.changed() => {}
                () = engine.0.host.sleep(crate::worker::LOOK_EVERY) => {}
            }
        }
    }

    /// Returns at `moment`. The run can be parked meanwhile.
    pub(super) async fn wait_until(&self, moment: Timestamp) {
        self.wait(moment, Wait::Until(moment)).await;
    }

    /// Returns when the provider should be tried again. The run can be parked meanwhile.
    async fn wait_for(&self, outage: Outage) {
        self.wait(outage.retry_at, Wait::Provider(outage)).await;
    }

    async fn wait(&self, moment: Timestamp, wait: Wait) {
        let engine = &self.pass.engine;
        while engine.now() < moment {
            let left = moment.since(engine.now());
            let _waiting = self.pass.waiting(wait.clone());
            // In short sleeps: the clock may jump, or pass while the machine is suspended, and a
            // sleep does not notice that.
            engine.0.host.sleep(left.min(crate::worker::LOOK_EVERY)).await;
        }
    }
}
