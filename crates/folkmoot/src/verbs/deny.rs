//! `folkmoot deny`: say no to what an agent asks.

use anyhow::Result;

use crate::{
    cli::ActingAs,
    close::{self, CloseAction, QuestionArgs},
    connection::Connection,
    context::CliContext,
    exit::Exit,
};

/// Say no to a question
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A denial authorises nothing: if the question halts, it goes on halting whoever asked until they have read it."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: QuestionArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, ActingAs::You, args.which, CloseAction::Deny).await
}
