//! A small moot on a durable run: a team proposes, blindly and in parallel, then votes on each
//! other's proposals.
//!
//! ```text
//! cargo run -p folkmoot-workflows --example moot -- "Tabs or spaces?" [provider[/model]]
//! ```
//!
//! Every model call is a step of the run. At the end the run is repeated from its journal, without
//! any model, and must come to the same verdict. Whatever a model answers, there is a verdict or
//! "no decision", and what could not be read is counted.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use folkmoot_core::{Name, Principal, Role};
use folkmoot_debate::{Agent, Domain, Team, TurnPart};
use folkmoot_engine::{Ctx, Engine, EngineSettings, Failure, JournalQuery, Workflows};
use folkmoot_llm::{
    Cue, Message, Model, ModelRequest, PromptContext, Prompts, Replay, Schema, Speaker,
    budget::{Budget, SharedBudget},
    price::Price,
    record::CallOutcome,
    structured::SchemaValidator,
};
use folkmoot_tools::jail::Helper;
use folkmoot_workflows::{Equipment, ModelCall, OnExceeded, RunBudget, equipment::EquipmentSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Who takes part, and with what.
#[derive(Clone, Debug)]
pub struct Moot {
    pub model: Arc<dyn Model>,
    pub price: Option<Price>,
    pub prompts: Arc<Prompts>,
    pub agents: usize,
    pub max_tokens: u32,
    pub budget: Budget,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whose proposal won; nobody's where there was no vote or a tie.
    pub winner: Option<Name>,
    /// Votes by the author of the proposal.
    pub votes: BTreeMap<Name, usize>,
    /// Answers that were no ballot.
    pub unparsed: usize,
    /// Calls that gave no answer.
    pub failed: usize,
}

impl Moot {
    /// As a workflow.
    pub fn workflows(self) -> Workflows {
        Workflows::new().with("moot@1", move |ctx: Ctx, topic: String| {
            let moot = self.clone();
            async move { moot.hold(ctx, topic).await }
        })
    }

    async fn hold(self, ctx: Ctx, topic: String) -> Result<Verdict, Failure> {
        let team = Team::build(self.agents, Domain::guess(&topic).domain, &[])?;
        let spending = RunBudget::new(SharedBudget::new(self.budget), OnExceeded::Ask);
        let proposals = ctx.join("proposal", team.agents().to_vec(), |ctx, agent| {
            let request = self.request(&agent, TurnPart::Proposal, &topic, &[], Value::Null);
            let (spending, moot) = (spending.clone(), self.clone());
            async move { moot.say(&ctx, &spending, &agent, request?).await }
        });
        let proposals: Vec<(Name, String)> = team
            .agents()
            .iter()
            .zip(proposals.await?)
            .filter_map(|(agent, text)| Some((agent.id.clone(), text?)))
            .collect();
        let ballots = ctx.join("ballot", team.agents().to_vec(), |ctx, agent| {
            let others: Vec<(Name, String)> =
                proposals.iter().filter(|(author, _)| *author != agent.id).cloned().collect();
            let (spending, moot, topic) = (spending.clone(), self.clone(), topic.clone());
            async move { moot.vote(&ctx, &spending, &agent, &topic, &others).await }
        });
        let ballots = ballots.await?;
        Ok(count(team.agents().len() - proposals.len(), ballots))
    }

    fn request(
        &self,
        agent: &Agent,
        part: TurnPart,
        topic: &str,
        answers: &[(Name, String)],
        given: Value,
    ) -> Result<ModelRequest, Failure> {
        let answers = answers.iter().map(|(_, text)| PromptContext::new().data("text", text)).collect();
        let context = PromptContext::new()
            .word("part", part.word())
            .data("topic", topic)
            .list("answers", answers)
            .list("notes", Vec::new());
        let text = self.prompts.render("debate/turn.md", &context)?;
        let cue = Cue {
            part: part.word().to_owned(),
            agent: agent.id.to_string(),
            topic: topic.to_owned(),
            given,
            ..Cue::default()
        };
        Ok(ModelRequest {
            system: Some(self.prompts.system(agent.role, agent.domain)?),
            messages: vec![Message { speaker: Speaker::User, text }],
            max_tokens: self.max_tokens,
            cue: Some(cue),
            ..ModelRequest::new("")
        })
    }

    /// The text of an answer; nothing where there is none.
    async fn say(
        &self,
        ctx: &Ctx,
        spending: &RunBudget,
        agent: &Agent,
        request: ModelRequest,
    ) -> Result<Option<String>, Failure> {
        let (model, price) = (Arc::clone(&self.model), self.price);
        let call = ModelCall { key: "call".to_owned(), agent: agent.id.clone(), model, price, request };
        match spending.call(ctx, call).await?.outcome {
            CallOutcome::Answered(answer) => Ok(Some(answer.text)),
            CallOutcome::Failed(_) => Ok(None),
        }
    }

    /// Whom an agent votes for. Authors are hidden: a ballot names a number.
    async fn vote(
        &self,
        ctx: &Ctx,
        spending: &RunBudget,
        agent: &Agent,
        topic: &str,
        others: &[(Name, String)],
    ) -> Result<Ballot, Failure> {
        let numbers: Vec<String> = (1..=others.len()).map(|number| number.to_string()).collect();
        if numbers.is_empty() {
            return Ok(Ballot::Failed);
        }
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["vote"],
            "properties": { "vote": { "type": "string", "enum": numbers } }
        });
        let shape = SchemaValidator::new(&schema).map_err(|why| Failure::new("schema", why))?;
        let given = json!({ "candidates": numbers });
        let request = ModelRequest {
            schema: Some(Schema { name: "ballot".to_owned(), schema }),
            ..self.request(agent, TurnPart::Ballot, topic, others, given)?
        };
        let Some(text) = self.say(ctx, spending, agent, request).await? else { return Ok(Ballot::Failed) };
        let number = shape.read(&text).ok().and_then(|ballot| ballot["vote"].as_str()?.parse::<usize>().ok());
        let voted = number.and_then(|number| others.get(number.checked_sub(1)?));
        Ok(voted.map_or(Ballot::Unparsed, |(author, _)| Ballot::For(author.clone())))
    }
}

