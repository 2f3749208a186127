//! `folkmoot gate extend`: give a gate more time.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::Timeout,
    wire::{Extend, Gate},
};

use crate::{
    cli::AsAgent,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::span,
};

/// Give a gate more time
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// How long it waits from now (90s, 30m, 2h, never)
    #[arg(long, value_name = "SPAN", value_parser = span::parse_timeout)]
    timeout: Timeout,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let extend = Extend { timeout_ms: args.timeout };
    let key = idempotency::new_key();
    if !connection.agrees(ctx, args.acting.who, "Give the gate this time?").await? {
        return Ok(Exit::Waiting);
    }
    let give = async |client: &Client| {
        let id = find::pending::<Gate>(client, args.id.as_deref()).await?;
        Ok(client.extend_gate(&id, &extend, Some(&key)).await?)
    };
    let gate = connection.ask(ctx, args.acting.who, give).await?;
    let until = gate.deadline.moment().map_or("somebody decides".to_owned(), span::day_and_time);
    ctx.screen.show(&gate, format!("{} waits until {until}", gate.id))?;
    Ok(Exit::Done)
}
