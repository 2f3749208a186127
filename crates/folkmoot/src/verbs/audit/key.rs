//! `folkmoot audit key`: the public key of the server's signatures.

use anyhow::Result;
use folkmoot_api::Client;

use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Print the public key of this server's signatures
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keep it where nobody who can change the server's database can change it, and pass it with --key."
)]
pub(crate) struct Args {}

pub(super) async fn run(ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let pem = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.audit_key().await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&serde_json::json!({ "public_key": pem }))?;
    } else {
        ctx.screen.raw(&pem)?;
    }
    Ok(Exit::Done)
}