#[derive(Clone, Debug)]
enum Ballot {
    For(Name),
    Unparsed,
    Failed,
}

fn count(silent: usize, ballots: Vec<Ballot>) -> Verdict {
    let mut verdict = Verdict { winner: None, votes: BTreeMap::new(), unparsed: 0, failed: silent };
    for ballot in ballots {
        match ballot {
            Ballot::For(author) => *verdict.votes.entry(author).or_default() += 1,
            Ballot::Unparsed => verdict.unparsed += 1,
            Ballot::Failed => verdict.failed += 1,
        }
    }
    let most = verdict.votes.values().max().copied().unwrap_or_default();
    let mut first = verdict.votes.iter().filter(|(_, votes)| **votes == most);
    if let (Some((author, _)), None) = (first.next(), first.next()) {
        verdict.winner = Some(author.clone());
    }
    verdict
}

/// Holds a moot on a database in memory, and gives its verdict and the results of its steps.
pub async fn hold(moot: Moot, topic: &str) -> Result<(Verdict, Vec<Value>), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let settings = EngineSettings { workflows: moot.workflows(), ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await?;
    let you = Principal::new("you".parse()?, Role::Admin);
    let run = engine.start_workflow(you.clone(), "moot@1", &topic).await?.start.id;
    let ended = loop {
        let run = engine.wait_for_end(&you, &run, Duration::from_secs(60)).await?;
        if run.ending().is_some() {
            break run;
        }
    };
    let output = engine.output(&ended).await?.ok_or("the run has no output")?;
    let journal =
        engine.journal(&you, JournalQuery { run, after: None, limit: 1_000, key: None, results: true }).await?;
    let results = journal.iter().filter_map(|line| serde_json::from_str(line.result.as_deref()?).ok()).collect();
    engine.close().await;
    Ok((serde_json::from_str(&output)?, results))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let topic = arguments.next().ok_or("say what it is about: moot \"Tabs or spaces?\" [provider[/model]]")?;
    let variable = |name: &str| std::env::var(name).ok();
    let equipment = Equipment::new(EquipmentSettings::default(), variable, Helper::this_program())?;
    let choice = equipment.models.choose(arguments.next().as_deref())?;
    println!("Asking {}, because {}.", choice.provider, choice.why);
    let moot = Moot {
        model: equipment.models.model(&choice.provider, None)?,
        price: equipment.models.price(&choice.provider, None),
        prompts: equipment.prompts()?,
        agents: 5,
        max_tokens: 200,
        budget: Budget::default(),
    };
    let (verdict, results) = hold(moot.clone(), &topic).await?;
    match &verdict.winner {
        Some(winner) => println!("{winner}'s proposal wins: {:?}", verdict.votes),
        None => println!("No decision: {:?}", verdict.votes),
    }
    println!("{} answers were no ballot, {} calls gave no answer.", verdict.unparsed, verdict.failed);
    let replay = Replay::from_journal(&results);
    println!("Again from the journal, {} calls and no model:", replay.left());
    let (again, _) = hold(Moot { model: Arc::new(replay), ..moot }, &topic).await?;
    if again != verdict {
        return Err(format!("the replay came to another verdict: {again:?}").into());
    }
    println!("the same verdict.");
    Ok(())
}
