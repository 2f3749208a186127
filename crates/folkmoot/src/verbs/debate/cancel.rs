//! `folkmoot debate cancel`: end a debate, whatever it does.

use anyhow::Result;
use folkmoot_api::{Client, wire::CancelDebate};

use super::DebateArgs;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// End a debate, whatever it does just then
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The debate, or any unique beginning or end of its id; none if only one goes on
    id: Option<String>,
    /// Why
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = DebateArgs { id: args.id }.find_open(ctx, connection).await?;
    let why = CancelDebate { reason: args.reason };
    if !connection.agrees(ctx, ActingAs::You, "Cancel the debate?").await? {
        return Ok(Exit::Waiting);
    }
    let cancel = async |client: &Client| Ok(client.cancel_debate(&id, &why).await?);
    let debate = connection.ask(ctx, ActingAs::You, cancel).await?;
    match ctx.screen.json {
        true => ctx.screen.json(&debate)?,
        false => ctx.screen.say(format!("cancelled {}", debate.id))?,
    }
    Ok(Exit::Done)
}
