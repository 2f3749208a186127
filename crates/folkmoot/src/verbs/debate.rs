//! `folkmoot debate`: agents answer, criticise each other's answers and vote; you decide at gates.

mod answer;
mod audit;
mod cancel;
mod decide;
pub(crate) mod follow;
mod lessons;
mod list;
mod show;
mod turns;
mod versions;
mod votes;

use std::{str::FromStr, time::Duration};

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use folkmoot_api::{
    Client,
    core::{RunId, SessionId, Timeout, vocabulary::UnknownWord},
    debate::{DebateEvent, Style, Topology, agent::DebatePhase, voting::VotingMethod},
    wire::{Agents, DebateGates, DebateListParams, Decimal, OrAuto, PhaseSwitch, PlanBudget, StartDebate},
};
use folkmoot_server::workflows::{
    debate::{OnRejected, Preset},
    tools::{jail::ProgramLanguage, project::Hook},
};

use crate::{
    cli::{ActingAs, word},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::{
        span,
        style::{self, paint},
    },
    views, which_model,
};

/// Let agents debate, and decide at the gates you want
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Shows the turns, tests and votes, asks you at each gate, and prints the verdict with the dissent. \
Leave it with Ctrl-C: `folkmoot debate follow` returns to it.

Examples:
  folkmoot debate \"Should the audit trail be a queue or a log?\" --preset economy
  folkmoot debate \"Write parse_duration in Python\" --gate proposal --gate convergence
  folkmoot debate votes"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The topic
    #[arg(required = true)]
    topic: Option<String>,
    /// The number of agents (default: the preset's)
    #[arg(long, value_name = "N")]
    agents: Option<u64>,
    /// The preset
    #[arg(long, value_name = "PRESET", value_parser = word::<Preset>(Preset::WORDS), default_value = "full")]
    preset: Preset,
    /// Who hears whom; `auto` chooses by the team's size
    #[arg(long, value_name = "TOPOLOGY", value_parser = or_auto::<Topology>(Topology::WORDS))]
    topology: Option<OrAuto<Topology>>,
    /// Who plans; `auto` means `adaptive`
    #[arg(long, value_name = "STYLE", value_parser = or_auto::<Style>(Style::WORDS))]
    planning: Option<OrAuto<Style>>,
    /// How ballots are counted; `auto` chooses by the number of agents
    #[arg(long, value_name = "METHOD", value_parser = or_auto::<VotingMethod>(VotingMethod::WORDS))]
    voting: Option<OrAuto<VotingMethod>>,
    /// Ask a person after this phase; can be repeated
    #[arg(long = "gate", value_name = "PHASE", value_parser = word::<DebatePhase>(DebatePhase::WORDS))]
    gates: Vec<DebatePhase>,
    /// How long a gate waits (default: the server's policy)
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "gates")]
    gate_timeout: Option<Duration>,
    /// What a rejection does
    #[arg(long, value_name = "WHAT", value_parser = word::<OnRejected>(OnRejected::WORDS), requires = "gates")]
    on_rejected: Option<OnRejected>,
    /// Skip this phase; can be repeated
    #[arg(long = "without", value_name = "PHASE", value_parser = word::<DebatePhase>(DebatePhase::WORDS))]
    without: Vec<DebatePhase>,
    /// The maximum number of rounds
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// The agreement that ends it, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    consensus: Option<f64>,
    /// The language of its code, or `none` if it is not about code (default: guessed from the
    /// topic)
    #[arg(long, value_name = "LANGUAGE", value_parser = or(ProgramLanguage::WORDS, "none"))]
    language: Option<String>,
    /// The model provider: a name from folkmoot.toml, a vendor whose key is in the environment,
    /// ollama, llamacpp, rehearsal
    #[arg(long, value_name = "NAME[/MODEL]")]
    provider: Option<String>,
    /// The longest answer of a model; default: as the provider is configured
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,
    /// The maximum number of tokens
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// The maximum cost in US dollars
    #[arg(long, value_name = "USD")]
    budget_usd: Option<f64>,
    /// A git repository to commit the code to, on a separate branch
    #[arg(long, value_name = "DIR")]
    repository: Option<std::path::PathBuf>,
    /// When to run the project's own commands; can be repeated
    #[arg(long = "hook", value_name = "WHEN", value_parser = word::<Hook>(Hook::WORDS), requires = "repository")]
    hooks: Vec<Hook>,
    /// Its id (default: a new one)
    #[arg(long, value_name = "ID")]
    id: Option<RunId>,
    /// Its session (default: a new one)
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Start it, print its id, and return
    #[arg(long, visible_alias = "detach")]
    no_wait: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Return to a debate: watch it, and decide
    Follow(DebateArgs),
    Show(show::Args),
    Turns(turns::Args),
    Votes(votes::Args),
    Versions(versions::Args),
    Audit(audit::Args),
    Replay(super::replay::Args),
    Cancel(cancel::Args),
    List(list::Args),
    Lessons(lessons::Args),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DebateArgs {
    /// The debate, or any unique beginning or end of its id (default: the newest)
    id: Option<String>,
}

