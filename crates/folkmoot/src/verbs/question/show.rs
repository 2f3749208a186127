//! `folkmoot question show`: one question, and what became of it.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::question::QuestionStatus,
    wire::{Question, WithReason},
};

use crate::{
    cli::ActingAs,
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    views,
};

/// Show a question, and what became of it
#[derive(Debug, clap::Args)]
#[command(after_help = "With its asker's token (--as agent) a denial is acknowledged, and halts the agent no longer.")]
pub(crate) struct Args {
    /// The question, or any unique beginning or end of its id; none if only one waits
    id: Option<String>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

/// Says that a denial was heard, once it was shown: whoever did not ask changes nothing by it.
pub(super) async fn acknowledge(ctx: &CliContext, connection: &mut Connection, question: &Question) -> Result<()> {
    let unheard = question.closed.as_ref().is_some_and(|closed| closed.fetched_at.is_none());
    if question.status == QuestionStatus::Denied && unheard {
        let why = WithReason::default();
        connection
            .ask(ctx, ActingAs::Agent, async |client: &Client| Ok(client.acknowledge(&question.id, &why).await?))
            .await?;
    }
    Ok(())
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read =
        async |client: &Client| Ok(client.question(&find::any::<Question>(client, args.id.as_deref()).await?).await?);
    let question = connection.ask(ctx, args.who, read).await?;
    if ctx.screen.json {
        ctx.screen.json(&question)?;
    } else {
        ctx.screen.say(views::question::whole(&question, clock::now()))?;
    }
    if args.who == ActingAs::Agent {
        acknowledge(ctx, connection, &question).await?;
    }
    Ok(Exit::Done)
}
