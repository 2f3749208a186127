//! `folkmoot question skip`: close a question without an answer.

use anyhow::Result;

use crate::{
    cli::ActingAs,
    close::{self, CloseAction, QuestionArgs},
    connection::Connection,
    context::CliContext,
    exit::Exit,
};

/// Close a question without an answer; whatever it halted continues
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: QuestionArgs,
    /// Which token to use; the asker may skip only questions that halt nobody
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, args.who, args.which, CloseAction::Skip).await
}
