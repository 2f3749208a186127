//! `folkmoot resume`: let a run go on that stopped, or that waits for a provider of models.

use anyhow::Result;
use folkmoot_api::{Client, wire::Run};

use crate::{
    cli::ActingAs,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    views,
};

/// Let a stopped run go on, or try the provider that it waits for now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It passes no gate: a run that waits for a decision goes on by itself when it is made.")]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let key = idempotency::new_key();
    let ask = format!("Let {} go on?", args.run);
    if !connection.agrees(ctx, args.who, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let resume = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        Ok(client.resume_run(&id, Some(&key)).await?)
    };
    let run = connection.ask(ctx, args.who, resume).await?;
    views::run::report(ctx, &run)?;
    Ok(Exit::Done)
}
