//! `folkmoot ready`: whether a server is usable. For scripts and container health checks.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use folkmoot_api::Client;
use serde_json::json;

use crate::{context::CliContext, exit::Exit, logging};

/// How long it may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Ask whether the server can be used: exit code 0 if so
#[derive(Debug, clap::Args)]
#[command(after_help = "Asks the server of the data folder, or the one that --url names. It does not start a server.")]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, ctx: &CliContext) -> Result<Exit> {
    logging::quiet(ctx)?;
    let found = ctx.url.clone().or_else(|| ctx.data.server().map(|server| server.url));
    let url = found.with_context(|| format!("no server runs in {}", ctx.data.path().display()))?;
    // A server that listens on all addresses is asked on loopback.
    let asked = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
    match tokio::time::timeout(ANSWER_TIMEOUT, Client::new(&asked, "")?.ready()).await {
        Ok(answered) => answered?,
        Err(_) => bail!("{asked} does not answer"),
    }
    if ctx.screen.json {
        ctx.screen.json(&json!({ "url": asked }))?;
    } else {
        ctx.screen.say(format!("ready at {asked}"))?;
    }
    Ok(Exit::Done)
}
