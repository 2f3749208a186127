//! `folkmoot webhook show`

use anyhow::Result;
use folkmoot_api::Client;

use super::{WebhookArgs, say};
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Show a webhook
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: WebhookArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let webhook = connection.ask(ctx, ActingAs::You, async |client: &Client| args.which.find(client).await).await?;
    say(ctx, &webhook)?;
    Ok(Exit::Done)
}
