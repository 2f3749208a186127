//! `folkmoot status`: what waits, and what was decided last.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::Status,
    wire::{GateList, GateQuery},
};

use crate::{
    cli::As,
    connection::Connection,
    context::Context,
    exit::Exit,
    find, gate,
    style::{self, paint},
};

/// How many decisions to look back at.
const RECENT: usize = 5;

/// What waits for a decision, and how long it still has
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what waits for a person
    #[arg(long)]
    waiting: bool,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let waiting = connection.ask(ctx, As::You, async |client: &Client| find::waiting(client).await).await?;
    let waiting = GateList { gates: waiting, next: None };
    if ctx.screen.json {
        ctx.screen.json(&waiting)?;
        return Ok(Exit::Done);
    }
    if args.waiting {
        gate::list::print(ctx, &waiting, "Nothing waits for a person.")?;
        return Ok(Exit::Done);
    }
    let server = match connection.is_hosted() {
        true => "none runs; each command looks after the data itself".to_owned(),
        false => connection.url().to_owned(),
    };
    let fact = |name: &str, value: &str| format!("{} {value}", paint(style::FAINT, format!("{name:<7}")));
    ctx.screen.say(fact("server", &server))?;
    if ctx.url.is_none() {
        ctx.screen.say(fact("data", &ctx.data.path().display().to_string()))?;
    }
    ctx.screen.say(fact("waiting", &waiting.gates.len().to_string()))?;
    if !waiting.gates.is_empty() {
        ctx.screen.say("")?;
        gate::list::print(ctx, &waiting, "")?;
    }
    let query = GateQuery { limit: Some(50), ..GateQuery::default() };
    let mut recent = connection.ask(ctx, As::You, async |client: &Client| Ok(client.gates(&query).await?)).await?;
    recent.gates.retain(|gate| gate.status != Status::Pending);
    recent.gates.truncate(RECENT);
    if !recent.gates.is_empty() {
        ctx.screen.say(format!("\n{}", paint(style::FAINT, "Decided last")))?;
        gate::list::print(ctx, &recent, "")?;
    }
    Ok(Exit::Done)
}
