//! `folkmoot journal`: what a run has done, step by step.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{RunId, Timestamp},
    wire::{JournalEntry, JournalPage, JournalQuery, Run},
};

use crate::{
    cli::As, clock, connection::Connection, context::Context, exit::Exit, find, question_view, run_view,
    screen::one_line,
};

/// Show the journal of a run: its steps, with their results
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: As,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        Ok((client.run(&id).await?.ended_at.is_some(), read(client, &id).await?))
    };
    let (is_over, entries) = connection.ask(ctx, args.who, read).await?;
    if ctx.screen.json {
        ctx.screen.json(&JournalPage { entries, next: None })?;
    } else if entries.is_empty() {
        ctx.screen.note("It has no steps yet.");
    } else {
        print(ctx, &entries, is_over, clock::now())?;
    }
    Ok(Exit::Done)
}

/// All of it.
pub(crate) async fn read(client: &Client, id: &RunId) -> Result<Vec<JournalEntry>> {
    let mut query = JournalQuery { limit: Some(find::PAGE), ..JournalQuery::default() };
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

/// The table.
pub(crate) fn print(ctx: &Context, entries: &[JournalEntry], is_over: bool, now: Timestamp) -> Result<()> {
    let rows = entries.iter().map(|entry| run_view::step(entry, now, is_over, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&run_view::STEPS, rows)?)
}

/// What a step gave, as a script takes it: a text bare, anything else as JSON.
pub(crate) fn bare(entry: &JournalEntry) -> Option<String> {
    let result = entry.result.as_deref().map(|result| result.get()).filter(|result| *result != "null")?;
    // Too deep for a reader of ours, it is shown as it is.
    Some(serde_json::from_str(result).map_or_else(|_| result.to_owned(), |result| question_view::bare(&result)))
}

/// How much of a result a table shows.
const BRIEF_CHARS: usize = 200;

/// As [`bare`], on one line, and not much of it.
pub(crate) fn brief(entry: &JournalEntry) -> String {
    let text = bare(entry).unwrap_or_default();
    let start: String = text.chars().take(BRIEF_CHARS).collect();
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{}{cut}", one_line(&start))
}
