//! `folkmoot delivery resend`

use anyhow::Result;
use folkmoot_api::{Client, core::DeliveryId};

use super::say;
use crate::{
    cli::ActingAs,
    connection::{Connection, idempotency},
    context::CliContext,
    exit::Exit,
};

/// Send a message again, now and under the same id
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its id, as `delivery list` shows it
    id: DeliveryId,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let key = idempotency::new_key();
    if !connection.agrees(ctx, ActingAs::You, "Send it again?").await? {
        return Ok(Exit::Waiting);
    }
    let resend = async |client: &Client| Ok(client.resend(&args.id, Some(&key)).await?);
    say(ctx, &connection.ask(ctx, ActingAs::You, resend).await?)?;
    Ok(Exit::Done)
}
