//! A model call as a step of a run. It is made once and recorded with everything that it took.
//! After that, the journal answers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Digest, Name,
    gate::{OnTimeout, Risk},
};
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

/// The longest answer that is accepted. It is stored in the recording of its own call and, if it
/// cannot be read, also in that of the next call, which asks for it again. A recording that the
/// journal refuses would end the run.
const ANSWER_BYTES_MAX: usize = 512 * 1024;

/// The engine's failure code for a step that took too long.
const OUT_OF_TIME: &str = "timeout";

/// How long a run waits for a provider that is unavailable, limits our rate or wants to be paid,
/// unless the configuration says otherwise. Then the run stops, and can be resumed.
pub const OUTAGE_WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a call is repeated at once if it broke off after the vendor had begun to charge for
/// it.
const BROKEN_OFF_MAX: u32 = 4;
/// How often one call can find the budget spent. Each time, somebody has granted the budget once
/// more.
const EXCEEDED_MAX: u32 = 1_000;

/// What one run may spend on models, and what happens when that is not enough.
#[derive(Clone, Debug)]
pub struct RunBudget {
    shared_budget: Arc<SharedBudget>,
    on_exceeded: OnExceeded,
    outage_wait_max: Duration,
    /// The gates about the budget, by how often the budget had been granted. All calls that find it
    /// spent wait for the same gate.
    gates: Arc<Mutex<BTreeMap<u64, BudgetDecision>>>,
}

/// Whether people raised the budget; shared by all calls that wait for it.
type BudgetDecision = Shared<BoxFuture<'static, Result<bool, Failure>>>;

/// What happens when a call no longer fits the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExceeded {
    /// One gate opens for all branches of the run. If it is approved, the run may spend the same
    /// budget once more.
    Ask,
    /// The run ends with `budget_exceeded`.
    Fail,
}

/// One call of a model by a run.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// Names the step in its run's journal.
    pub key: String,
    /// The agent that makes the call. Its clearance is asked for first.
    pub agent: Name,
    pub model: Arc<dyn Model>,
    /// The highest price of the model and its fallbacks, if all of them have one.
    pub price: Option<Price>,
    /// The idempotency key is set from the run and the step.
    pub request: ModelRequest,
}

/// What the step of a call records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RecordedCall {
    /// The budget was spent, and no model was asked.
    Exceeded {
        exceeded: BudgetExceeded,
    },
    Asked(Box<ModelCallRecord>),
}

#[derive(Debug, Serialize, Deserialize)]
struct BudgetExceeded {
    /// How often the budget had been granted. A replay must arrive at the gate that was waited for,
    /// whatever the budget allows by then.
    times: u64,
    detail: String,
}

impl RunBudget {
    /// Starts with an unspent budget. What the run spent before a restart is added from its journal
    /// during the replay.
    pub fn new(shared_budget: Arc<SharedBudget>, on_exceeded: OnExceeded) -> Self {
        Self { shared_budget, on_exceeded, outage_wait_max: OUTAGE_WAIT_MAX, gates: Arc::default() }
    }

    /// Sets how long to wait for an unavailable provider.
    #[must_use]
    pub fn waiting_at_most(self, outage_wait_max: Duration) -> Self {
        Self { outage_wait_max, ..self }
    }

    /// What was spent so far.
    pub fn spent(&self) -> Spent {
        self.shared_budget.spent()
    }

    /// Asks a model, and records the call. If its provider is unavailable, limits our rate or wants
    /// to be paid, the run waits until it is back. If the provider does not accept our key, the run
    /// stops until somebody resumes it. Any other failure of a model is recorded too, and is not an
    /// error of the run.
    pub async fn call(&self, ctx: &Ctx, call: ModelCall) -> Result<ModelCallRecord, Failure> {
        // The idempotency key does not change when the budget refuses the call. Until the budget
        // allows it, no vendor has seen the call, unless it was in flight when the server crashed;
        // then the vendor must recognise it.
        let name = format!("{}/{}", ctx.run_id(), ctx.key_in_run(&call.key));
        // A digest, because keys of steps can have characters and lengths that headers cannot have.
        let idempotency_key = Some(Digest::of(name.as_bytes()).to_string());
        let request = ModelRequest { idempotency_key, ..call.request.clone() };
        let mut broken_off = 0;
        for time in 1..=EXCEEDED_MAX {
            let key = if time == 1 { call.key.clone() } else { format!("{}~{time}", call.key) };
            match self.once(ctx, &key, &call, &request).await? {
                // The partial answer is paid for and recorded, but nobody can use half an answer.
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

    /// Asks for the rest of a text that was cut off, a few times. Each call is a step, and must fit
    /// the budget or wait for more.
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

    /// Asks, and reads the answer, including its rest if it was cut off. If it cannot be read, asks
    /// once more with the request that `again` makes. Each call is a step. The inner `Err` says why
    /// there is nothing to read, which is not an error of the run.
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
                    // Read before the call: if the budget is granted once more meanwhile, the gate
                    // for this number is already decided.
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
            // Made from the recorded failure, so that a replay gets the same.
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

    /// Opens one gate for all calls that find the budget spent: many do so at the same time, and
    /// each approval grants the budget once more. The text of the gate does not depend on which
    /// call comes first, because that can differ after a restart.
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
            // Silence grants no money, whatever the configuration says of other gates.
            let gate = GateSpec::new(summary).title("The budget is spent").risk(Risk::High).on_timeout(OnTimeout::Fail);
            let approved = ctx.gate_of_run(format!("~budget/{times}"), gate).await?.may_proceed();
            if approved {
                shared_budget.refill();
            }
            Ok(approved)
        };
        asking.boxed().shared()
    }
}

/// The budget of a run: the one that was asked for, but for roles that do not decide no more than
/// is configured. The configured budget is recorded, because it may have changed when the run is
/// replayed.
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

/// Whether the provider failed in the middle of the call. A call that timed out is not repeated,
/// because it would take as long again.
fn is_broken_off(recording: &ModelCallRecord) -> bool {
    let CallOutcome::Failed(failure) = &recording.outcome else { return false };
    failure.kind.is_outage() && failure.kind != FailureKind::TimedOut && !failure.spent.is_nothing()
}

fn silent(failure: &folkmoot_llm::ModelFailure) -> String {
    format!("the model gave no answer: {failure}")
}

/// What a recorded call spent.
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
