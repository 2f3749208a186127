//! `folkmoot debate cancel`: end a debate in any state.

use anyhow::Result;
use folkmoot_api::{Client, wire::CancelDebate};

use super::DebateArgs;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// End a debate in any state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The debate, or any unique beginning or end of its id; optional if only one is running
    id: Option<String>,
    /// The reason
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
    ctx.screen.show(&debate, format!("cancelled {}", debate.id))?;
    Ok(Exit::Done)
}
