//! `folkmoot delivery show`

use anyhow::Result;
use folkmoot_api::{Client, core::DeliveryId};

use super::say;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Show one message: how often it was tried, and why that failed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its id, as `delivery list` shows it
    id: DeliveryId,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let delivery =
        connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.delivery(&args.id).await?)).await?;
    say(ctx, &delivery)?;
    Ok(Exit::Done)
}
