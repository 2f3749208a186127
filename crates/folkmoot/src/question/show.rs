//! `folkmoot question show`: one question, and what became of it.

use anyhow::Result;
use folkmoot_api::{Client, wire::Question};

use crate::{cli::As, clock, connection::Connection, context::Context, exit::Exit, find, question_view};

/// Show a question, and what became of it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With its asker's token (--as agent) a denial counts as fetched, and holds the agent no longer."
)]
pub(crate) struct Args {
    /// The question, or any unique beginning or end of its id; none if only one waits
    id: Option<String>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: As,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let read =
        async |client: &Client| Ok(client.question(&find::any::<Question>(client, args.id.as_deref()).await?).await?);
    let question = connection.ask(ctx, args.who, read).await?;
    if ctx.screen.json {
        ctx.screen.json(&question)?;
    } else {
        ctx.screen.say(question_view::whole(&question, clock::now()))?;
    }
    Ok(Exit::Done)
}
