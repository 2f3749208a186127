//! Following a plan to its end: how far it is, what it asks, and what came of it.

use std::{io::Write, time::Duration};

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateId, RunId, plan::PlanStatus},
    wire::Plan,
};

use super::{decide, view};
use crate::{cli::As, connection::Connection, context::Context, exit::Exit, find, signal, style, style::paint, wait};

/// How often the progress is drawn.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn run(ctx: &Context, connection: &mut Connection, id: &RunId) -> Result<Exit> {
    let interrupted = signal::shutdown()?;
    let ended = tokio::select! {
        ended = to_the_end(ctx, connection, id) => ended,
        () = interrupted.cancelled() => Ok(None),
    };
    let Some(plan) = ended? else {
        let go_on = paint(style::COMMAND, format!("{} plan follow {}", ctx.command(), find::short_run(id)));
        ctx.screen.note(format!("\nThe plan waits. {go_on} goes on with it."));
        return Ok(Exit::Waiting);
    };
    if ctx.screen.json {
        ctx.screen.json(&plan)?;
    } else {
        ctx.screen.say(view::ended(ctx, &plan))?;
    }
    Ok(view::exit(&plan))
}

/// The plan once it is over; nothing if whoever sits there leaves it.
async fn to_the_end(ctx: &Context, connection: &mut Connection, id: &RunId) -> Result<Option<Plan>> {
    let mut asked: Option<GateId> = None;
    let mut drawn = String::new();
    loop {
        let after = asked.clone();
        let wait = async |client: &Client, round: Duration| client.wait_plan(id, after.as_ref(), round).await;
        let moved =
            |plan: &Plan| plan.status != PlanStatus::InProgress && (after.is_none() || plan.waiting_at != after);
        let plan = wait::until(ctx, connection, As::You, Some(LOOK_EVERY), wait, moved).await?;
        match (plan.status, &plan.waiting_at) {
            (PlanStatus::Complete | PlanStatus::Cancelled | PlanStatus::Error, _) => {
                clear(ctx, &mut drawn)?;
                return Ok(Some(plan));
            }
            (_, Some(gate)) if Some(gate) != asked.as_ref() => {
                clear(ctx, &mut drawn)?;
                if !decide::run(ctx, connection, &plan, gate).await? {
                    return Ok(None);
                }
                asked = Some(gate.clone());
            }
            // Somebody else is to decide, and has not yet.
            (PlanStatus::AwaitingApproval, _) => {}
            _ => draw(ctx, &plan, &mut drawn)?,
        }
    }
}

/// A line that is drawn over on a terminal; one after another for a pipe.
fn draw(ctx: &Context, plan: &Plan, drawn: &mut String) -> Result<()> {
    let line = view::progress(plan);
    if line == *drawn || ctx.screen.json {
        return Ok(());
    }
    if ctx.screen.terminal {
        let mut out = anstream::stdout().lock();
        write!(out, "\r\x1b[2K{line}")?;
        out.flush()?;
    } else {
        ctx.screen.note(&line);
    }
    *drawn = line;
    Ok(())
}

fn clear(ctx: &Context, drawn: &mut String) -> Result<()> {
    if ctx.screen.terminal && !drawn.is_empty() {
        let mut out = anstream::stdout().lock();
        write!(out, "\r\x1b[2K")?;
        out.flush()?;
    }
    drawn.clear();
    Ok(())
}
