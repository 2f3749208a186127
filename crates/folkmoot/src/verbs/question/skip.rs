//! `folkmoot question skip`: close a question without an answer.

use anyhow::Result;

use crate::{
    cli::As,
    close::{self, Way, Which},
    connection::Connection,
    context::Context,
    exit::Exit,
};

/// Close a question without an answer; what it halted goes on
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Whose token to use; whoever asked may skip only what halts nobody
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: As,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, args.who, args.which, Way::Skip).await
}
