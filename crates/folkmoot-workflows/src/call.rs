//! A model call as a step of a run: asked once, recorded with all that it took, and only remembered after that.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_core::{Name, gate::Risk};
use folkmoot_engine::{Ctx, Failure, GateRequest};
use folkmoot_llm::{
    FailureKind, Model, Recording, Request,
    budget::{Budgeted, Purse, Spent, dollars},
    price::Price,
    record::Outcome,
};

/// What one run may spend on models, and what happens when that is not enough.
#[derive(Clone, Debug)]
pub struct Spending {
    purse: Arc<Purse>,
    on_exceeded: OnExceeded,
}

/// What happens when a call does not fit the budget any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExceeded {
    /// A gate opens. Approved, the run may spend as much once more.
    Ask,
    /// The run ends with `budget_exceeded`.
    Fail,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Names the step in its run's journal.
    pub key: String,
    /// Whose call it is: its clearance is asked for first.
    pub agent: Name,
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// What that costs at most.
    pub price: Option<Price>,
    /// What is asked. Its idempotency key is set from the run and the step.
    pub request: Request,
}

impl Spending {
    /// From a purse that is full: what a run has spent before a restart is taken from its journal as it is replayed.
    pub fn new(purse: Arc<Purse>, on_exceeded: OnExceeded) -> Self {
        Self { purse, on_exceeded }
    }

    /// What was spent until now.
    pub fn spent(&self) -> Spent {
        self.purse.spent()
    }

    /// Asks a model, and records the call. A model that gives no answer is recorded too, and is no error of the run.
    pub async fn call(&self, ctx: &Ctx, call: Call) -> Result<Recording, Failure> {
        for time in 1.. {
            let key = if time == 1 { call.key.clone() } else { format!("{}~{time}", call.key) };
            match self.once(ctx, &key, &call).await {
                Err(failure) if failure.code == FailureKind::BudgetExceeded.word() => {
                    self.exceeded(ctx, &key, &failure).await?;
                }
                done => return done,
            }
        }
        unreachable!("the loop has no end")
    }

    async fn once(&self, ctx: &Ctx, key: &str, call: &Call) -> Result<Recording, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        let request = Request { idempotency_key: Some(format!("{}/{key}", ctx.run_id())), ..call.request.clone() };
        let work = {
            let (model, purse, price) = (Arc::clone(&call.model), Arc::clone(&self.purse), call.price);
            let (asked, request) = (Arc::clone(&asked), request.clone());
            move || {
                asked.store(true, Ordering::Relaxed);
                let budgeted = Budgeted { model: Arc::clone(&model), purse: Arc::clone(&purse), price };
                let request = request.clone();
                async move {
                    let answer = budgeted.ask(&request, &mut ()).await;
                    match &answer {
                        Err(failure) if failure.kind == FailureKind::BudgetExceeded => {
                            Err(Failure::new(failure.kind.word(), failure.detail.clone()))
                        }
                        _ => Ok(Recording::new(&request, &answer)),
                    }
                }
            }
        };
        let recording = ctx.step(key, work).input(&call.request).agent(call.agent.clone()).await?;
        if !asked.load(Ordering::Relaxed) {
            // It was asked in another life of this run, and the purse of this life does not know of it.
            self.purse.spend(spent(&recording, call.price));
        }
        Ok(recording)
    }

    async fn exceeded(&self, ctx: &Ctx, key: &str, failure: &Failure) -> Result<(), Failure> {
        if self.on_exceeded == OnExceeded::Fail {
            return Err(failure.clone());
        }
        let Spent { tokens, usd_micros } = self.spent();
        let summary = format!(
            "The budget of this run does not allow its next model call: {}.\nSpent until now: {tokens} tokens, {}.\n\
             Approve, and it may spend as much as its budget once more.",
            failure.message,
            dollars(usd_micros)
        );
        let gate = GateRequest::new(summary).title("The budget is spent").risk(Risk::High);
        let decided = ctx.gate(format!("{key}~budget"), gate).await?;
        if !decided.may_proceed() {
            return Err(failure.clone());
        }
        self.purse.refill();
        Ok(())
    }
}

/// What a recorded call took.
fn spent(recording: &Recording, price: Option<Price>) -> Spent {
    match &recording.outcome {
        Outcome::Answered(answer) => Spent {
            tokens: answer.usage.total(),
            usd_micros: answer.cost_usd_micros.or(price.map(|price| price.cost(&answer.usage))).unwrap_or_default(),
        },
        Outcome::Failed(_) => Spent::default(),
    }
}
