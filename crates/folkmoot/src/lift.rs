//! `folkmoot lift`: let go on what a halt stopped.

use anyhow::Result;
use folkmoot_api::Client;

use crate::{
    cli::As,
    connection::Connection,
    context::Context,
    exit::Exit,
    find::{self, StandingHalt},
    halt,
    style::{self, paint},
};

/// Lift a halt
#[derive(Debug, clap::Args)]
#[command(after_help = "Whom something else covers stays halted; `folkmoot status --waiting` shows what.")]
pub(crate) struct Args {
    /// The halt, or any unique beginning or end of its id; none if only one stands
    id: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let find = async |client: &Client| find::pending::<StandingHalt>(client, args.id.as_deref()).await;
    let id = connection.ask(ctx, As::You, find).await?;
    let ask = format!("Lift the halt {}?", find::short(&id));
    if !connection.agrees(ctx, As::You, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let lift = async |client: &Client| Ok(client.lift_halt(&id).await?);
    let halt = connection.ask(ctx, As::You, lift).await?;
    if ctx.screen.json {
        ctx.screen.json(&halt)?;
    } else {
        let word = paint(style::GOOD, "lifted");
        ctx.screen.say(format!("{word}: the halt of {} {}", halt::whom(&halt), paint(style::FAINT, &halt.id)))?;
    }
    Ok(Exit::Done)
}
