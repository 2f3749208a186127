//! `folkmoot lift`: let go on what a halt stopped.

use anyhow::{Result, bail};
use folkmoot_api::Client;

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
Whom something else covers stays halted; `folkmoot status --waiting` shows what. What a question halts, also a denied one, is
released with `folkmoot question cancel`.")]
pub(crate) struct Args {
    /// The halt, or any unique beginning or end of its id; none if only one stands
    id: Option<String>,
}

/// What halts where no operator's halt does, and how that is released.
async fn questions(ctx: &CliContext, client: &Client) -> Result<Option<String>> {
    let status = client.halts().await?;
    let question = status.held_by.all().into_iter().find(|hold| hold.kind == "question").map(|hold| hold.id.clone());
    Ok(question.map(|id| {
        let cancel = format!("{} question cancel {}", ctx.command(), find::short(&id));
        format!("what halts is a question, and `{cancel}` releases whom it halts")
    }))
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
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
    if ctx.screen.json {
        ctx.screen.json(&halt)?;
    } else {
        let word = paint(style::GOOD, "lifted");
        ctx.screen.say(format!("{word}: the halt of {} {}", halt::whom(&halt), paint(style::FAINT, &halt.id)))?;
    }
    Ok(Exit::Done)
}
