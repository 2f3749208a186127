//! `folkmoot gate …`: opening, waiting for and looking at gates.

mod amend;
mod cancel;
mod extend;
pub(crate) mod list;
mod open;
mod show;
mod wait;

use anyhow::Result;
use clap::Subcommand;

use crate::{connection::Connection, context::CliContext, exit::Exit};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Open(Box<open::Args>),
    List(list::Args),
    Show(show::Args),
    Wait(wait::Args),
    Amend(amend::Args),
    Extend(extend::Args),
    Cancel(cancel::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Open(args) => open::run(*args, ctx, connection).await,
        Verb::List(args) => list::run(args, ctx, connection).await,
        Verb::Show(args) => show::run(args, ctx, connection).await,
        Verb::Wait(args) => wait::run(args, ctx, connection).await,
        Verb::Amend(args) => amend::run(args, ctx, connection).await,
        Verb::Extend(args) => extend::run(args, ctx, connection).await,
        Verb::Cancel(args) => cancel::run(args, ctx, connection).await,
    }
}
