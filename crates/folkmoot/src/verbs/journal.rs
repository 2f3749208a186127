//! `folkmoot journal`: the steps of a run.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{RunId, Timestamp},
    wire::{JournalEntry, JournalListParams, JournalPage, Run},
};

use crate::{
    cli::AsYou,
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    views,
};

/// Show the journal of a run: its steps, with their results
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        Ok((client.run(&id).await?.ended_at.is_some(), read(client, &id).await?))
    };
    let (is_over, entries) = connection.ask(ctx, args.acting.who, read).await?;
    if ctx.screen.json {
        ctx.screen.json(&JournalPage { entries, next: None })?;
    } else if entries.is_empty() {
        ctx.screen.note("It has no steps yet.");
    } else {
        print(ctx, &entries, is_over, clock::now())?;
    }
    Ok(Exit::Done)
}

/// Reads all pages.
pub(crate) async fn read(client: &Client, id: &RunId) -> Result<Vec<JournalEntry>> {
    let mut query = JournalListParams { limit: Some(find::PAGE), ..JournalListParams::default() };
    let mut entries = Vec::new();
    loop {
        let page = client.journal(id, &query).await?;
        entries.extend(page.entries);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(entries),
        }
    }
}

/// Prints the table.
pub(crate) fn print(ctx: &CliContext, entries: &[JournalEntry], is_over: bool, now: Timestamp) -> Result<()> {
    let rows = entries.iter().map(|entry| views::run::step(entry, now, is_over, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&views::run::STEPS, rows)?)
}
