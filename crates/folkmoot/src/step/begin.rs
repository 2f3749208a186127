//! `folkmoot step begin`: is this to be done?

use anyhow::Result;
use folkmoot_api::core::journal::{EntryKind, Progress};

use super::Which;
use crate::{
    connection::Connection,
    context::Context,
    exit::Exit,
    journal,
    screen::{one_line, printable},
};

/// Ask whether a step is to be done: exit code 0 if so, 7 if it is done already
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0   do it now, then say `folkmoot step done` or `folkmoot step fail`
  7   it is done already, and its result is printed
  8   only with --once: it was begun before, and nobody knows whether it was done; look, then say
      `step done` or `step fail`
  9   it failed before, and that stands
Without --once, a step that was begun and not ended is simply to be done again.

Example:
  folkmoot step begin $run migrate --once && ./migrate && folkmoot step done $run migrate")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let which = args.which;
    let (entry, is_new) = which.record(ctx, connection, &which.step(Progress::Begun)).await?;
    if ctx.screen.json {
        ctx.screen.json(&entry)?;
    }
    let key = one_line(entry.key.as_str());
    Ok(match entry.state {
        Progress::Done => {
            if !ctx.screen.json {
                let result = journal::bare(&entry);
                ctx.screen.say(if ctx.screen.terminal { printable(&result) } else { result })?;
            }
            Exit::DoneBefore
        }
        Progress::Failed => {
            let why = entry.error.map(|error| one_line(&error.message)).unwrap_or_default();
            ctx.screen.note(format!("{key} failed before: {why}"));
            Exit::FailedBefore
        }
        Progress::Begun | Progress::Failing | Progress::Waiting if is_new => Exit::Done,
        Progress::Begun | Progress::Failing | Progress::Waiting if entry.kind == EntryKind::Once => {
            let folkmoot = ctx.command();
            ctx.screen.note(format!(
                "{key} was begun before, and nobody knows whether it was done. Look, then say which it is:\n  \
                 {folkmoot} step done {run} {key}\n  {folkmoot} step fail {run} {key} --reason \"…\"",
                run = which.run,
                key = crate::context::quoted(&key),
            ));
            Exit::Unknown
        }
        Progress::Begun | Progress::Failing | Progress::Waiting => {
            ctx.screen.note(format!("{key} was begun before and not ended, so it is to be done again."));
            Exit::Done
        }
    })
}