impl Args {
    /// Whether this process executes it.
    pub(crate) fn works(&self) -> bool {
        match &self.verb {
            None => !self.no_wait,
            Some(Verb::Follow(_)) => true,
            Some(_) => false,
        }
    }

    fn request(&self) -> Result<StartDebate> {
        let gates = DebateGates {
            enabled: true,
            gate_points: self.gates.clone(),
            timeout_ms: self.gate_timeout.map(Timeout::After),
            on_rejected: self.on_rejected.map(|word| word.to_string()),
            ..DebateGates::default()
        };
        let off = PhaseSwitch(folkmoot_api::debate::Switch::Off);
        let budget = PlanBudget { tokens: self.budget_tokens, usd: self.budget_usd };
        let repository = self.repository.as_ref().map(std::path::absolute).transpose()?;
        Ok(StartDebate {
            topic: self.topic.clone().unwrap_or_default(),
            id: self.id.clone(),
            session_id: self.session.clone(),
            agents: self.agents.map(Agents::Count),
            preset: Some(self.preset.to_string()),
            topology: self.topology,
            planning: self.planning,
            voting: self.voting,
            max_rounds: self.rounds,
            min_consensus: self.consensus.map(Decimal),
            phases: self.without.iter().map(|phase| (*phase, off)).collect(),
            language: self.language.clone(),
            gates: (!self.gates.is_empty()).then_some(gates),
            provider: self.provider.clone(),
            max_tokens: self.max_tokens,
            budget: (budget.tokens.is_some() || budget.usd.is_some()).then_some(budget),
            repository: repository.map(|path| path.display().to_string()),
            hooks: self.hooks.iter().map(|hook| hook.to_string()).collect(),
            ..StartDebate::default()
        })
    }
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match args.verb {
        None => start(args, ctx, connection).await,
        Some(Verb::Follow(which)) => {
            let id = which.find(ctx, connection).await?;
            follow::run(ctx, connection, &id).await
        }
        Some(Verb::Show(args)) => show::run(args, ctx, connection).await,
        Some(Verb::Turns(args)) => turns::run(args, ctx, connection).await,
        Some(Verb::Votes(args)) => votes::run(args, ctx, connection).await,
        Some(Verb::Versions(args)) => versions::run(args, ctx, connection).await,
        Some(Verb::Audit(args)) => audit::run(args, ctx, connection).await,
        Some(Verb::Replay(args)) => super::replay::run(args, ctx, connection).await,
        Some(Verb::Cancel(args)) => cancel::run(args, ctx, connection).await,
        Some(Verb::List(args)) => list::run(args, ctx, connection).await,
        Some(Verb::Lessons(args)) => lessons::run(args, ctx, connection).await,
    }
}

