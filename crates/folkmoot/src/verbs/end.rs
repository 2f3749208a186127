//! `folkmoot end`: record the end of a run that you execute.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::run::RunOutcome,
    wire::{EndRun, Run},
};
use serde_json::Value;

use crate::{
    cli::{AsAgent, json},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    views,
};

/// Record the end of a run that you execute
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    /// It failed, for this reason
    #[arg(long, value_name = "REASON", conflicts_with = "output")]
    failed: Option<String>,
    /// The error code (default: `failed`)
    #[arg(long, requires = "failed")]
    code: Option<String>,
    /// The result
    #[arg(long, value_name = "JSON", value_parser = json)]
    output: Option<Value>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let key = idempotency::new_key();
    let status = if args.failed.is_some() { RunOutcome::Failed } else { RunOutcome::Completed };
    let end = EndRun { status, output: args.output, code: args.code, reason: args.failed };
    if !connection.agrees(ctx, args.acting.who, &format!("End {}?", args.run)).await? {
        return Ok(Exit::Waiting);
    }
    let end = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        Ok(client.end_run(&id, &end, Some(&key)).await?)
    };
    let run = connection.ask(ctx, args.acting.who, end).await?;
    views::run::report(ctx, &run)?;
    Ok(Exit::Done)
}
