//! `folkmoot gate cancel`: withdraw a gate.

use anyhow::Result;
use folkmoot_api::{
    Client,
    wire::{Cancel, Gate},
};

use crate::{
    cli::ActingAs,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
};

/// Withdraw a gate that nobody needs to decide any more
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; none if only one waits
    id: Option<String>,
    /// Why
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let cancel = Cancel { reason: args.reason };
    let key = idempotency::new_key();
    if !connection.agrees(ctx, args.who, "Withdraw the gate?").await? {
        return Ok(Exit::Waiting);
    }
    let withdraw = async |client: &Client| {
        let id = find::pending::<Gate>(client, args.id.as_deref()).await?;
        Ok(client.cancel_gate(&id, &cancel, Some(&key)).await?)
    };
    let gate = connection.ask(ctx, args.who, withdraw).await?;
    if ctx.screen.json {
        ctx.screen.json(&gate)?;
    } else {
        ctx.screen.say(format!("cancelled {}", gate.id))?;
    }
    Ok(Exit::Done)
}
