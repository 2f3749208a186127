//! A model call as a step of a run: asked once, recorded with all that it took, and only remembered
//! after that.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{Digest, Name, gate::Risk};
use folkmoot_engine::{Ctx, Failure, GateSpec, Hindrance};
use folkmoot_llm::{
    FailureKind, Model, ModelAnswer, ModelCallRecord, ModelRequest, Prompts,
    budget::{Budget, BudgetedModel, SharedBudget, Spent, dollars},
    continued,
    price::Price,
    record::CallOutcome,
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The longest answer. It is in the recording of its own call and, where it cannot be read, in that
/// of the next, which asks for it again; a recording that the journal does not take would end the
/// run.
const ANSWER_BYTES_MAX: usize = 512 * 1024;

/// What the engine says of a step that took longer than it may.
const OUT_OF_TIME: &str = "timeout";

/// How long a run waits for a provider that is away, limits us or wants to be paid, unless the
/// configuration says. Then it stops, and can be resumed.
pub const OUTAGE_WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a call is made again at once that broke off after the vendor had begun to charge for
/// it.
const BROKEN_OFF_MAX: u32 = 4;
/// How often one call can find the budget spent. Each time somebody has given it once more.
const EXCEEDED_MAX: u32 = 1_000;

/// What one run may spend on models, and what happens when that is not enough.
#[derive(Clone, Debug)]
pub struct RunBudget {
    shared_budget: Arc<SharedBudget>,
    on_exceeded: OnExceeded,
    outage_wait_max: Duration,
    /// The gates about the budget, by how often it had been given. Whoever finds it spent waits for
    /// the same gate.
    gates: Arc<Mutex<BTreeMap<u64, BudgetDecision>>>,
}

/// Whether people raised the budget; shared by all calls that wait for it.
type BudgetDecision = Shared<BoxFuture<'static, Result<bool, Failure>>>;

/// What happens when a call does not fit the budget any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExceeded {
    /// A gate opens, one for all branches. Approved, the run may spend as much once more.
    Ask,
    /// The run ends with `budget_exceeded`.
    Fail,
}

/// One call of a model by a run.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// Names the step in its run's journal.
    pub key: String,
    /// Whose call it is: its clearance is asked for first.
    pub agent: Name,
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// What that costs at most.
    pub price: Option<Price>,
    /// What is asked. Its idempotency key is set from the run and the step.
    pub request: ModelRequest,
}

/// What the step of a call records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RecordedCall {
    /// Nobody was asked.
    Exceeded {
        exceeded: BudgetExceeded,
    },
    Asked(Box<ModelCallRecord>),
}

#[derive(Debug, Serialize, Deserialize)]
struct BudgetExceeded {
    /// How often the budget had been given. A replay must come to the gate that was waited for,
    /// whatever its budget allows by then.
    times: u64,
    detail: String,
}

impl RunBudget {
    /// From a budget of which nothing is spent: what a run has spent before a restart is taken from
    /// its journal as it is replayed.
    pub fn new(shared_budget: Arc<SharedBudget>, on_exceeded: OnExceeded) -> Self {
        Self { shared_budget, on_exceeded, outage_wait_max: OUTAGE_WAIT_MAX, gates: Arc::default() }
    }

    /// How long a provider is waited for that is away.
    #[must_use]
    pub fn waiting_at_most(self, outage_wait_max: Duration) -> Self {
        Self { outage_wait_max, ..self }
    }

    /// What was spent until now.
    pub fn spent(&self) -> Spent {
        self.shared_budget.spent()
    }

    /// Asks a model, and records the call. Where its provider is away, limits us or wants to be
    /// paid, the run waits until it is back; where it does not take our key, the run stops until
    /// somebody has resumed it. Any other model that gives no answer is recorded too, and is no
    /// error of the run.
    pub async fn call(&self, ctx: &Ctx, call: ModelCall) -> Result<ModelCallRecord, Failure> {
        // The same however often the budget is in the way: until it no longer is, no vendor has
        // heard of the call, unless it was in flight in a life that crashed, and then it must be
        // known again.
        let name = format!("{}/{}", ctx.run_id(), ctx.key_in_run(&call.key));
        // Keys of steps can have any letters and any length that headers cannot.
        let idempotency_key = Some(Digest::of(name.as_bytes()).to_string());
        let request = ModelRequest { idempotency_key, ..call.request.clone() };
        let mut broken_off = 0;
        for time in 1..=EXCEEDED_MAX {
            let key = if time == 1 { call.key.clone() } else { format!("{}~{time}", call.key) };
            match self.once(ctx, &key, &call, &request).await? {
                // What was heard of it is paid for, and recorded; nobody can use half an answer.
                RecordedCall::Asked(recording) if is_broken_off(&recording) && broken_off < BROKEN_OFF_MAX => {
                    broken_off += 1
                }
                RecordedCall::Asked(recording) => return Ok(*recording),
                RecordedCall::Exceeded { exceeded } => self.exceeded(ctx, exceeded).await?,
            }
        }
        let detail = format!("the budget was given {EXCEEDED_MAX} times, and is spent again");
        Err(Failure::new(FailureKind::BudgetExceeded.word(), detail))
    }

