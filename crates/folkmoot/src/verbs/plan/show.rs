//! `folkmoot plan show`: the state and the result of a plan.

use anyhow::Result;
use folkmoot_api::{Client, wire::Plan};

use super::PlanArgs;
use crate::{
    cli::ActingAs,
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
        table::facts,
    },
    views::{self, run::outage_lines},
};

/// Show the state and the result of a plan
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: PlanArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let plan = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.plan(&id).await?)).await?;
    ctx.screen.show(&plan, whole(ctx, &plan))?;
    Ok(Exit::Done)
}

fn whole(ctx: &CliContext, plan: &Plan) -> String {
    let rows = facts([
        ("plan", Some(plan.id.to_string())),
        ("status", Some(plan.status.word().replace('_', " "))),
        ("started", Some(format!("by {} {}", plan.initiator, span::ago(plan.started_at, clock::now())))),
        ("progress", plan.ended_at.is_none().then(|| views::plan::progress(plan))),
        ("waits at", plan.waiting_at.as_ref().map(ToString::to_string)),
        ("outage", outage_lines(&plan.outages)),
    ]);
    let goal = paint(style::STRONG, one_line(&plan.goal));
    match plan.ended_at {
        Some(_) => format!("{goal}\n{rows}\n\n{}", views::plan::ended(ctx, plan)),
        None => {
            let follow = paint(style::COMMAND, format!("{} plan follow {}", ctx.command(), find::short_run(&plan.id)));
            format!("{goal}\n{rows}\n\n{follow} returns to it")
        }
    }
}
