//! Following a plan to its end: how far it is, what it asks, and what came of it.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateId, RunId, plan::PlanStatus},
    wire::Plan,
};

use super::decide;
use crate::{
    cli::ActingAs,
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    signal,
    terminal::style::{self, paint},
    views,
};

/// How often the progress is drawn.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn run(ctx: &CliContext, connection: &mut Connection, id: &RunId) -> Result<Exit> {
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
        ctx.screen.say(views::plan::ended(ctx, &plan))?;
    }
    Ok(views::plan::exit(&plan))
}

/// The plan once it is over; nothing if whoever sits there leaves it.
async fn to_the_end(ctx: &CliContext, connection: &mut Connection, id: &RunId) -> Result<Option<Plan>> {
    let mut asked: Option<GateId> = None;
    let drawn = Mutex::new(String::new());
    loop {
        let after = asked.clone();
        let moved = |plan: &Plan| match plan.status {
            PlanStatus::Complete | PlanStatus::Cancelled | PlanStatus::Error => true,
            PlanStatus::InProgress | PlanStatus::AwaitingApproval => {
                plan.waiting_at.is_some() && plan.waiting_at != after
            }
        };
        // Looked at often within each round, so that it can be seen how far it is.
        let wait = async |client: &Client, round: Duration| {
            let begun = Instant::now();
            loop {
                let left = round.saturating_sub(begun.elapsed());
                let plan = client.wait_plan(id, after.as_ref(), left.min(LOOK_EVERY)).await?;
                if moved(&plan) || left <= LOOK_EVERY {
                    return Ok(plan);
                }
                draw(ctx, &plan, &drawn);
            }
        };
        let plan = wait::until(ctx, connection, ActingAs::You, None, wait, moved).await?;
        clear(ctx, &drawn);
        match &plan.waiting_at {
            Some(gate) if matches!(plan.status, PlanStatus::InProgress | PlanStatus::AwaitingApproval) => {
                if !decide::run(ctx, connection, &plan, gate).await? {
                    return Ok(None);
                }
                asked = Some(gate.clone());
            }
            _ => return Ok(Some(plan)),
        }
    }
}

/// A line that is drawn over on a terminal; one after another for a pipe.
fn draw(ctx: &CliContext, plan: &Plan, drawn: &Mutex<String>) {
    let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
    let line = views::plan::progress(plan);
    if line == *drawn || ctx.screen.json || plan.status != PlanStatus::InProgress {
        return;
    }
    if ctx.screen.terminal {
        over(&line);
    } else {
        ctx.screen.note(&line);
    }
    *drawn = line;
}

fn clear(ctx: &CliContext, drawn: &Mutex<String>) {
    let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
    if ctx.screen.terminal && !drawn.is_empty() {
        over("");
    }
    drawn.clear();
}

/// Nobody is left to tell that this failed.
fn over(line: &str) {
    let mut out = anstream::stdout().lock();
    let _ = write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush());
}
