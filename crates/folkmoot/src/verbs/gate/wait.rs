//! `folkmoot gate wait`: wait for a decision that was asked for before.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{Client, core::GateId, wire::Gate};

use crate::{
    cli::ActingAs,
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    signal,
    terminal::{
        span,
        style::{self, paint},
    },
    views,
};

/// Wait until a gate is decided
#[derive(Debug, clap::Args)]
#[command(after_help = "The exit code says whether to go on. A decision that was made before is found at once.")]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; none if only one waits
    id: Option<String>,
    /// Wait at most so long (90s, 30m, 2h); the gate stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    timeout: Option<Duration>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    // Read first: a server that was never there is an error, one that goes away later is waited
    // for.
    let read = async |client: &Client| Ok(client.gate(&find::any::<Gate>(client, args.id.as_deref()).await?).await?);
    let gate = connection.ask(ctx, args.who, read).await?;
    until_decided(ctx, connection, args.who, &gate.id, args.timeout).await
}

/// Waits, and prints what was decided.
pub(super) async fn until_decided(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    id: &GateId,
    limit: Option<Duration>,
) -> Result<Exit> {
    let interrupted = signal::shutdown()?;
    let wait = async |client: &Client, round| client.wait_gate(id, round).await;
    let decision = wait::until(ctx, connection, who, limit, wait, |gate| gate.decision.is_some());
    let Some(gate) = interrupted.run_until_cancelled(decision).await else {
        let again = paint(style::COMMAND, format!("{} gate wait {}", ctx.command(), find::short(id)));
        ctx.screen.note(format!("The gate stays open; {again} waits again."));
        return Ok(Exit::Waiting);
    };
    let gate = gate?;
    if ctx.screen.json {
        ctx.screen.json(&gate)?;
    } else {
        ctx.screen.say(views::gate::decision(&gate))?;
    }
    Ok(Exit::of(&gate))
}
