//! The workflow `plan@1`: a proposal, iterations with checkpoints, and a final plan of what people
//! accepted.

mod desk;
mod export;
mod gates;

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
    desk::Desk,
    gates::{AtCheckpoint, AtProposal, expired},
};
use crate::{OnExceeded, RunBudget, Voices, call::allowed, debate::NoModels, voice::or_stop};

pub use self::gates::REQUEST;
pub use export::{html, markdown};

/// How long a plan waits for a decision before its session is over, unless it says.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// How much text can be given to build on.
pub const SOURCES_BYTES_MAX: usize = 256 * 1024;

/// What is to be planned. It is recorded when the run starts, and nothing changes it after that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planning {
    /// What the plan is for.
    pub goal: String,
    /// How many iterations.
    pub max_iterations: u32,
    /// After how many of them people are asked.
    pub checkpoint_interval: u32,
    /// What it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<PlanSource>,
    /// How long each gate waits before the session is over; the configured time unless it is given.
    #[serde(default, rename = "expires_after_ms", skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<Timeout>,
    /// What becomes of a checkpoint then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<OnExpiry>,
    /// Whom to ask, `provider` or `provider/model`; whoever there is unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What it may spend; what the configuration says unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The longest answer, in tokens; what the provider's configuration says unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Who may decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<Name>>,
    /// Whom to tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    /// Whether gates were switched off where it was started. Alone it switches nothing off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gates_off: bool,
}

/// Something that a plan builds on, with where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSource {
    /// Such as `plan/entity`.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Planning {
    /// How far it goes.
    pub fn pace(&self) -> Pace {
        Pace { max_iterations: self.max_iterations, checkpoint_interval: self.checkpoint_interval }
    }

    /// What it is for, in a line that fits into a list.
    pub fn title(&self) -> String {
        text::headline(&self.goal)
    }

    /// Refuses what cannot be planned, before anything is started.
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

/// A finished plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What it is for.
    pub goal: String,
    /// As people approved it; empty where nobody was asked.
    pub proposal: String,
    /// What people changed on the way.
    pub strategy: Vec<String>,
    /// The iterations that were accepted, and are in it.
    pub iterations: Vec<NumberedIteration>,
    /// The last of them.
    pub iterations_completed: u32,
    /// How many there could have been.
    pub total_iterations: u32,
    /// How much they gave.
    pub tally: IterationTotals,
    /// The iterations that nobody has decided on yet, by their numbers; only of a plan that is not
    /// complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<u32>,
    /// Whether somebody ended it before its last iteration.
    pub paused: bool,
    /// All of it, as Markdown; empty while it is not complete.
    pub final_plan: String,
    /// Its sections, by name.
    pub entities: Vec<Entity>,
    /// Who was asked.
    pub provider: String,
    /// What that took.
    pub spent: Spent,
}

/// Who makes plans, and with what.
#[derive(Clone, Debug)]
pub struct Planner {
    /// Who can be asked.
    pub voices: Arc<dyn Voices>,
    /// How long a gate waits, unless the plan says.
    pub expires_after: Timeout,
    /// Whether people are asked. Where the configuration says no, gates approve themselves, and
    /// stand in the log.
    pub asks: bool,
}

impl Planner {
    /// As a workflow, beside others.
    #[must_use]
    pub fn join(self, workflows: Workflows) -> Workflows {
        workflows.with(plan::WORKFLOW, move |ctx: Ctx, planning: Planning| {
            let planner = self.clone();
            async move { planner.plan(ctx, planning, None).await }
        })
    }

    /// As it is replayed, and what it had by then: nobody is asked, and only what was recorded
    /// answers. So a plan can be exported whatever became of it. The prompts are those of `voices`,
    /// as they are part of what must be the same.
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
        let desk = self.desk(&ctx, planning).await?;
        let pace = desk.planning.pace();
        desk.tell(&ctx, "started", desk.started()).await?;
        let proposal = match pace.asks() {
            true => desk.agree(&ctx).await?,
            false => String::new(),
        };
        let mut work = PlanState::default();
        let note = |work: &PlanState| draft.iter().for_each(|draft| draft.set(desk.so_far(&proposal, work)));
        note(&work);
        for number in 1..=pace.max_iterations {
            let total_iterations = pace.max_iterations;
            desk.tell(
                &ctx,
                &key!("iteration", number, "started"),
                PlanEvent::Iterates { iteration: number, total_iterations },
            )
            .await?;
            let gave = desk.iterate(&ctx, number, &proposal, &work).await?;
            work.shown.push(NumberedIteration { number, gave });
            note(&work);
            desk.tell(&ctx, &key!("iteration", number, "told"), work.told(total_iterations)).await?;
            if pace.stops_after(number) {
                match desk.checkpoint(&ctx, number, &work).await? {
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
        desk.conclude(&ctx, proposal, work).await
    }

    /// What every pass works with. What may be another time is asked once, and recorded.
    async fn desk(self, ctx: &Ctx, planning: Planning) -> Result<Desk, Failure> {
        // Both who starts it and who executes it must have been told so: a plan that was started
        // while people were asked goes on asking, and what somebody writes into the input of a run
        // switches nothing off.
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
        Ok(Desk {
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

/// What a plan had when it was last looked at.
#[derive(Clone, Debug, Default)]
pub struct Draft(Arc<Mutex<Option<Plan>>>);

impl Draft {
    fn set(&self, plan: Plan) {
        *self.0.lock() = Some(plan);
    }

    /// What it had, where there was anything.
    pub fn take(&self) -> Option<Plan> {
        let plan = self.0.lock().take();
        plan.filter(|plan| !plan.proposal.is_empty() || !plan.iterations.is_empty())
    }
}

/// The iterations and decisions of a plan so far.
#[derive(Clone, Debug, Default)]
struct PlanState {
    /// What people accepted.
    accepted: Vec<NumberedIteration>,
    /// What they have not been asked about yet.
    shown: Vec<NumberedIteration>,
    /// What they changed.
    strategy: Vec<String>,
    /// Whether they ended it by leaving something out.
    rejected: bool,
}

impl PlanState {
    fn accept(&mut self) {
        self.accepted.append(&mut self.shown);
    }

    /// Leaves out what was shown last; where nothing else was accepted, that is the end.
    fn leave_out(&mut self, end: impl FnOnce() -> Failure) -> Result<(), Failure> {
        self.shown.clear();
        self.rejected = true;
        if self.produced().next().is_none() { Err(end()) } else { Ok(()) }
    }

    /// Whatever was given until now, accepted or not yet asked about.
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
