//! `folkmoot delivery …`: notifications that were sent or failed.

mod list;
mod resend;
mod show;

use anyhow::Result;
use clap::Subcommand;
use folkmoot_api::wire::Delivery;

use crate::{
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, span, table::facts},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    List(list::Args),
    Show(show::Args),
    Resend(resend::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::List(args) => list::run(args, ctx, connection).await,
        Verb::Show(args) => show::run(args, ctx, connection).await,
        Verb::Resend(args) => resend::run(args, ctx, connection).await,
    }
}

fn say(ctx: &CliContext, delivery: &Delivery) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(delivery);
    }
    let now = clock::now();
    ctx.screen.say(format!("{} {}", delivery.id, delivery.state))?;
    ctx.screen.say(facts([
        ("channel", Some(one_line(&delivery.channel))),
        ("event", Some(format!("{} of {}", delivery.kind, delivery.subject))),
        ("happened", Some(span::ago(delivery.created_at, now))),
        ("attempts", Some(delivery.attempts.to_string())),
        (
            "next",
            delivery
                .due_at
                .map(|due| if due <= now { "now".to_owned() } else { format!("in {}", span::short(due.since(now))) }),
        ),
        ("ended", delivery.ended_at.map(|at| span::ago(at, now))),
        ("error", delivery.last_error.as_deref().map(one_line)),
    ]))?;
    Ok(())
}
