//! `folkmoot debate list`: debates, the newest first.

use anyhow::Result;
use folkmoot_api::{
    Client,
    debate::record::DebateStatus,
    wire::{Debate, DebateListParams},
};

use crate::{
    cli::{ActingAs, word},
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, span, style, table::TableRow},
    views,
};

/// List debates
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only with this status
    #[arg(long, value_name = "STATUS", value_parser = word::<DebateStatus>(DebateStatus::WORDS))]
    status: Option<DebateStatus>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let query = DebateListParams { status: args.status, limit: Some(args.limit), ..DebateListParams::default() };
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.debates(&query).await?)).await?;
    let rows = list.debates.iter().map(|debate| row(debate, ctx.screen.terminal)).collect();
    ctx.screen.list(
        &list,
        &["DEBATE", "STATUS", "PHASE", "ROUND", "STARTED", "TOPIC"],
        rows,
        "There is no debate.",
        false,
    )?;
    Ok(Exit::Done)
}

fn row(debate: &Debate, terminal: bool) -> TableRow {
    let id = if terminal { find::short_run(&debate.id) } else { debate.id.as_str() };
    let (status, style) = match debate.halted_by.is_empty() {
        true => (debate.status.word(), views::debate::of_status(debate.status)),
        false => ("halted", style::WARN),
    };
    let cells = [
        id.to_owned(),
        status.to_owned(),
        debate.phase.map_or("-", |phase| phase.word()).to_owned(),
        debate.round.to_string(),
        span::ago(debate.created_at, clock::now()),
        one_line(debate.topic.as_deref().unwrap_or("(erased)")),
    ];
    TableRow { cells: cells.into(), painted: Some((status, style)) }
}
