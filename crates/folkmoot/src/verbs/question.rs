//! `folkmoot question …`: show one question, wait for it, or close it without an answer.

mod cancel;
mod show;
mod skip;
pub(crate) mod wait;

use anyhow::Result;
use clap::Subcommand;

use crate::{connection::Connection, context::CliContext, exit::Exit};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Show(show::Args),
    Wait(wait::Args),
    Skip(skip::Args),
    Cancel(cancel::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Show(args) => show::run(args, ctx, connection).await,
        Verb::Wait(args) => wait::run(args, ctx, connection).await,
        Verb::Skip(args) => skip::run(args, ctx, connection).await,
        Verb::Cancel(args) => cancel::run(args, ctx, connection).await,
    }
}
