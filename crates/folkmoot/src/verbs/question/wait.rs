//! `folkmoot question wait`: wait for the answer to what was asked before.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{Client, core::QuestionId, wire::Question};

use super::show;
use crate::{
    cli::ActingAs,
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    signal,
    terminal::{
        printable::printable,
        span,
        style::{self, paint},
    },
    views,
};

/// Wait until a question is answered, and print the answer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A text is printed bare, any other answer as JSON. Exit code 0: answered, or its default was
applied; 3: denied, skipped or cancelled; 5: the time was over first. With its asker's token
(--as agent, the default) a denial is acknowledged, and halts the agent no longer.")]
pub(crate) struct Args {
    /// The question, or any unique beginning or end of its id; none if only one waits
    id: Option<String>,
    /// Wait at most so long (90s, 30m, 2h); the question stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    timeout: Option<Duration>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    // Read first: a server that was never there is an error, one that goes away later is waited
    // for.
    let read =
        async |client: &Client| Ok(client.question(&find::any::<Question>(client, args.id.as_deref()).await?).await?);
    let id = connection.ask(ctx, args.who, read).await?.id;
    until_closed(ctx, connection, args.who, &id, args.timeout).await
}

/// Waits, and prints the answer.
pub(crate) async fn until_closed(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    id: &QuestionId,
    limit: Option<Duration>,
) -> Result<Exit> {
    let interrupted = signal::shutdown()?;
    let wait = async |client: &Client, round| client.wait_question(id, round).await;
    let closed = wait::until(ctx, connection, who, limit, wait, |question| question.closed.is_some());
    let Some(question) = interrupted.run_until_cancelled(closed).await else {
        let again = paint(style::COMMAND, format!("{} question wait {}", ctx.command(), find::short(id)));
        ctx.screen.note(format!("The question stays open; {again} waits again."));
        return Ok(Exit::Waiting);
    };
    let question = question?;
    let exit = Exit::of_question(&question);
    if ctx.screen.json {
        ctx.screen.json(&question)?;
    } else {
        ctx.screen.note(views::question::story(&question));
    }
    if let (Exit::Done, Some(answer), false) = (exit, &question.answer, ctx.screen.json) {
        let answer = views::question::bare(answer);
        ctx.screen.say(if ctx.screen.terminal { printable(&answer) } else { answer })?;
    }
    if who == ActingAs::Agent {
        show::acknowledge(ctx, connection, &question).await?;
    }
    Ok(exit)
}
