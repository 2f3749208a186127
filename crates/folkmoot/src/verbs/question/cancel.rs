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

/// Withdraw a question that need not be answered any more; what it halted goes on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of a question that was denied and goes on halting its asker, because that has not read the denial, it
releases the asker; the denial stands. What an operator halted is released with `folkmoot lift`.

Examples:
  folkmoot question cancel --asked-by robot --reason \"it asks in a loop\"")]
pub(crate) struct Args {
    #[command(flatten)]
    which: QuestionArgs,
    /// All that wait and were asked by this principal, under whatever name
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    asked_by: Option<Name>,
    /// Whose token to use; whoever asked may cancel only what halts nobody
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match args.asked_by {
        Some(asker) => close::cancel_all(ctx, connection, args.who, &asker, args.which).await,
        None => close::run(ctx, connection, args.who, args.which, CloseAction::Cancel).await,
    }
}
