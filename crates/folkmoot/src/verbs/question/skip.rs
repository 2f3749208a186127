//! `folkmoot question skip`: close a question without an answer.

use anyhow::Result;

use crate::{
    cli::ActingAs,
    close::{self, CloseAction, QuestionArgs},
    connection::Connection,
    context::CliContext,
    exit::Exit,
};

/// Close a question without an answer; what it halted goes on
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: QuestionArgs,
    /// Whose token to use; whoever asked may skip only what halts nobody
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, args.who, args.which, CloseAction::Skip).await
}
