//! `folkmoot gate wait`: wait for the decision on an existing gate.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{Client, wire::Gate};

use crate::{
    cli::{ActingAs, AsAgent},
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    terminal::{
        span,
        style::{self, paint},
    },
    views,
};

/// Wait until a gate is decided
#[derive(Debug, clap::Args)]
#[command(after_help = "The exit code says whether to continue. If the gate is already decided, it returns at once.")]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// Wait at most this long (90s, 30m, 2h); the gate stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    timeout: Option<Duration>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    // Read first: a server that was never reachable is an error; one that disappears later is
    // waited for.
    let read = async |client: &Client| Ok(client.gate(&find::any::<Gate>(client, args.id.as_deref()).await?).await?);
    let gate = connection.ask(ctx, args.acting.who, read).await?;
    until_decided(ctx, connection, args.acting.who, &gate, args.timeout).await
}

/// Says what is waited for, waits, and prints the decision.
pub(super) async fn until_decided(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    gate: &Gate,
    limit: Option<Duration>,
) -> Result<Exit> {
    let id = &gate.id;
    if gate.decision.is_none() {
        let way = |word: &str, command: String| format!("  {word:<4} {}", paint(style::COMMAND, command));
        let ways = |folkmoot: &str| {
            let short = find::short(id);
            let no = way("no", format!("{folkmoot} reject {short} --reason \"…\""));
            vec![way("yes", format!("{folkmoot} approve {short}")), no]
        };
        wait::announce(ctx, connection, "Waiting for a decision:", (&gate.title, id.as_str()), ways);
    }
    let wait = async |client: &Client, round| client.wait_gate(id, round).await;
    let (named, is_decided) = (("gate", id.as_str()), |gate: &Gate| gate.decision.is_some());
    let Some(gate) = wait::until_stopped(ctx, connection, who, limit, named, wait, is_decided).await? else {
        return Ok(Exit::Waiting);
    };
    ctx.screen.show(&gate, views::gate::decision(&gate))?;
    Ok(Exit::of(&gate))
}
