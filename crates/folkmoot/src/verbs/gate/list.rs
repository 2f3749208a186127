//! `folkmoot gate list`: gates, those that wait by risk and deadline, and their requesters in turn.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateStatus, Name, RunId, SessionId},
    wire::{GateList, GateListParams},
};

use crate::{
    cli::{ActingAs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    views,
};

/// List gates
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these; pending unless it is given
    #[arg(long, value_parser = word::<GateStatus>(GateStatus::WORDS), conflicts_with = "all")]
    status: Option<GateStatus>,
    /// Whatever their status, the newest first
    #[arg(long)]
    all: bool,
    /// Only of this run
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// Only of this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Only those that this principal opened
    #[arg(long, value_name = "NAME")]
    requester: Option<Name>,
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
    let status = if args.all { None } else { Some(args.status.unwrap_or(GateStatus::Pending)) };
    let narrowed = args.run.is_some() || args.session.is_some() || args.requester.is_some() || args.cursor.is_some();
    let query = GateListParams {
        status,
        run: args.run,
        session: args.session,
        requested_by: args.requester,
        // Nobody's gates hide another's.
        interleaved: status == Some(GateStatus::Pending) && !narrowed && !ctx.screen.json,
        cursor: args.cursor,
        limit: Some(args.limit),
    };
    let interleaved = query.interleaved;
    let list = connection.ask(ctx, args.who, async |client: &Client| Ok(client.gates(&query).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
    } else {
        let what = status.map_or("", GateStatus::word).replace('_', " ");
        print(ctx, &list, &format!("There is no {what} gate.").replace("  ", " "))?;
        if list.next.is_some() || (interleaved && list.gates.len() as u64 == u64::from(args.limit)) {
            ctx.screen.note(format!("There may be more than {}; see --limit and --requester.", args.limit));
        }
    }
    Ok(Exit::Done)
}

/// The table; or, to a person, what there is none of.
pub(crate) fn print(ctx: &CliContext, list: &GateList, none: &str) -> Result<()> {
    if list.gates.is_empty() {
        ctx.screen.note(none);
        return Ok(());
    }
    let now = clock::now();
    let rows = list.gates.iter().map(|gate| views::gate::row(gate, now, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&views::gate::COLUMNS, rows)?)
}
