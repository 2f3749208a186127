//! `folkmoot audit …`: the log.

mod export;
pub(crate) mod verify;

use anyhow::Result;
use clap::Subcommand;

use crate::{connection::Connection, context::Context, exit::Exit};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Verify(verify::Args),
    Export(export::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Verify(_) => verify::run(ctx, connection).await,
        Verb::Export(args) => export::run(args, ctx, connection).await,
    }
}