    /// Asks for the rest of a text that was cut off, a few times. Each time is a step, and fits the
    /// budget or asks for more of it.
    async fn whole(
        &self,
        ctx: &Ctx,
        prompts: &Prompts,
        call: &ModelCall,
        mut answer: ModelAnswer,
    ) -> Result<ModelAnswer, Failure> {
        for time in 1..=continued::CONTINUATIONS_MAX {
            if !continued::can_go_on(&call.request, &answer) {
                break;
            }
            let request = continued::rest(prompts, &call.request, &answer, time)?;
            let rest = ModelCall { key: format!("{}/rest/{time}", call.key), request, ..call.clone() };
            match self.call(ctx, rest).await?.outcome {
                CallOutcome::Answered(rest) => answer = continued::join(answer, rest),
                CallOutcome::Failed(_) => break,
            }
        }
        Ok(answer)
    }

    /// Asks, and reads the answer, with its rest where it was cut off; asks once more, with what
    /// `again` makes of it, where it cannot be read. Each time is a step. `Err` within is why there
    /// is nothing to be read, which is no error of the run.
    pub async fn call_and_read<T>(
        &self,
        ctx: &Ctx,
        prompts: &Prompts,
        call: ModelCall,
        read: impl Fn(&ModelAnswer) -> Result<T, String>,
        again: impl Fn(&ModelRequest, &ModelAnswer, &str) -> Result<ModelRequest, Failure>,
    ) -> Result<Result<T, String>, Failure> {
        let first = match self.call(ctx, call.clone()).await?.outcome {
            CallOutcome::Answered(answer) => self.whole(ctx, prompts, &call, answer).await?,
            CallOutcome::Failed(failure) => return Ok(Err(silent(&failure))),
        };
        let why = match read(&first) {
            Ok(read) => return Ok(Ok(read)),
            Err(why) => why,
        };
        let request = again(&call.request, &first, &why)?;
        let second = ModelCall { key: format!("{}/again", call.key), request, ..call };
        Ok(match self.call(ctx, second.clone()).await?.outcome {
            CallOutcome::Answered(answer) => read(&self.whole(ctx, prompts, &second, answer).await?)
                .map_err(|again| format!("{why}; asked again: {again}")),
            CallOutcome::Failed(failure) => Err(format!("{why}; asked again: {}", silent(&failure))),
        })
    }

    async fn once(
        &self,
        ctx: &Ctx,
        key: &str,
        call: &ModelCall,
        request: &ModelRequest,
    ) -> Result<RecordedCall, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        let work = {
            let (model, shared_budget, price) = (Arc::clone(&call.model), Arc::clone(&self.shared_budget), call.price);
            let (asked, request, wait_max) = (Arc::clone(&asked), request.clone(), self.outage_wait_max);
            move || {
                asked.store(true, Ordering::Relaxed);
                let budgeted =
                    BudgetedModel { model: Arc::clone(&model), shared_budget: Arc::clone(&shared_budget), price };
                let request = request.clone();
                async move {
                    // Before it is tried: if it is given once more meanwhile, the gate for that is
                    // known to be decided.
                    let times = budgeted.shared_budget.times();
                    let answer = budgeted.ask(&request, &mut ()).await;
                    let answer = answer.and_then(|answer| not_too_long(answer, budgeted.price));
                    Ok(match &answer {
                        Err(failure) if failure.kind == FailureKind::BudgetExceeded => RecordedCall::Exceeded {
                            exceeded: BudgetExceeded { times, detail: failure.detail.clone() },
                        },
                        Err(failure) if failure.spent.is_nothing() && failure.kind.is_outage() => {
                            return Err(outage(failure, wait_max));
                        }
                        Err(failure) if failure.spent.is_nothing() && failure.kind.needs_person() => {
                            let message = format!("{failure}. Mend that, and resume this run: nothing of it is lost");
                            let failure = Failure::new(failure.kind.word(), message);
                            return Err(failure.hindered_by(Hindrance::NeedsPerson));
                        }
                        _ => RecordedCall::Asked(Box::new(ModelCallRecord::new(&request, &answer))),
                    })
                }
            }
        };
        let told = match ctx.step(key, work).input(&call.request).agent(call.agent.clone()).await {
            // As it is recorded, so that a replay comes to the same.
            Err(failure) if failure.code == OUT_OF_TIME => {
                let spent = Spent::given_up(request, call.price);
                let silent = folkmoot_llm::ModelFailure::new("step", FailureKind::TimedOut, failure.message);
                let silent = folkmoot_llm::ModelFailure { spent, ..silent };
                RecordedCall::Asked(Box::new(ModelCallRecord::new(request, &Err(silent))))
            }
            told => told?,
        };
        if let RecordedCall::Asked(recording) = &told
            && !asked.load(Ordering::Relaxed)
        {
            // The call was made before a restart, so the budget of this process has not counted it.
            self.shared_budget.spend(spent(recording, call.price));
        }
        Ok(told)
    }

    async fn exceeded(&self, ctx: &Ctx, BudgetExceeded { times, detail }: BudgetExceeded) -> Result<(), Failure> {
        let extended = match self.on_exceeded {
            OnExceeded::Fail => false,
            OnExceeded::Ask => self.gate(ctx, times).await?,
        };
        if extended { Ok(()) } else { Err(Failure::new(FailureKind::BudgetExceeded.word(), detail)) }
    }

    fn gate(&self, ctx: &Ctx, times: u64) -> BudgetDecision {
        let mut gates = self.gates.lock();
        gates.entry(times).or_insert_with(|| self.ask(ctx, times)).clone()
    }

    /// One gate for all who find the budget spent: many do at the same time, and each approval
    /// gives it once more. What it says is the same whoever of them comes first, as that may be
    /// another one in each life.
    fn ask(&self, ctx: &Ctx, times: u64) -> BudgetDecision {
        let (ctx, shared_budget) = (ctx.clone(), Arc::clone(&self.shared_budget));
        let asking = async move {
            let Budget { tokens, usd_micros } = shared_budget.budget();
            let limits = [tokens.map(|tokens| format!("{tokens} tokens")), usd_micros.map(dollars)];
            let budget = limits.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            let again = if times == 1 { String::new() } else { format!(", which it was given {times} times") };
            let summary = format!(
                "The next model call of this run may take more than is left of its budget of {budget}{again}.\n\
                 Approve, and it may spend as much once more. Reject, and it ends."
            );
            let gate = GateSpec::new(summary).title("The budget is spent").risk(Risk::High);
            let approved = ctx.gate_of_run(format!("~budget/{times}"), gate).await?.may_proceed();
            if approved {
                shared_budget.refill();
            }
            Ok(approved)
        };
        asking.boxed().shared()
    }
}

