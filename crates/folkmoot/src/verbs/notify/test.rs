//! `folkmoot notify test`

use anyhow::{Result, bail};
use folkmoot_api::Client;

use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Send a test message to a channel, and print the result
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name, as `notify list` shows it
    channel: String,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let test = async |client: &Client| Ok(client.test_channel(&args.channel).await?);
    let tested = connection.ask(ctx, ActingAs::You, test).await?;
    if ctx.screen.json {
        ctx.screen.json(&tested)?;
        return Ok(if tested.delivered { Exit::Done } else { Exit::Problems });
    }
    if !tested.delivered {
        bail!("{} was not told: {}", tested.channel, tested.reason.unwrap_or_default());
    }
    ctx.screen.say(format!("told {}", tested.channel))?;
    Ok(Exit::Done)
}
