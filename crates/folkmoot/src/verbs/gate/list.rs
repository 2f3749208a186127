//! `folkmoot gate list`: gates. Pending ones are sorted by risk and deadline, alternating between
//! requesters.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateStatus, Name, RunId, SessionId},
    wire::{GateList, GateListParams},
};

use crate::{
    cli::{AsYou, PageArgs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    views,
};

/// List gates
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only with this status (default: pending)
    #[arg(long, value_parser = word::<GateStatus>(GateStatus::WORDS), conflicts_with = "all")]
    status: Option<GateStatus>,
    /// Any status, the newest first
    #[arg(long)]
    all: bool,
    /// Only this run
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Only gates of this principal and of its runs
    #[arg(long, value_name = "NAME")]
    requester: Option<Name>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let status = if args.all { None } else { Some(args.status.unwrap_or(GateStatus::Pending)) };
    let narrowed =
        args.run.is_some() || args.session.is_some() || args.requester.is_some() || args.page.cursor.is_some();
    let query = GateListParams {
        status,
        run: args.run,
        session: args.session,
        requested_by: args.requester,
        // One requester's gates must not hide another's.
        interleaved: status == Some(GateStatus::Pending) && !narrowed && !ctx.screen.json,
        brief: !ctx.screen.json,
        cursor: args.page.cursor,
        limit: Some(args.page.limit),
    };
    let interleaved = query.interleaved;
    let list = connection.ask(ctx, args.acting.who, async |client: &Client| Ok(client.gates(&query).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
    } else {
        let what = status.map_or("", GateStatus::word).replace('_', " ");
        print(ctx, &list, &format!("There is no {what} gate.").replace("  ", " "))?;
        if list.next.is_some() || (interleaved && list.gates.len() as u64 == u64::from(args.page.limit)) {
            ctx.screen.note(format!("There may be more than {}; see --limit and --requester.", args.page.limit));
        }
    }
    Ok(Exit::Done)
}

/// Prints the table, or for a person that there are none.
pub(crate) fn print(ctx: &CliContext, list: &GateList, none: &str) -> Result<()> {
    if list.gates.is_empty() {
        ctx.screen.note(none);
        return Ok(());
    }
    let now = clock::now();
    let rows = list.gates.iter().map(|gate| views::gate::row(gate, now, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&views::gate::COLUMNS, rows)?)
}
