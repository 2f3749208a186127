//! `folkmoot runs`: what agents and workflows execute, the newest first.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{RunId, SessionId, run::RunStatus},
    wire::{Run, RunListParams},
};

use crate::{
    cli::{ActingAs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    views,
};

/// List runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these
    #[arg(long, value_parser = word::<RunStatus>(RunStatus::WORDS))]
    status: Option<RunStatus>,
    /// Only of this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Only those that this run started
    #[arg(long, value_name = "ID")]
    parent: Option<RunId>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Go on after another list, where its `next` says
    #[arg(long)]
    cursor: Option<String>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let (status, limit) = (args.status, Some(args.limit));
    let query = RunListParams { status, session: args.session, parent: args.parent, cursor: args.cursor, limit };
    let list = connection.ask(ctx, args.who, async |client: &Client| Ok(client.runs(&query).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
        return Ok(Exit::Done);
    }
    if list.runs.is_empty() {
        let what = status.map(|status| format!("{status} ")).unwrap_or_default();
        ctx.screen.note(format!("There is no {what}run."));
    } else {
        print(ctx, &list.runs)?;
    }
    ctx.screen.note_more(list.runs.len(), list.next.is_some());
    Ok(Exit::Done)
}

/// The table.
pub(crate) fn print(ctx: &CliContext, runs: &[Run]) -> Result<()> {
    let now = clock::now();
    let rows = runs.iter().map(|run| views::run::row(run, now, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&views::run::COLUMNS, rows)?)
}
