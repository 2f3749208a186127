//! Writes a plan: what its model is asked, and how its answers are read.

use std::sync::Arc;

use folkmoot_core::{Name, Timeout};
use folkmoot_debate::{
    AgentRole, Domain,
    plan::{self, Iteration, PlanEvent, code},
};
use folkmoot_engine::{Ctx, Failure, key};
use folkmoot_llm::{
    Cue, Finish, Message, ModelAnswer, ModelRequest, PromptContext, Prompts, Schema, Speaker,
    structured::{self, SchemaValidator},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AtProposal, Plan, PlanState, Planning};
use crate::{ModelCall, RunBudget, Voice, schema::schema_of};

/// The longest list of an iteration, and the longest item in it.
const ITEMS_MAX: usize = 12;
const ITEM_CHARS_MAX: usize = 600;

/// How many proposals a plan can have. Each but the first exists because somebody sent one back.
const PROPOSALS_MAX: u32 = 100;
/// How often something that could not be used is written again. Each time, somebody has resumed the
/// plan.
const RESUMED_MAX: u32 = 100;

/// How many of the proposals that were sent back are shown to the model for the next one: the last
/// ones.
const DRAFTS_MAX: usize = 5;

/// What one run of a plan works with.
#[derive(Clone, Debug)]
pub(super) struct PlanWriter {
    pub planning: Planning,
    /// Whether people are asked. It is fixed when the run begins.
    pub asks: bool,
    pub provider: String,
    pub voice: Voice,
    pub spending: RunBudget,
    pub prompts: Arc<Prompts>,
    pub expires_after: Timeout,
}

/// One call of a model for a plan.
struct PlanCall<'a, T> {
    key: String,
    prompt: &'static str,
    context: PromptContext,
    schema: Option<Value>,
    role: AgentRole,
    cue: (&'static str, u32, Value),
    /// Reads an answer, or says why it cannot be used.
    read: &'a (dyn Fn(&ModelAnswer) -> Result<T, String> + Sync),
}

impl PlanWriter {
    pub(super) fn started(&self) -> PlanEvent {
        let (goal, pace) = (self.planning.goal.clone(), self.planning.pace());
        PlanEvent::Started { goal, pace, provider: self.provider.clone() }
    }

    pub(super) async fn tell(&self, ctx: &Ctx, key: &str, told: PlanEvent) -> Result<(), Failure> {
        ctx.emit(key, told.kind(), &told).await
    }

    /// Makes proposals until people approve one.
    pub(super) async fn agree(&self, ctx: &Ctx) -> Result<String, Failure> {
        let mut drafts: Vec<(String, String)> = Vec::new();
        let mut edited = None;
        for number in 1..=PROPOSALS_MAX {
            let proposal = match edited.take() {
                Some(text) => text,
                None => self.propose(ctx, number, &drafts).await?,
            };
            match self.ask_about_proposal(ctx, number, &proposal).await? {
                AtProposal::Approve => return Ok(proposal),
                AtProposal::Adjust { feedback, text } => {
                    drafts.push((proposal, feedback));
                    edited = text;
                }
            }
        }
        let message = format!("{PROPOSALS_MAX} proposals were sent back; start another plan");
        Err(Failure::new(code::REJECTED_PROPOSAL, message))
    }

    async fn propose(&self, ctx: &Ctx, number: u32, drafts: &[(String, String)]) -> Result<String, Failure> {
        let drafts = &drafts[drafts.len().saturating_sub(DRAFTS_MAX)..];
        let context = PromptContext::new()
            .data("goal", &self.planning.goal)
            .number("iterations", self.planning.max_iterations.into())
            .number("interval", self.planning.checkpoint_interval.into())
            .list("sources", self.sources())
            .list(
                "drafts",
                drafts
                    .iter()
                    .map(|(text, said)| PromptContext::new().data("text", text).data("feedback", said))
                    .collect(),
            );
        let feedback: Vec<&String> = drafts.iter().map(|(_, feedback)| feedback).collect();
        let given = json!({ "feedback": feedback, "iterations": self.planning.max_iterations });
        let asking = PlanCall {
            key: key!("proposal", number, "written"),
            prompt: "plan/proposal.md",
            context,
            schema: None,
            role: AgentRole::Architect,
            cue: ("plan_proposal", number, given),
            read: &filled,
        };
        self.ask_until_usable(ctx, asking, "no_proposal", "no proposal was written").await
    }

