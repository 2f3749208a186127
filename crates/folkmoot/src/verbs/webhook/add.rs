//! `folkmoot webhook add`

use anyhow::Result;
use folkmoot_api::{
    core::{Name, delivery::Pattern},
    wire::NewWebhook,
};

use super::{events, say_secret};
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Send events to an address; its secret is shown once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to send: https://…
    #[arg(value_name = "URL")]
    address: String,
    /// The name that gates use (default: the address's host)
    #[arg(long)]
    name: Option<Name>,
    /// The events to send; can be repeated: gate.opened, gate.*, *
    #[arg(long, value_name = "EVENT", value_delimiter = ',')]
    events: Vec<Pattern>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    // Not retried: a second webhook whose secret nobody has seen would be worse than an error.
    let wanted = (!args.events.is_empty()).then_some(args.events);
    let request = NewWebhook { url: args.address, name: args.name, events: wanted };
    if !connection.agrees(ctx, ActingAs::You, &format!("Tell {} what happens?", request.url)).await? {
        return Ok(Exit::Waiting);
    }
    let webhook = connection.client(ActingAs::You)?.create_webhook(&request).await?;
    say_secret(ctx, &webhook, &format!("Webhook {} is told of {}.", webhook.name, events(&webhook.events)))
}
