//! Waits for people, across restarts of the server and across changes of the process that hosts it.

use std::time::{Duration, Instant};

use anyhow::Result;
use folkmoot_api::{Client, client};

use super::{Connection, find};
use crate::{
    cli::ActingAs,
    context::CliContext,
    signal,
    terminal::{
        printable::one_line,
        style::{self, paint},
    },
    views,
};

/// How long one request waits before the next begins.
const ROUND: Duration = Duration::from_secs(30);
/// How long the server may be unreachable after it has answered once.
const OUTAGE_MAX: Duration = Duration::from_secs(600);
/// If an answer comes earlier than asked for by more than this, the server is shutting down.
const EARLY: Duration = Duration::from_millis(20);

/// Calls `wait` until its result `has_ended` or `limit` is over, and returns the last result. One
/// call of `wait` lasts at most as long as its argument says.
pub(crate) async fn until<T>(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    limit: Option<Duration>,
    wait: impl AsyncFn(&Client, Duration) -> Result<T, client::Error>,
    has_ended: impl Fn(&T) -> bool,
) -> Result<T> {
    let begun = Instant::now();
    let mut silent_since: Option<Instant> = None;
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        let round = if connection.is_visiting() { Duration::ZERO } else { left.unwrap_or(ROUND).min(ROUND) };
        let asked = Instant::now();
        match wait(&connection.client(who)?, round).await {
            Ok(found) if has_ended(&found) => return Ok(found),
            Ok(found) if limit.is_some_and(|limit| begun.elapsed() >= limit) => return Ok(found),
            Ok(_) if connection.is_visiting() || asked.elapsed() + EARLY < round => connection.again(ctx).await?,
            Ok(_) => silent_since = None,
            Err(error) if is_passing(&error) => {
                let since = *silent_since.get_or_insert_with(|| {
                    ctx.screen.note("The server does not answer; trying again.");
                    Instant::now()
                });
                if since.elapsed() > OUTAGE_MAX || left.is_some_and(|left| left.is_zero()) {
                    return Err(error.into());
                }
                connection.again(ctx).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// As [`until`]; or nothing where somebody stops waiting, who is told how to wait again.
pub(crate) async fn until_stopped<T>(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    limit: Option<Duration>,
    (noun, id): (&str, &str),
    wait: impl AsyncFn(&Client, Duration) -> Result<T, client::Error>,
    has_ended: impl Fn(&T) -> bool,
) -> Result<Option<T>> {
    let stopped = signal::shutdown()?;
    let ended = until(ctx, connection, who, limit, wait, has_ended);
    if let Some(found) = stopped.run_until_cancelled(ended).await {
        return found.map(Some);
    }
    let again = paint(style::COMMAND, format!("{} {noun} wait {}", ctx.command(), find::short(id)));
    ctx.screen.note(format!("The {noun} stays open; {again} waits again."));
    Ok(None)
}

/// Says on stderr what is waited for and in which ways it can be ended, so that stdout holds the
/// result alone.
pub(crate) fn announce(
    ctx: &CliContext,
    connection: &Connection,
    what: &str,
    (title, id): (&str, &str),
    ways: impl FnOnce(&str) -> Vec<String>,
) {
    ctx.screen.note(format!("{} {}", paint(style::STRONG, what), one_line(title)));
    ctx.screen.note(paint(style::FAINT, format!("{id} on {}", connection.url())));
    if !ctx.screen.notes_are_read {
        return ctx.screen.note(format!("  {}", views::gate::A_PERSON_DECIDES));
    }
    let folkmoot = match &ctx.url {
        Some(url) => format!("{} --url {url} --token …", ctx.command()),
        None => ctx.command(),
    };
    ways(&folkmoot).into_iter().for_each(|way| ctx.screen.note(way));
}

/// Whether another try may help.
pub(crate) fn is_passing(error: &client::Error) -> bool {
    match error {
        client::Error::Unreachable { .. } => true,
        client::Error::Problem(problem) => problem.status == 503,
        client::Error::Foreign { .. } => false,
    }
}
