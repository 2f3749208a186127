//! `folkmoot resume`: continue a run that stopped, or that waits for a model provider.

use anyhow::Result;
use folkmoot_api::{Client, wire::Run};

use crate::{
    cli::AsYou,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    views,
};

/// Continue a stopped run, or retry the provider that it waits for
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It does not pass a gate: a run that waits for a decision continues by itself when the decision is made.")]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let key = idempotency::new_key();
    let ask = format!("Continue {}?", args.run);
    if !connection.agrees(ctx, args.acting.who, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let resume = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        Ok(client.resume_run(&id, Some(&key)).await?)
    };
    let run = connection.ask(ctx, args.acting.who, resume).await?;
    views::run::report(ctx, &run)?;
    Ok(Exit::Done)
}
