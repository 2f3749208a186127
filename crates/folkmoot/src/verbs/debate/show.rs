//! `folkmoot debate show`: the state and the result of a debate.

use anyhow::Result;
use folkmoot_api::{Client, wire::Debate};

use super::{DebateArgs, follow};
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
        wrap::fitting,
    },
    views::{self, run::outage_lines},
};

/// Show the state and the result of a debate
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: DebateArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let debate = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.debate(&id).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&debate)?;
        return Ok(Exit::Done);
    }
    let results = follow::results(ctx, connection, &debate).await?;
    let rest = match (debate.completed_at, &debate.fault) {
        (None, None) => {
            let go_on = format!("{} debate follow {}", ctx.command(), find::short_run(&debate.id));
            format!("{} returns to it", paint(style::COMMAND, go_on))
        }
        _ => views::debate::ended(&debate, results.as_ref()),
    };
    ctx.screen.say(format!("{}\n\n{rest}", head(&debate)))?;
    Ok(Exit::Done)
}

fn head(debate: &Debate) -> String {
    let agents = debate.config.as_ref().and_then(|config| config["agents"].as_array()).map(Vec::len);
    let how = [
        agents.map(|count| views::debate::counted(count, "agent")),
        debate.topology_type.clone(),
        debate.coordination_protocol.clone(),
    ];
    let how = how.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let progress = debate.phase.map(|phase| format!("round {}, {phase}", debate.round));
    let asks: Vec<String> = debate.questions.iter().map(|id| format!("folkmoot answer {}", find::short(id))).collect();
    let asks = asks.join(", ");
    let rows = facts([
        ("debate", Some(debate.id.to_string())),
        ("session", Some(debate.session_id.to_string())),
        ("status", Some(paint(views::debate::of_status(debate.status), debate.status))),
        ("started", Some(format!("by {} {}", debate.initiated_by, span::ago(debate.created_at, clock::now())))),
        ("team", Some(how).filter(|how| !how.is_empty())),
        ("progress", progress.filter(|_| debate.completed_at.is_none())),
        ("waits at", debate.waiting_at.as_ref().map(ToString::to_string)),
        ("outage", outage_lines(&debate.outages)),
        ("asks", Some(asks).filter(|asks| !asks.is_empty())),
        ("code", views::debate::committed(debate)),
        // A finished debate shows this at the end.
        (
            "cost",
            Some(views::debate::cost(&debate.cost)).filter(|_| debate.completed_at.is_none() && debate.fault.is_none()),
        ),
    ]);
    let topic = fitting(&paint(style::STRONG, one_line(debate.topic.as_deref().unwrap_or("(erased)"))));
    format!("{topic}\n{rows}")
}
