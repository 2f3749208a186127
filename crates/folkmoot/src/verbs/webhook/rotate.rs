//! `folkmoot webhook rotate`

use anyhow::Result;

use super::{WebhookArgs, say_secret};
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Give a webhook a new secret, which is shown once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: WebhookArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    if !connection.agrees(ctx, ActingAs::You, "Give the webhook a new secret?").await? {
        return Ok(Exit::Waiting);
    }
    // Not retried, as in `webhook add`.
    let client = connection.client(ActingAs::You)?;
    let id = args.which.find(&client).await?.id;
    let webhook = client.rotate_webhook(&id).await?;
    let before = match webhook.previous_until {
        Some(until) => format!(" Until {until} its messages are signed with the one before too."),
        None => String::new(),
    };
    let what = format!("Webhook {} has secret number {}.{before}", webhook.name, webhook.generation);
    say_secret(ctx, &webhook, &what)
}