    /// Makes one iteration. The inner `Err` says why it produced nothing. An iteration that only
    /// repeats an earlier one produced nothing.
    pub(super) async fn iterate(
        &self,
        ctx: &Ctx,
        number: u32,
        proposal: &str,
        work: &PlanState,
    ) -> Result<Result<Iteration, String>, Failure> {
        let schema = Value::from(schema_of::<IterationAnswer>());
        let shape = SchemaValidator::new(&schema).map_err(|why| Failure::new("schema", why))?;
        let context = PromptContext::new()
            .data("goal", &self.planning.goal)
            .data("proposal", if proposal.is_empty() { &self.planning.goal } else { proposal })
            .number("iteration", number.into())
            .number("iterations", self.planning.max_iterations.into())
            .list("sources", self.sources())
            .list("earlier", texts(work))
            .list("strategy", changes(work));
        let read = |answer: &ModelAnswer| {
            let value = structured::read(&shape, answer)?;
            let iteration = IterationAnswer::deserialize(value).map_err(|error| error.to_string())?;
            let blank = |text: &String| text.trim().is_empty();
            if blank(&iteration.title) || blank(&iteration.text) {
                return Err("the title or the text is empty".to_owned());
            }
            match work.produced().find(|(_, earlier)| iteration.repeats(earlier)) {
                Some((earlier, _)) => Err(format!("it repeats iteration {earlier}, and adds nothing")),
                None => Ok(iteration),
            }
        };
        let given = json!({ "iterations": self.planning.max_iterations, "strategy": work.strategy });
        let asking = PlanCall {
            key: key!("iteration", number),
            prompt: "plan/iteration.md",
            context,
            schema: Some(schema),
            role: AgentRole::Architect,
            cue: ("plan_iteration", number, given),
            read: &read,
        };
        self.ask(ctx, &asking).await
    }

    /// Makes the final plan from what was accepted.
    pub(super) async fn conclude(&self, ctx: &Ctx, proposal: String, work: PlanState) -> Result<Plan, Failure> {
        if work.produced().next().is_none() {
            let detail = "no iteration gave anything that could be used, so there is nothing to make a plan of";
            return Err(Failure::new(code::NOTHING, detail));
        }
        let accepted = work.produced().map(|(number, _)| number).collect();
        self.tell(ctx, "synthesis/started", PlanEvent::Concludes { accepted }).await?;
        let context = PromptContext::new()
            .data("goal", &self.planning.goal)
            .data("proposal", if proposal.is_empty() { &self.planning.goal } else { &proposal })
            .list("sources", self.sources())
            .list("strategy", changes(&work))
            .list("iterations", texts(&work));
        let iterations: Vec<Value> = work.produced().map(|(number, iteration)| json!([number, iteration])).collect();
        let read = |answer: &ModelAnswer| {
            let text = filled(answer)?;
            plan::entities(&text).map(|entities| (text, entities))
        };
        let asking = PlanCall {
            key: "synthesis".to_owned(),
            prompt: "plan/synthesis.md",
            context,
            schema: None,
            role: AgentRole::Moderator,
            cue: ("plan_synthesis", 1, json!({ "iterations": iterations, "strategy": work.strategy })),
            read: &read,
        };
        let (final_plan, entities) =
            self.ask_until_usable(ctx, asking, "no_final_plan", "no final plan was written").await?;
        let so_far = self.so_far(&proposal, &work);
        let paused = so_far.iterations_completed < self.planning.max_iterations && !work.rejected;
        Ok(Plan { paused, final_plan, entities, ..so_far })
    }

    /// The plan without its final text.
    pub(super) fn so_far(&self, proposal: &str, work: &PlanState) -> Plan {
        Plan {
            goal: self.planning.goal.clone(),
            proposal: proposal.to_owned(),
            tally: work.tally(),
            strategy: work.strategy.clone(),
            iterations_completed: work.accepted.last().map_or(0, |shown| shown.number),
            total_iterations: self.planning.max_iterations,
            undecided: work.shown.iter().map(|shown| shown.number).collect(),
            paused: false,
            iterations: work.accepted.iter().chain(&work.shown).cloned().collect(),
            final_plan: String::new(),
            entities: Vec::new(),
            provider: self.provider.clone(),
            spent: self.spending.spent(),
        }
    }

    fn sources(&self) -> Vec<PromptContext> {
        self.planning.sources.iter().map(|source| PromptContext::new().data("text", &source.text)).collect()
    }

