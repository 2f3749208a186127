//! Waiting for a decision, through restarts of the server and through the end of whoever hosted it.

use std::time::{Duration, Instant};

use anyhow::Result;
use folkmoot_api::{client, core::GateId, wire::Gate};

use crate::{cli::As, connection::Connection, context::Context};

/// How long one wait lasts before the next begins.
const ROUND: Duration = Duration::from_secs(30);
/// How long a server that answered before may be away.
const PATIENCE: Duration = Duration::from_secs(600);

/// The gate once it is decided; or as it is when `limit` is over.
pub(crate) async fn decision(
    ctx: &Context,
    connection: &mut Connection,
    who: As,
    gate: &GateId,
    limit: Option<Duration>,
) -> Result<Gate> {
    let begun = Instant::now();
    let mut silent_since: Option<Instant> = None;
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        let round = if connection.is_visiting() { Duration::ZERO } else { left.unwrap_or(ROUND).min(ROUND) };
        match connection.client(who)?.wait_gate(gate, round).await {
            Ok(gate) if gate.decision.is_some() || left.is_some_and(|left| left <= round) => return Ok(gate),
            Ok(_) if connection.is_visiting() => connection.again(ctx).await?,
            Ok(_) => silent_since = None,
            Err(error) if is_passing(&error) => {
                let since = *silent_since.get_or_insert_with(|| {
                    ctx.screen.note("The server does not answer; trying again.");
                    Instant::now()
                });
                if since.elapsed() > PATIENCE || left.is_some_and(|left| left.is_zero()) {
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
