//! `folkmoot replay`: repeat a debate from its record.

use anyhow::Result;
use folkmoot_api::{Client, debate::record::DebateStatus, wire::DebateReplay};

use super::debate::DebateArgs;
use crate::{
    cli::ActingAs,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::style::{self, paint},
    views,
};

/// Repeat a debate from its record: no model is asked, nothing is executed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the same verdict or end, 1 it differs, 4 the debate is not over.

Examples:
  folkmoot replay
  folkmoot replay my-debate --json")]
pub(crate) struct Args {
    #[command(flatten)]
    which: DebateArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let replay =
        connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.replay_debate(&id).await?)).await?;
    ctx.screen.show(&replay, told(&replay))?;
    Ok(match (&replay.differs, replay.same) {
        (Some(_), _) => Exit::Problems,
        (None, true) => Exit::Done,
        // Cancelled or failed, and the record is the same up to its end.
        (None, false) if is_over(&replay) => Exit::Done,
        (None, false) => Exit::Waiting,
    })
}

fn is_over(replay: &DebateReplay) -> bool {
    matches!(replay.status, DebateStatus::Cancelled | DebateStatus::Failed)
}

fn told(replay: &DebateReplay) -> String {
    let calls = replay.calls;
    if let Some(differs) = &replay.differs {
        let place = differs.turn.as_ref().map_or_else(String::new, |turn| format!(" at {turn}"));
        let differs = format!("it differs{place}: {} ({})", differs.why, differs.code);
        return format!("{}, after {calls} calls answered from the record", paint(style::BAD, differs));
    }
    match (&replay.verdict, &replay.fault, replay.same) {
        (Some(verdict), _, true) => {
            format!("{}\nthe same verdict, {calls} calls answered from the record", views::debate::decision(verdict))
        }
        (_, Some(fault), true) => {
            format!("{} ({})\nthe same end, {calls} calls answered from the record", fault.message, fault.code)
        }
        _ if is_over(replay) => {
            let calls = format!("{calls} calls answered from the record, up to where it ends");
            format!("{}\nthe same as far as it came, {calls}", replay.status)
        }
        _ => {
            let end = match (&replay.waiting_at, &replay.until) {
                (Some(gate), _) => format!("it waits at gate {gate}"),
                (None, Some(until)) if !until.is_empty() => format!("the record ends before {until}"),
                (None, _) => "the record ends there".to_owned(),
            };
            format!("{} so far: {calls} calls answered from the record, then {end}", replay.status)
        }
    }
}
