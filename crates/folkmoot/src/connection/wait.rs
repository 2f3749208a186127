//! Waiting for people, through restarts of the server and through the end of whoever hosted it.

use std::time::{Duration, Instant};

use anyhow::Result;
use folkmoot_api::{Client, client};

use crate::{cli::ActingAs, connection::Connection, context::CliContext};

/// How long one wait lasts before the next begins.
const ROUND: Duration = Duration::from_secs(30);
/// How long a server that answered before may be away.
const OUTAGE_MAX: Duration = Duration::from_secs(600);
/// How much earlier than it was asked to an answer may come before it means that the server is
/// about to end.
const EARLY: Duration = Duration::from_millis(20);

/// What `wait` returns once it `has_ended`; or as it is when `limit` is over. One call of `wait`
/// lasts at most as long as it is told.
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

/// Whether another try may help.
pub(crate) fn is_passing(error: &client::Error) -> bool {
    match error {
        client::Error::Unreachable { .. } => true,
        client::Error::Problem(problem) => problem.status == 503,
        client::Error::Foreign { .. } => false,
    }
}
