//! The workflow `plan@1`: a proposal, iterations with checkpoints, and a final plan of what people
//! accepted.

mod export;
mod gates;
mod writer;

use std::{sync::Arc, time::Duration};

use folkmoot_core::{Name, Refusal, Timeout, text};
use folkmoot_debate::plan::{
    self, Entity, GOAL_BYTES_MAX, Iteration, IterationTotals, NumberedIteration, OnExpiry, Pace, PlanEvent, code,
};
use folkmoot_engine::{Ctx, Failure, Workflows, key};
use folkmoot_llm::budget::{Budget, SharedBudget, Spent};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::{
    gates::{AtCheckpoint, AtProposal, expired},
    writer::PlanWriter,
};
use crate::{OnExceeded, RunBudget, Voices, call::allowed, debate::NoModels, voice::or_stop};

pub use self::gates::REQUEST;
pub use export::{html, markdown};

/// The default time that a plan waits for a decision before its session expires.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The most text that a plan can build on.
pub const SOURCES_BYTES_MAX: usize = 256 * 1024;

/// The input of a plan. It is recorded when the run starts, and nothing changes it after that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planning {
    pub goal: String,
    pub max_iterations: u32,
    /// A checkpoint follows each time after this many iterations.
    pub checkpoint_interval: u32,
    /// Texts that the plan builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<PlanSource>,
    /// How long each gate waits before the session expires; the configured time by default.
    #[serde(default, rename = "expires_after_ms", skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<Timeout>,
    /// What happens to a checkpoint when the session expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<OnExpiry>,
    /// The model to ask: `provider` or `provider/model`. By default an available one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What it may spend; the configured budget by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The longest answer, in tokens; by default what the provider's configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Who may decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<Name>>,
    /// Channels through which gates are announced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    /// Whether gates were switched off where the plan was started. On its own this switches nothing
    /// off; see `Planner::writer`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gates_off: bool,
}

/// A text that a plan builds on, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSource {
    /// For example `plan/entity`.
    pub name: String,
    pub text: String,
}

impl Planning {
    pub fn pace(&self) -> Pace {
        Pace { max_iterations: self.max_iterations, checkpoint_interval: self.checkpoint_interval }
    }

    /// The goal, in one line that fits into a list.
    pub fn title(&self) -> String {
        text::headline(&self.goal)
    }

    /// Refuses an input that cannot be planned, before anything is started.
    pub fn check(&self) -> Result<(), Refusal> {
        text::check_filled("goal", &self.goal, GOAL_BYTES_MAX)?;
        self.pace().check()?;
        if self.max_tokens.is_some_and(|max_tokens| !(1..=crate::debate::MAX_TOKENS_MAX).contains(&max_tokens)) {
            return Err(Refusal::invalid("max_tokens", format!("is not 1 to {}", crate::debate::MAX_TOKENS_MAX)));
        }
        let given: usize = self.sources.iter().map(|source| source.text.len()).sum();
        if given > SOURCES_BYTES_MAX {
            let problem = format!("have {given} bytes, and {SOURCES_BYTES_MAX} is the most; name fewer");
            return Err(Refusal::invalid("entities", problem));
        }
        Ok(())
    }
}

/// A plan, which is finished unless it was exported early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub goal: String,
    /// As people approved it; empty if nobody was asked.
    pub proposal: String,
    /// The changes that people asked for at checkpoints.
    pub strategy: Vec<String>,
    /// The accepted iterations, and those in `undecided`.
    pub iterations: Vec<NumberedIteration>,
    /// The number of the last accepted iteration.
    pub iterations_completed: u32,
    pub total_iterations: u32,
    /// How much the iterations produced.
    pub tally: IterationTotals,
    /// The numbers of the iterations that nobody has decided on yet; only in a plan that is not
    /// complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<u32>,
    /// Whether people ended it before its last iteration without rejecting anything.
    pub paused: bool,
    /// The complete plan, as Markdown; empty while it is not complete.
    pub final_plan: String,
    /// Its sections.
    pub entities: Vec<Entity>,
    /// The provider that was asked.
    pub provider: String,
    /// What was spent on models.
    pub spent: Spent,
}

