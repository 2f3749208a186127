//! `folkmoot token …`: who may open gates and who may decide.

mod create;
mod list;
mod revoke;

use anyhow::Result;
use clap::Subcommand;

use crate::{connection::Connection, context::CliContext, exit::Exit};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Create(create::Args),
    List(list::Args),
    Revoke(revoke::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Create(args) => create::run(args, ctx, connection).await,
        Verb::List(args) => list::run(args, ctx, connection).await,
        Verb::Revoke(args) => revoke::run(args, ctx, connection).await,
    }
}
