//! `folkmoot step begin`: asks whether to do a step.

use anyhow::Result;
use folkmoot_api::{client, core::journal::EntryStatus};

use super::StepArgs;
use crate::{
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::printable::{one_line, printable},
    views,
};

/// Ask whether to do a step: exit code 0 if so, 7 if it is already done
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0   do it now, then use `folkmoot step done` or `folkmoot step fail`
  7   it is already done; its result is printed
  8   only with --once: it was begun before, and it is unknown whether it was done; check, then use
      `step done` or `step fail`
  9   it failed before
  6   you are halted: run `folkmoot clear AGENT --session SESSION --wait` as it is printed, then ask again
Without --once, a step that was begun and not ended is done again.

Example (any other code means: do not do it, and do not continue as if it were done):
  folkmoot step begin $run migrate --once
  case $? in
    0) ./migrate || exit; folkmoot step done $run migrate ;;
    7) ;;
    *) exit 1 ;;
  esac")]
pub(crate) struct Args {
    #[command(flatten)]
    which: StepArgs,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let which = args.which;
    let (entry, is_new) = match which.record(ctx, connection, &which.step(EntryStatus::Begun)).await {
        Err(error) if is_halted(&error) => {
            ctx.screen.note(format!("{error:#}"));
            return Ok(Exit::Halted);
        }
        recorded => recorded?,
    };
    if ctx.screen.json {
        ctx.screen.json(&entry)?;
    }
    let key = one_line(entry.key.as_str());
    Ok(match entry.state {
        EntryStatus::Done => {
            if let Some(result) = views::run::step_result(&entry).filter(|_| !ctx.screen.json) {
                match ctx.screen.terminal {
                    true => ctx.screen.say(printable(&result))?,
                    // A script gets exactly what was recorded.
                    false => ctx.screen.raw(&format!("{result}\n"))?,
                }
            }
            Exit::DoneBefore
        }
        EntryStatus::Failed => {
            let why = entry.error.map(|error| one_line(&error.message)).unwrap_or_default();
            ctx.screen.note(format!("{key} failed before: {why}"));
            Exit::FailedBefore
        }
        EntryStatus::Begun | EntryStatus::Failing | EntryStatus::Waiting if is_new => {
            if entry.attempts > 1 {
                ctx.screen.note(format!("{key} was begun before and not ended, so it is to be done again."));
            }
            Exit::Done
        }
        EntryStatus::Begun | EntryStatus::Failing | EntryStatus::Waiting => {
            let folkmoot = ctx.command();
            ctx.screen.note(format!(
                "{key} was begun before, and nobody knows whether it was done. Look, then say which it is:\n  \
                 {folkmoot} step done {run} {key}\n  {folkmoot} step fail {run} {key} --reason \"…\"",
                run = which.run,
                key = crate::context::quoted(&key),
            ));
            Exit::Unknown
        }
    })
}

fn is_halted(error: &anyhow::Error) -> bool {
    error.downcast_ref::<client::Error>().is_some_and(|error| error.code() == Some("halted"))
}
