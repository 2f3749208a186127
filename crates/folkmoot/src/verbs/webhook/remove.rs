//! `folkmoot webhook remove`

use anyhow::Result;
use folkmoot_api::Client;

use super::WebhookArgs;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Remove a webhook; its undelivered messages are dead
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: WebhookArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    if !connection.agrees(ctx, ActingAs::You, "Remove the webhook?").await? {
        return Ok(Exit::Waiting);
    }
    let remove = async |client: &Client| {
        let id = args.which.find(client).await?.id;
        Ok(client.remove_webhook(&id).await?)
    };
    let webhook = connection.ask(ctx, ActingAs::You, remove).await?;
    ctx.screen.show(&webhook, format!("removed {}", webhook.name))?;
    Ok(Exit::Done)
}
