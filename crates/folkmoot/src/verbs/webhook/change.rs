//! `folkmoot webhook change`

use anyhow::Result;
use folkmoot_api::{Client, core::delivery::Pattern, wire::ChangeWebhook};

use super::{WebhookArgs, say};
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Change a webhook's address or events, or disable it
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    which: WebhookArgs,
    /// The new address
    #[arg(long, value_name = "URL", group = "what")]
    address: Option<String>,
    /// The new events; can be repeated: gate.opened, gate.*, *
    #[arg(long, value_name = "EVENT", value_delimiter = ',', group = "what")]
    events: Vec<Pattern>,
    /// Send nothing until it is enabled
    #[arg(long, group = "what", conflicts_with = "enable")]
    disable: bool,
    /// Send again
    #[arg(long, group = "what")]
    enable: bool,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let change = ChangeWebhook {
        url: args.address,
        events: (!args.events.is_empty()).then_some(args.events),
        disabled: (args.disable || args.enable).then_some(args.disable),
    };
    if !connection.agrees(ctx, ActingAs::You, "Change the webhook?").await? {
        return Ok(Exit::Waiting);
    }
    let change = async |client: &Client| {
        let id = args.which.find(client).await?.id;
        Ok(client.change_webhook(&id, &change).await?)
    };
    say(ctx, &connection.ask(ctx, ActingAs::You, change).await?)?;
    Ok(Exit::Done)
}
