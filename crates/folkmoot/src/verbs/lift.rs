//! `folkmoot lift`: end a halt.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::{HaltId, Name},
};

use crate::{
    cli::ActingAs,
    connection::{
        Connection,
        find::{self, StandingHalt},
    },
    context::CliContext,
    exit::Exit,
    terminal::style::{self, paint},
    verbs::halt,
};

/// Lift a halt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents that something else halts stay halted; `folkmoot status --waiting` shows what. If a question
halts them, also a denied one, `folkmoot question cancel` releases them.

Examples:
  folkmoot lift --raised-by monitor")]
pub(crate) struct Args {
    /// The halt, or any unique beginning or end of its id; optional if there is only one
    id: Option<String>,
    /// All that stand and were raised by this principal
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    raised_by: Option<Name>,
}

/// If no operator's halt is in force: the questions that halt, and how to release them.
async fn questions(ctx: &CliContext, client: &Client) -> Result<Option<String>> {
    let status = client.halts().await?;
    let question = status.held_by.all().into_iter().find(|hold| hold.kind == "question").map(|hold| hold.id.clone());
    Ok(question.map(|id| {
        let cancel = format!("{} question cancel {}", ctx.command(), find::short(&id));
        format!("a question halts them; `{cancel}` releases them")
    }))
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    if let Some(name) = &args.raised_by {
        return all_of(ctx, connection, name).await;
    }
    let find = async |client: &Client| match find::pending::<StandingHalt>(client, args.id.as_deref()).await {
        Ok(id) => Ok(id),
        Err(error) => match questions(ctx, client).await? {
            Some(instead) => bail!("{error}; {instead}"),
            None => Err(error),
        },
    };
    let id = connection.ask(ctx, ActingAs::You, find).await?;
    let ask = format!("Lift the halt {}?", find::short(&id));
    if !connection.agrees(ctx, ActingAs::You, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let lift = async |client: &Client| Ok(client.lift_halt(&id).await?);
    let halt = connection.ask(ctx, ActingAs::You, lift).await?;
    let word = paint(style::GOOD, "lifted");
    ctx.screen.show(&halt, format!("{word}: the halt of {} {}", halt::whom(&halt), paint(style::FAINT, &halt.id)))?;
    Ok(Exit::Done)
}

/// Lifts all that somebody raised and that stands, after asking once.
async fn all_of(ctx: &CliContext, connection: &mut Connection, name: &Name) -> Result<Exit> {
    let find = async |client: &Client| {
        let status = client.halts().await?;
        let raised = status.held_by.all().into_iter().filter(|hold| hold.raised_by.as_ref() == Some(name));
        Ok(raised.filter_map(|hold| hold.id.parse().ok()).collect::<Vec<HaltId>>())
    };
    let ids = connection.ask(ctx, ActingAs::You, find).await?;
    if ids.is_empty() {
        ctx.screen.note(format!("No halt that {name} raised stands."));
        return Ok(Exit::Done);
    }
    let ask = format!("Lift all {} halts that {name} raised?", ids.len());
    if !connection.agrees(ctx, ActingAs::You, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let mut lifted = Vec::with_capacity(ids.len());
    for id in &ids {
        lifted.push(connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.lift_halt(id).await?)).await?);
    }
    if ctx.screen.json {
        ctx.screen.json(&lifted)?;
    } else {
        ctx.screen.say(format!("lifted {} that {name} raised", lifted.len()))?;
    }
    Ok(Exit::Done)
}
