//! `folkmoot webhook list`

use anyhow::Result;
use folkmoot_api::{Client, wire::Webhook};

use super::events;
use crate::{
    cli::ActingAs,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{style, table::TableRow},
};

/// List webhooks, without their secrets
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.webhooks().await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
        return Ok(Exit::Done);
    }
    if list.webhooks.is_empty() {
        ctx.screen.note(format!("There is no webhook; `{} webhook add URL` makes one.", ctx.command()));
        return Ok(Exit::Done);
    }
    let row = |webhook: &Webhook| {
        let state = if webhook.disabled { "disabled" } else { "told" };
        let cells = vec![webhook.name.to_string(), state.to_owned(), webhook.url.clone(), events(&webhook.events)];
        TableRow { cells, painted: webhook.disabled.then_some((state, style::FAINT)) }
    };
    ctx.screen.table(&["NAME", "STATE", "ADDRESS", "EVENTS"], list.webhooks.iter().map(row).collect())?;
    Ok(Exit::Done)
}
