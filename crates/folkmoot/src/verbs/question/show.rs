//! `folkmoot question show`: one question and how it ended.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::question::QuestionStatus,
    wire::{Question, WithReason},
};

use crate::{
    cli::{ActingAs, AsYou},
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    views,
};

/// Show a question and how it ended
#[derive(Debug, clap::Args)]
#[command(after_help = "With its asker's token (--as agent) a denial is acknowledged and no longer halts the agent.")]
pub(crate) struct Args {
    /// The question, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    #[command(flatten)]
    acting: AsYou,
}

/// Acknowledges a denial after it was shown. This has an effect only for the asker.
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
    let question = connection.ask(ctx, args.acting.who, read).await?;
    ctx.screen.show(&question, views::question::whole(&question, clock::now()))?;
    if args.acting.who == ActingAs::Agent {
        acknowledge(ctx, connection, &question).await?;
    }
    Ok(Exit::Done)
}
