//! `folkmoot gate cancel`: withdraw a gate.

use anyhow::Result;
use folkmoot_api::{
    Client,
    wire::{Cancel, Gate},
};

use crate::{
    cli::AsAgent,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
};

/// Withdraw a gate
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let cancel = Cancel { reason: args.reason };
    let key = idempotency::new_key();
    if !connection.agrees(ctx, args.acting.who, "Withdraw the gate?").await? {
        return Ok(Exit::Waiting);
    }
    let withdraw = async |client: &Client| {
        let id = find::pending::<Gate>(client, args.id.as_deref()).await?;
        Ok(client.cancel_gate(&id, &cancel, Some(&key)).await?)
    };
    let gate = connection.ask(ctx, args.acting.who, withdraw).await?;
    ctx.screen.show(&gate, format!("cancelled {}", gate.id))?;
    Ok(Exit::Done)
}
