//! `folkmoot audit receipt`: one gate, signed, for somebody who has neither the server nor its
//! database.

use std::path::PathBuf;

use anyhow::Result;
use folkmoot_api::{Client, wire::Gate};

use super::statement;
use crate::{
    cli::ActingAs,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
};

/// Write a signed receipt of one gate: what was shown, what happened, and the decision
#[derive(Debug, clap::Args)]
#[command(after_help = "`folkmoot audit check FILE` checks it, without a server.")]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id
    id: Option<String>,
    /// A file to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        let gate = find::any::<Gate>(client, args.id.as_deref()).await?;
        Ok(client.receipt(&gate).await?)
    };
    let receipt = connection.ask(ctx, ActingAs::You, read).await?;
    let gate = receipt["gate"].as_str().unwrap_or_default().to_owned();
    statement::put(ctx, &receipt, args.out.as_deref(), &format!("a receipt of {gate}"))?;
    Ok(Exit::Done)
}