async fn start(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let request = args.request()?;
    if request.topic.trim().is_empty() {
        bail!("the topic is empty; say in a sentence what is to be decided");
    }
    if request.topic.split_whitespace().nth(1).is_none() {
        // Probably a mistyped verb, and a debate costs money.
        bail!(
            "{:?} is no verb of `folkmoot debate`, and a single word is no topic; say in a sentence what is to be decided, \
             or see `folkmoot debate --help`",
            request.topic.trim()
        );
    }
    let provider = which_model::of_server(ctx, connection, request.provider.as_deref()).await?;
    let request = StartDebate { provider: Some(provider), ..request };
    // Only a person may let the server write into repositories, or continue after a rejection.
    let yours = args.repository.is_some() || args.on_rejected == Some(OnRejected::Continue);
    let who = if yours { ActingAs::You } else { ActingAs::Agent };
    if !connection.agrees(ctx, who, "Let this debate do what an agent may not ask for?").await? {
        return Ok(Exit::Waiting);
    }
    let key = idempotency::new_key();
    let start = async |client: &Client| Ok(client.start_debate(&request, Some(&key)).await?);
    let started = connection.ask(ctx, who, start).await?;
    if !args.no_wait {
        return follow::run(ctx, connection, &started.id).await;
    }
    ctx.screen.show(&started, started.id.as_str())?;
    if connection.is_hosted() {
        let follow = paint(style::COMMAND, format!("{} debate follow", ctx.command()));
        let serve = paint(style::COMMAND, format!("{} serve", ctx.command()));
        ctx.screen.note(format!("No server is there to hold it: it begins with {serve} or {follow}."));
    }
    Ok(Exit::Done)
}

impl DebateArgs {
    /// Finds a running debate. If there are several, the user must name one.
    async fn find_open(&self, ctx: &CliContext, connection: &mut Connection) -> Result<RunId> {
        if self.id.is_some() {
            return self.find(ctx, connection).await;
        }
        let read = async |client: &Client| -> Result<Vec<RunId>> {
            let query = DebateListParams { limit: Some(200), ..DebateListParams::default() };
            let going =
                client.debates(&query).await?.debates.into_iter().filter(|debate| debate.completed_at.is_none());
            Ok(going.map(|debate| debate.id).collect())
        };
        match connection.ask(ctx, ActingAs::You, read).await?.as_slice() {
            [only] => Ok(only.clone()),
            [] => bail!("no debate is going on"),
            [newest, .., oldest] => {
                let (newest, oldest) = (find::short_run(newest), find::short_run(oldest));
                bail!("several debates are going on, such as {newest} and {oldest}; say which")
            }
        }
    }

    pub(crate) async fn find(&self, ctx: &CliContext, connection: &mut Connection) -> Result<RunId> {
        let exact = async |client: &Client, id: &RunId| Ok(client.debate(id).await?.id);
        let newest_first = async |client: &Client| {
            let query = DebateListParams { limit: Some(200), ..DebateListParams::default() };
            Ok(client.debates(&query).await?.debates.into_iter().map(|debate| debate.id).collect())
        };
        find::one_of(ctx, connection, "debate", self.id.as_deref(), exact, newest_first).await
    }
}

/// Reads a word of a vocabulary, or `auto`, and lists them in the help.
fn or_auto<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = OrAuto<T>>
where
    T: FromStr<Err = UnknownWord> + Clone + Send + Sync + 'static,
{
    or(words, "auto").try_map(|said| if said == "auto" { Ok(OrAuto::Auto) } else { said.parse().map(OrAuto::Is) })
}

fn or(words: &'static [&'static str], other: &'static str) -> PossibleValuesParser {
    PossibleValuesParser::new(words.iter().copied().chain([other]))
}

/// One event of a debate in plain words; `None` if it is not worth a line.
pub(crate) fn told(kind: &str, payload: &serde_json::Value) -> Option<String> {
    let line = views::debate::line(&DebateEvent::read(kind, &payload.to_string())?, payload)?;
    Some(anstream::adapter::strip_str(&line).to_string())
}
