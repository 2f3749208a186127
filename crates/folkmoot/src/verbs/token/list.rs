//! `folkmoot token list`

use anyhow::Result;
use folkmoot_api::{Client, wire::Token};

use crate::{
    cli::ActingAs,
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{span, style, table::TableRow},
};

/// List tokens, without their secrets
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.tokens().await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
        return Ok(Exit::Done);
    }
    let now = clock::now();
    let row = |token: &Token| {
        let made = format!("{} by {}", span::ago(token.created_at, now), token.created_by);
        let state = if token.revoked_at.is_some() { "revoked" } else { "valid" };
        let cells = vec![token.id.to_string(), token.name.to_string(), powers(token), state.to_owned(), made];
        TableRow { cells, painted: token.revoked_at.map(|_| (state, style::FAINT)) }
    };
    ctx.screen.table(&["TOKEN", "NAME", "ROLE", "STATE", "MADE"], list.tokens.iter().map(row).collect())?;
    Ok(Exit::Done)
}

/// Its role and capabilities, and its kind if the data folder keeps it.
pub(super) fn powers(token: &Token) -> String {
    let can: Vec<_> = token.capabilities.iter().map(|capability| capability.word()).collect();
    let kind = if token.kind.is_minted() { String::new() } else { format!(", {}", token.kind) };
    if can.is_empty() {
        format!("{}{kind}", token.role)
    } else {
        format!("{}{kind}, may {}", token.role, can.join(", "))
    }
}