/// The workflow of plans, with what it needs.
#[derive(Clone, Debug)]
pub struct Planner {
    pub voices: Arc<dyn Voices>,
    /// How long a gate waits, unless the plan says otherwise.
    pub expires_after: Timeout,
    /// Whether people are asked. If the configuration says no, gates approve themselves, and the
    /// log shows that.
    pub asks: bool,
}

impl Planner {
    /// Adds the workflow of plans to others.
    #[must_use]
    pub fn join(self, workflows: Workflows) -> Workflows {
        workflows.with(plan::WORKFLOW, move |ctx: Ctx, planning: Planning| {
            let planner = self.clone();
            async move { planner.plan(ctx, planning, None).await }
        })
    }

    /// The workflow for a replay, and what the plan had by then. Nobody is asked; only the journal
    /// answers. So a plan can be exported whatever happened to it. The prompts come from `voices`,
    /// because a replay must render the same prompts.
    pub fn replaying(voices: Arc<dyn Voices>) -> (Workflows, Draft) {
        let draft = Draft::default();
        let planner = Self { voices: Arc::new(NoModels(voices)), expires_after: Timeout::Never, asks: true };
        let noted = draft.clone();
        let workflows = Workflows::new().with(plan::WORKFLOW, move |ctx: Ctx, planning: Planning| {
            let (planner, noted) = (planner.clone(), noted.clone());
            async move { planner.plan(ctx, planning, Some(noted)).await }
        });
        (workflows, draft)
    }

    async fn plan(self, ctx: Ctx, planning: Planning, draft: Option<Draft>) -> Result<Plan, Failure> {
        planning.check().map_err(|refusal| Failure::new("invalid_input", refusal.to_string()))?;
        if ctx.run_id().as_str() != ctx.session_id().as_str() {
            let message = "a plan has a session of its own, called as it is: leave session_id out";
            return Err(Failure::new("invalid_input", message));
        }
        let writer = self.writer(&ctx, planning).await?;
        let pace = writer.planning.pace();
        writer.tell(&ctx, "started", writer.started()).await?;
        let proposal = match pace.asks() {
            true => writer.agree(&ctx).await?,
            false => String::new(),
        };
        let mut work = PlanState::default();
        let note = |work: &PlanState| draft.iter().for_each(|draft| draft.set(writer.so_far(&proposal, work)));
        note(&work);
        for number in 1..=pace.max_iterations {
            let total_iterations = pace.max_iterations;
            writer
                .tell(
                    &ctx,
                    &key!("iteration", number, "started"),
                    PlanEvent::Iterates { iteration: number, total_iterations },
                )
                .await?;
            let gave = writer.iterate(&ctx, number, &proposal, &work).await?;
            work.shown.push(NumberedIteration { number, gave });
            note(&work);
            writer.tell(&ctx, &key!("iteration", number, "told"), work.told(total_iterations)).await?;
            if pace.stops_after(number) {
                match writer.checkpoint(&ctx, number, &work).await? {
                    AtCheckpoint::GoOn => work.accept(),
                    AtCheckpoint::Adjust(change) => {
                        work.accept();
                        work.strategy.push(change);
                    }
                    AtCheckpoint::Pause => {
                        work.accept();
                        break;
                    }
                    AtCheckpoint::Reject(why) => {
                        work.leave_out(|| Failure::new(code::REJECTED_CHECKPOINT, why))?;
                        break;
                    }
                    AtCheckpoint::Lapse => {
                        work.leave_out(expired)?;
                        break;
                    }
                }
                note(&work);
            }
        }
        if !pace.asks() {
            work.accept();
        }
        note(&work);
        writer.conclude(&ctx, proposal, work).await
    }

