//! `folkmoot question cancel`: withdraw a question.

use anyhow::Result;
use folkmoot_api::core::Name;

use crate::{
    cli::ActingAs,
    close::{self, CloseAction, QuestionArgs},
    connection::Connection,
    context::CliContext,
    exit::Exit,
};

/// Withdraw a question; whatever it halted continues
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A denied question halts its asker until the asker has read the denial. Cancelling it releases the
asker; the question stays denied. `folkmoot lift` releases what an operator halted.

Examples:
  folkmoot question cancel --asked-by robot --reason \"it asks in a loop\"")]
pub(crate) struct Args {
    #[command(flatten)]
    which: QuestionArgs,
    /// All pending questions of this principal and of its runs, under any name
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    asked_by: Option<Name>,
    /// Which token to use; the asker may cancel only questions that halt nobody
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match args.asked_by {
        Some(asker) => close::cancel_all(ctx, connection, args.who, &asker, args.which).await,
        None => close::run(ctx, connection, args.who, args.which, CloseAction::Cancel).await,
    }
}
