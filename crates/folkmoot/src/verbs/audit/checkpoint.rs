//! `folkmoot audit checkpoint`: a signed statement of where the log ends, to keep elsewhere.

use std::path::PathBuf;

use anyhow::Result;
use folkmoot_api::Client;

use super::statement;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Take a signed checkpoint of the log, to keep elsewhere
#[derive(Debug, clap::Args)]
#[command(after_help = "`folkmoot audit verify --checkpoint FILE` then detects a log that was cut off or rewritten.")]
pub(crate) struct Args {
    /// A file to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let taken = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.checkpoint().await?)).await?;
    statement::put(ctx, &taken, args.out.as_deref(), &format!("a checkpoint of event {}", taken["position"]))?;
    Ok(Exit::Done)
}