    /// Collects what every pass works with. What can change between passes is determined once, and
    /// recorded.
    async fn writer(self, ctx: &Ctx, planning: Planning) -> Result<PlanWriter, Failure> {
        // Gates are off only if both the input and the configuration of the executing server say
        // so. A plan that was started with gates keeps them, and the input of a run alone switches
        // nothing off.
        let asks = self.asks || !planning.gates_off;
        let asks = ctx.step("asks", move || async move { Ok(asks) }).await?;
        let (voices, named) = (Arc::clone(&self.voices), planning.provider.clone());
        let choose = move || {
            let (voices, named) = (Arc::clone(&voices), named.clone());
            async move { voices.choose(named).await }
        };
        let provider: String = ctx.step("provider", choose).await?;
        let voice = or_stop(ctx, self.voices.voice(&provider)).await;
        let configured = self.voices.budget();
        let budget = allowed(ctx, planning.budget, move || configured).await?;
        let on_exceeded = if asks { OnExceeded::Ask } else { OnExceeded::Fail };
        let wait_max = self.voices.outage_wait_max();
        let spending = RunBudget::new(SharedBudget::new(budget), on_exceeded).waiting_at_most(wait_max);
        Ok(PlanWriter {
            planning,
            asks,
            provider,
            voice,
            spending,
            prompts: or_stop(ctx, self.voices.prompts()).await,
            expires_after: self.expires_after,
        })
    }
}

/// An unfinished plan, as the last replay left it.
#[derive(Clone, Debug, Default)]
pub struct Draft(Arc<Mutex<Option<Plan>>>);

impl Draft {
    fn set(&self, plan: Plan) {
        *self.0.lock() = Some(plan);
    }

    /// The plan, if it has a proposal or an iteration.
    pub fn take(&self) -> Option<Plan> {
        let plan = self.0.lock().take();
        plan.filter(|plan| !plan.proposal.is_empty() || !plan.iterations.is_empty())
    }
}

/// The iterations and decisions of a plan so far.
#[derive(Clone, Debug, Default)]
struct PlanState {
    /// Iterations that people accepted.
    accepted: Vec<NumberedIteration>,
    /// Iterations that people have not decided on yet.
    shown: Vec<NumberedIteration>,
    /// Changes that people asked for.
    strategy: Vec<String>,
    /// Whether the plan ended because iterations were left out.
    rejected: bool,
}

impl PlanState {
    fn accept(&mut self) {
        self.accepted.append(&mut self.shown);
    }

    /// Leaves out the iterations since the last checkpoint. If nothing was accepted before, the
    /// plan fails with `end`.
    fn leave_out(&mut self, end: impl FnOnce() -> Failure) -> Result<(), Failure> {
        self.shown.clear();
        self.rejected = true;
        if self.produced().next().is_none() { Err(end()) } else { Ok(()) }
    }

    /// All results so far, whether accepted or not decided on yet.
    fn produced(&self) -> impl Iterator<Item = (u32, &Iteration)> + Clone {
        let all = self.accepted.iter().chain(&self.shown);
        all.filter_map(|shown| Some((shown.number, shown.gave.as_ref().ok()?)))
    }

    fn tally(&self) -> IterationTotals {
        IterationTotals::of(self.produced().map(|(_, iteration)| iteration))
    }

    fn told(&self, total_iterations: u32) -> PlanEvent {
        let last = self.shown.last().expect("it is told of one that was just made");
        let (title, insights) = match &last.gave {
            Ok(iteration) => (iteration.title.clone(), iteration.insights.clone()),
            Err(why) => (why.clone(), Vec::new()),
        };
        let IterationTotals { frameworks_evolved, data_points_collected, .. } = self.tally();
        let produced = last.gave.is_ok();
        PlanEvent::Iterated {
            iteration: last.number,
            total_iterations,
            title,
            produced,
            insights,
            frameworks_evolved,
            data_points_collected,
        }
    }
}
