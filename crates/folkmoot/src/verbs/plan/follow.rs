//! Follows a plan to its end: progress, gates and the result.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateId, RunId},
    debate::plan::PlanStatus,
    wire::Plan,
};
use parking_lot::Mutex;

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
        ctx.screen.note(format!("\nThe plan waits. {go_on} returns to it."));
        return Ok(Exit::Waiting);
    };
    ctx.screen.show(&plan, views::plan::ended(ctx, &plan))?;
    Ok(views::plan::exit(&plan))
}

/// Follows it to its end. `None` if the person leaves.
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
        // Polls often within each round, to show the progress.
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

/// Redraws one line on a terminal; prints one after another to a pipe.
fn draw(ctx: &CliContext, plan: &Plan, drawn: &Mutex<String>) {
    let mut drawn = drawn.lock();
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
    let mut drawn = drawn.lock();
    if ctx.screen.terminal && !drawn.is_empty() {
        over("");
    }
    drawn.clear();
}

/// Nobody could be told of this failure.
fn over(line: &str) {
    let mut out = anstream::stdout().lock();
    let _ = write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush());
}
