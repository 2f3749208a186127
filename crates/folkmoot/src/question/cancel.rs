//! `folkmoot question cancel`: withdraw a question.

use anyhow::Result;

use crate::{
    cli::As,
    close::{self, Way, Which},
    connection::Connection,
    context::Context,
    exit::Exit,
};

/// Withdraw a question that need not be answered any more; what it halted goes on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of a question that was denied and goes on halting its asker, because that has not read the denial, it
releases the asker; the denial stands. What an operator halted is released with `folkmoot lift`.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Whose token to use; whoever asked may cancel only what halts nobody
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: As,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, args.who, args.which, Way::Cancel).await
}