/// What a run may spend: as it was asked for, but an agent's no more than is configured. What is
/// configured may be another when the run is taken up again, so it is recorded.
pub(crate) async fn allowed(
    ctx: &Ctx,
    asked: Option<Budget>,
    configured: impl Fn() -> Budget + Send + Sync + 'static,
) -> Result<Budget, Failure> {
    let configured: Budget = ctx
        .step("budget", move || {
            let configured = configured();
            async move { Ok(configured) }
        })
        .await?;
    let Some(asked) = asked else { return Ok(configured) };
    if ctx.role().decides() {
        return Ok(asked);
    }
    let least = |asked: Option<u64>, configured: Option<u64>| match (asked, configured) {
        (Some(asked), Some(configured)) => Some(asked.min(configured)),
        (asked, configured) => asked.or(configured),
    };
    Ok(Budget {
        tokens: least(asked.tokens, configured.tokens),
        usd_micros: least(asked.usd_micros, configured.usd_micros),
    })
}

fn outage(failure: &folkmoot_llm::ModelFailure, wait_max: Duration) -> Failure {
    let retry_after = failure.retry_after_ms.map(Duration::from_millis);
    let hindrance = Hindrance::Outage { provider: failure.provider.clone(), retry_after, wait_max };
    Failure::new(failure.kind.word(), &failure.detail).hindered_by(hindrance)
}

/// Whether it is a call that a provider failed in the middle of. One that took longer than it may
/// would take as long again.
fn is_broken_off(recording: &ModelCallRecord) -> bool {
    let CallOutcome::Failed(failure) = &recording.outcome else { return false };
    failure.kind.is_outage() && failure.kind != FailureKind::TimedOut && !failure.spent.is_nothing()
}

fn silent(failure: &folkmoot_llm::ModelFailure) -> String {
    format!("the model gave no answer: {failure}")
}

/// What a recorded call took.
fn spent(recording: &ModelCallRecord, price: Option<Price>) -> Spent {
    match &recording.outcome {
        CallOutcome::Answered(answer) => Spent::of(answer, price),
        CallOutcome::Failed(failure) => failure.spent,
    }
}

fn not_too_long(answer: ModelAnswer, price: Option<Price>) -> Result<ModelAnswer, folkmoot_llm::ModelFailure> {
    if answer.text.len() <= ANSWER_BYTES_MAX {
        return Ok(answer);
    }
    let detail = format!("the answer is {} bytes long; at most {ANSWER_BYTES_MAX} are taken", answer.text.len());
    let spent = Spent::of(&answer, price);
    Err(folkmoot_llm::ModelFailure {
        spent,
        ..folkmoot_llm::ModelFailure::new(answer.provider, FailureKind::TooLarge, detail)
    })
}
