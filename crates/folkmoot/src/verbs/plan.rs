//! `folkmoot plan`: a plan in iterations, with your decision before the first and after every few.

mod decide;
mod export;
mod follow;
mod list;
mod show;

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{RunId, SessionId},
    wire::{PlanQuery, StartPlan},
};

use crate::{
    cli::ActingAs,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    which_model,
};

/// Plan in iterations, and decide at every checkpoint
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Shows the proposal, asks you, works through the iterations, asks you again at every checkpoint, and
prints the plan. Leave it with Ctrl-C: `folkmoot plan follow` returns to it.

Examples:
  folkmoot plan \"Open a second bakery\" --iterations 6 --checkpoint 3
  folkmoot plan export --html > plan.html"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The goal
    #[arg(required = true)]
    goal: Option<String>,
    /// The number of iterations; a single one asks nobody
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=20))]
    iterations: u32,
    /// Ask after this many iterations
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10))]
    checkpoint: u32,
    /// Part of an earlier plan to build on, as PLAN/ENTITY; can be repeated
    #[arg(long = "with", value_name = "PLAN/ENTITY")]
    entities: Vec<String>,
    /// The model provider: a name from folkmoot.toml, a vendor whose key is in the environment,
    /// ollama, llamacpp, rehearsal
    #[arg(long, value_name = "NAME[/MODEL]")]
    provider: Option<String>,
    /// The longest answer of a model; default: as the provider is configured
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,
    /// The id of the plan and its session (default: a new one)
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Start it, print its id, and return
    #[arg(long)]
    detach: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Return to a plan: watch it, and decide
    Follow(PlanArgs),
    Show(show::Args),
    Export(export::Args),
    List(list::Args),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The plan, or any unique beginning or end of its id (default: the newest)
    id: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match args.verb {
        None => start(args, ctx, connection).await,
        Some(Verb::Follow(which)) => {
            let id = which.find(ctx, connection).await?;
            follow::run(ctx, connection, &id).await
        }
        Some(Verb::Show(args)) => show::run(args, ctx, connection).await,
        Some(Verb::Export(args)) => export::run(args, ctx, connection).await,
        Some(Verb::List(args)) => list::run(args, ctx, connection).await,
    }
}

async fn start(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let mut entities = Vec::new();
    for named in args.entities {
        // Accept any end of the plan's id, as lists show it.
        entities.push(match named.rsplit_once('/') {
            Some((plan, entity)) => {
                let id = PlanArgs { id: Some(plan.to_owned()) }.find(ctx, connection).await?;
                format!("{id}/{entity}")
            }
            None => named,
        });
    }
    let provider = which_model::of_server(ctx, connection, args.provider.as_deref()).await?;
    let request = StartPlan {
        goal: args.goal.unwrap_or_default(),
        max_iterations: Some(args.iterations),
        checkpoint_interval: Some(args.checkpoint),
        session_id: args.session,
        entities,
        provider: Some(provider),
        max_tokens: args.max_tokens,
        ..StartPlan::default()
    };
    let key = idempotency::new_key();
    let start = async |client: &Client| Ok(client.start_plan(&request, Some(&key)).await?);
    let plan = connection.ask(ctx, ActingAs::Agent, start).await?;
    if !args.detach {
        return follow::run(ctx, connection, &plan.id).await;
    }
    ctx.screen.show(&plan, plan.id.as_str())?;
    Ok(Exit::Done)
}

impl PlanArgs {
    async fn find(&self, ctx: &CliContext, connection: &mut Connection) -> Result<RunId> {
        let exact = async |client: &Client, id: &RunId| Ok(client.plan(id).await?.id);
        let newest_first = async |client: &Client| {
            let query = PlanQuery { limit: Some(200), ..PlanQuery::default() };
            Ok(client.plans(&query).await?.plans.into_iter().map(|plan| plan.id).collect())
        };
        find::one_of(ctx, connection, "plan", self.id.as_deref(), exact, newest_first).await
    }
}
