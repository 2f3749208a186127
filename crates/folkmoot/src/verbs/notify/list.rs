//! `folkmoot notify list`

use anyhow::Result;
use folkmoot_api::{Client, wire::Channel};

use crate::{
    cli::ActingAs,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, style, table::TableRow},
    verbs::webhook::events,
};

/// List channels: configured ones and webhooks
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.channels().await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
        return Ok(Exit::Done);
    }
    if list.channels.is_empty() {
        let add = format!("{} webhook add URL", ctx.command());
        ctx.screen
            .note(format!("There is no channel: add [channels.NAME] to folkmoot.toml, or a webhook with `{add}`."));
        return Ok(Exit::Done);
    }
    let row = |channel: &Channel| {
        let failure = channel.last_failure.as_ref().and_then(|delivery| delivery.last_error.as_deref());
        let (state, note) = match (&channel.problem, failure) {
            (Some(problem), _) => ("broken", problem.as_str()),
            (None, Some(failure)) => ("failed", failure),
            (None, None) => ("ok", ""),
        };
        let told = events(&channel.events);
        let cells = vec![channel.name.clone(), channel.kind.clone(), state.to_owned(), told, one_line(note)];
        TableRow { cells, painted: (state != "ok").then_some((state, style::WARN)) }
    };
    let rows = list.channels.iter().map(row).collect();
    ctx.screen.table(&["CHANNEL", "KIND", "STATE", "EVENTS", "LAST FAILURE"], rows)?;
    Ok(Exit::Done)
}
