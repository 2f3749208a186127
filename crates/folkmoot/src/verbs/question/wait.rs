//! `folkmoot question wait`: wait for the answer to an existing question.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{Client, wire::Question};

use super::show;
use crate::{
    cli::{ActingAs, AsAgent},
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    terminal::{printable::printable, span},
    verbs::ask,
    views,
};

/// Wait until a question is answered, and print the answer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A text is printed bare, any other answer as JSON. Exit code 0: answered, or its default was
applied; 3: denied, skipped or cancelled; 5: timed out. With its asker's token
(--as agent, the default) a denial is acknowledged and no longer halts the agent.")]
pub(crate) struct Args {
    /// The question, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// Wait at most this long (90s, 30m, 2h); the question stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    timeout: Option<Duration>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    // Read first: a server that was never reachable is an error; one that disappears later is
    // waited for.
    let read =
        async |client: &Client| Ok(client.question(&find::any::<Question>(client, args.id.as_deref()).await?).await?);
    let question = connection.ask(ctx, args.acting.who, read).await?;
    until_closed(ctx, connection, args.acting.who, &question, args.timeout).await
}

/// Says what is waited for, waits, and prints the answer.
pub(crate) async fn until_closed(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    question: &Question,
    limit: Option<Duration>,
) -> Result<Exit> {
    let id = &question.id;
    if question.closed.is_none() {
        let named = (question.text.as_deref().unwrap_or_default(), id.as_str());
        let ways = |folkmoot: &str| ask::ways(folkmoot, question);
        wait::announce(ctx, connection, "Waiting for an answer:", named, ways);
    }
    let wait = async |client: &Client, round| client.wait_question(id, round).await;
    let (named, is_closed) = (("question", id.as_str()), |question: &Question| question.closed.is_some());
    let Some(question) = wait::until_stopped(ctx, connection, who, limit, named, wait, is_closed).await? else {
        return Ok(Exit::Waiting);
    };
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
