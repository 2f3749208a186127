//! `folkmoot deny`: answer an agent's question with no.

use anyhow::Result;

use crate::{
    cli::ActingAs,
    close::{self, CloseAction, QuestionArgs},
    connection::Connection,
    context::CliContext,
    exit::Exit,
};

/// Deny a question
#[derive(Debug, clap::Args)]
#[command(after_help = "A question that halts keeps halting its asker until the asker has read the denial.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: QuestionArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, ActingAs::You, args.which, CloseAction::Deny).await
}
