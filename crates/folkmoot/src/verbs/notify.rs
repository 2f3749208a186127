//! `folkmoot notify …`: notification channels and their state.

mod list;
mod test;

use anyhow::Result;
use clap::Subcommand;

use crate::{connection::Connection, context::CliContext, exit::Exit};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    List(list::Args),
    Test(test::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::List(args) => list::run(args, ctx, connection).await,
        Verb::Test(args) => test::run(args, ctx, connection).await,
    }
}
