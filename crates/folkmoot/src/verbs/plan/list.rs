//! `folkmoot plan list`: plans, the newest first.

use anyhow::Result;
use folkmoot_api::{
    Client,
    debate::plan::PlanStatus,
    wire::{Plan, PlanQuery},
};

use crate::{
    cli::ActingAs,
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, span, style, table::TableRow},
};

/// List plans
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let query = PlanQuery { limit: Some(args.limit), ..PlanQuery::default() };
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.plans(&query).await?)).await?;
    let rows = list.plans.iter().map(|plan| row(plan, ctx.screen.terminal)).collect();
    ctx.screen.list(&list, &["PLAN", "STATUS", "ITERATION", "STARTED", "GOAL"], rows, "There is no plan.", false)?;
    Ok(Exit::Done)
}

fn row(plan: &Plan, terminal: bool) -> TableRow {
    let id = if terminal { find::short_run(&plan.id) } else { plan.id.as_str() };
    let halted = plan.status == PlanStatus::InProgress && !plan.halted_by.is_empty();
    let status = if halted { "halted" } else { plan.status.word() };
    let style = match plan.status {
        PlanStatus::InProgress if halted => style::WARN,
        PlanStatus::InProgress => style::STRONG,
        PlanStatus::AwaitingApproval => style::WARN,
        PlanStatus::Complete => style::GOOD,
        PlanStatus::Cancelled => style::FAINT,
        PlanStatus::Error => style::BAD,
    };
    let cells = [
        id.to_owned(),
        status.to_owned(),
        format!("{}/{}", plan.current_iteration, plan.total_iterations),
        span::ago(plan.started_at, clock::now()),
        one_line(&plan.goal),
    ];
    TableRow { cells: cells.into(), painted: Some((status, style)) }
}
