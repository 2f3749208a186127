//! `folkmoot audit …`: verify and export the log.

pub(crate) mod check;
mod checkpoint;
mod export;
mod key;
mod receipt;
mod statement;
pub(crate) mod verify;

use anyhow::Result;
use clap::Subcommand;

use crate::{connection::Connection, context::CliContext, exit::Exit};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Verify(verify::Args),
    Export(export::Args),
    Checkpoint(checkpoint::Args),
    Key(key::Args),
    Receipt(receipt::Args),
    Check(check::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext) -> Result<Exit> {
    match verb {
        Verb::Verify(args) if args.file.is_some() => verify::offline(&args, ctx),
        Verb::Check(args) => check::offline(&args, ctx),
        verb => Connection::with(ctx, async |connection| connected(verb, ctx, connection).await).await,
    }
}

async fn connected(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Verify(args) => verify::run(args, ctx, connection).await,
        Verb::Export(args) => export::run(args, ctx, connection).await,
        Verb::Checkpoint(args) => checkpoint::run(args, ctx, connection).await,
        Verb::Key(_) => key::run(ctx, connection).await,
        Verb::Receipt(args) => receipt::run(args, ctx, connection).await,
        Verb::Check(args) => check::offline(&args, ctx),
    }
}
