//! `folkmoot deny`: say no to what an agent asks.

use anyhow::Result;

use crate::{
    cli::As,
    close::{self, Way, Which},
    connection::Connection,
    context::Context,
    exit::Exit,
};

/// Say no to a question
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A denial authorises nothing: if the question halts, it goes on halting whoever asked until they have read it."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    close::run(ctx, connection, As::You, args.which, Way::Deny).await
}
