//! `folkmoot runs`: the runs of agents and workflows, the newest first.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{RunId, SessionId, run::RunStatus},
    wire::{Run, RunListParams},
};

use crate::{
    cli::{AsYou, PageArgs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::table::TableRow,
    views,
};

/// List runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only with this status
    #[arg(long, value_parser = word::<RunStatus>(RunStatus::WORDS))]
    status: Option<RunStatus>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Only child runs of this run
    #[arg(long, value_name = "ID")]
    parent: Option<RunId>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let (status, limit) = (args.status, Some(args.page.limit));
    let query = RunListParams { status, session: args.session, parent: args.parent, cursor: args.page.cursor, limit };
    let list = connection.ask(ctx, args.acting.who, async |client: &Client| Ok(client.runs(&query).await?)).await?;
    let none = format!("There is no {}run.", status.map(|status| format!("{status} ")).unwrap_or_default());
    let rows = rows(ctx, &list.runs);
    ctx.screen.list(&list, &views::run::COLUMNS, rows, none, list.next.is_some())?;
    Ok(Exit::Done)
}

/// Prints the table.
pub(crate) fn print(ctx: &CliContext, runs: &[Run]) -> Result<()> {
    Ok(ctx.screen.table(&views::run::COLUMNS, rows(ctx, runs))?)
}

fn rows(ctx: &CliContext, runs: &[Run]) -> Vec<TableRow> {
    let now = clock::now();
    runs.iter().map(|run| views::run::row(run, now, ctx.screen.terminal)).collect()
}
