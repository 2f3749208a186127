//! `folkmoot end`: say how a run ended that you execute.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::run::RunOutcome,
    wire::{EndRun, Run},
};
use serde_json::Value;

use crate::{
    cli::{ActingAs, json},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    views,
};

/// Say how a run ended that you execute
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    /// It failed, and this is why
    #[arg(long, value_name = "REASON", conflicts_with = "output")]
    failed: Option<String>,
    /// Which sort of error; `failed` unless it is given
    #[arg(long, requires = "failed")]
    code: Option<String>,
    /// What it gives
    #[arg(long, value_name = "JSON", value_parser = json)]
    output: Option<Value>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let key = idempotency::new_key();
    let status = if args.failed.is_some() { RunOutcome::Failed } else { RunOutcome::Completed };
    let end = EndRun { status, output: args.output, code: args.code, reason: args.failed };
    if !connection.agrees(ctx, args.who, &format!("End {}?", args.run)).await? {
        return Ok(Exit::Waiting);
    }
    let end = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        Ok(client.end_run(&id, &end, Some(&key)).await?)
    };
    let run = connection.ask(ctx, args.who, end).await?;
    views::run::report(ctx, &run)?;
    Ok(Exit::Done)
}