    /// Asks for something that the plan cannot go on without. If no answer can be used, the plan
    /// stops, keeps what it has, and asks again each time that somebody resumes it.
    async fn ask_until_usable<T>(
        &self,
        ctx: &Ctx,
        mut asking: PlanCall<'_, T>,
        code: &str,
        problem: &str,
    ) -> Result<T, Failure> {
        let first = asking.key.clone();
        for time in 2..=RESUMED_MAX {
            let why = match self.ask(ctx, &asking).await? {
                Ok(read) => return Ok(read),
                Err(why) => why,
            };
            let message = format!("{problem}: {why}. What was accepted can be exported; resume this run to try again");
            ctx.stop_until_resumed(format!("{}/stopped", asking.key), code, message).await?;
            asking.key = format!("{first}~{time}");
        }
        Err(Failure::new(code, format!("{problem}, although the plan was resumed {RESUMED_MAX} times")))
    }

    /// Asks, and asks once more if the answer cannot be used. The inner `Err` says why neither
    /// answer could be used.
    async fn ask<T>(&self, ctx: &Ctx, asking: &PlanCall<'_, T>) -> Result<Result<T, String>, Failure> {
        let text = self.prompts.render(asking.prompt, &asking.context)?;
        let (part, attempt, given) = asking.cue.clone();
        let cue = Cue {
            part: part.to_owned(),
            agent: planner().to_string(),
            topic: self.planning.goal.clone(),
            attempt,
            given,
        };
        let request = ModelRequest {
            system: Some(self.prompts.system(asking.role, Domain::General)?),
            messages: vec![Message { speaker: Speaker::User, text }],
            schema: asking.schema.clone().map(|schema| Schema { name: part.to_owned(), schema }),
            cue: Some(cue),
            max_tokens: self.planning.max_tokens.unwrap_or(self.voice.max_tokens),
            ..ModelRequest::new("")
        };
        let call = ModelCall {
            key: asking.key.clone(),
            agent: planner(),
            model: Arc::clone(&self.voice.model),
            price: self.voice.price,
            request,
        };
        let again = |request: &ModelRequest, answer: &ModelAnswer, why: &str| -> Result<ModelRequest, Failure> {
            if request.schema.is_some() {
                return Ok(structured::repair(&self.prompts, request, answer, why)?);
            }
            let text = self.prompts.render("plan/again.md", &PromptContext::new().data("problem", why))?;
            let mut request = request.clone();
            request.messages.push(Message { speaker: Speaker::Assistant, text: answer.text.clone() });
            request.messages.push(Message { speaker: Speaker::User, text });
            Ok(request)
        };
        self.spending.call_and_read(ctx, &self.prompts, call, asking.read, again).await
    }
}

/// The agent whose clearance is asked for.
fn planner() -> Name {
    "planner".parse().expect("a plain word is a name")
}

fn filled(answer: &ModelAnswer) -> Result<String, String> {
    let text = answer.text.trim();
    match answer.finish {
        _ if text.is_empty() => Err("the answer is empty".to_owned()),
        Finish::Length => {
            Err("the answer was cut off, as it is longer than it may be; say it in fewer words".to_owned())
        }
        Finish::Stop => Ok(text.to_owned()),
    }
}

fn texts(work: &PlanState) -> Vec<PromptContext> {
    work.produced()
        .map(|(number, iteration)| {
            let text = format!("{}\n\n{}", iteration.title, iteration.markdown());
            PromptContext::new().number("number", number.into()).data("text", text)
        })
        .collect()
}

fn changes(work: &PlanState) -> Vec<PromptContext> {
    work.strategy.iter().map(|change| PromptContext::new().data("text", change)).collect()
}

/// An [`Iteration`] as the model is asked for it.
#[derive(Deserialize, JsonSchema)]
#[serde(remote = "Iteration", deny_unknown_fields)]
struct IterationAnswer {
    #[schemars(length(min = 1, max = 200))]
    title: String,
    #[schemars(length(min = 1, max = 20_000))]
    text: String,
    #[schemars(length(min = 1, max = ITEMS_MAX), inner(length(min = 1, max = ITEM_CHARS_MAX)))]
    insights: Vec<String>,
    #[schemars(length(max = ITEMS_MAX), inner(length(min = 1, max = ITEM_CHARS_MAX)))]
    frameworks: Vec<String>,
    #[schemars(length(max = ITEMS_MAX), inner(length(min = 1, max = ITEM_CHARS_MAX)))]
    data_points: Vec<String>,
}
