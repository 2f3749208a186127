//! `folkmoot step done`: records a step as done. It is never done again.

use anyhow::Result;
use folkmoot_api::{core::journal::EntryStatus, wire::RecordStep};
use serde_json::Value;

use super::{StepArgs, report};
use crate::{cli::json, connection::Connection, context::CliContext, exit::Exit};

/// Record that a step is done, with its result
#[derive(Debug, clap::Args)]
#[command(after_help = "A result never changes: saying the same again is fine, saying another is refused.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: StepArgs,
    /// The result
    #[arg(long, value_name = "JSON", value_parser = json)]
    result: Option<Value>,
    /// The result, as plain text
    #[arg(long, value_name = "TEXT", conflicts_with = "result")]
    text: Option<String>,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let result = args.result.or(args.text.map(Value::String));
    let step = RecordStep { result, ..args.which.step(EntryStatus::Done) };
    let (entry, is_new) = args.which.record(ctx, connection, &step).await?;
    report(ctx, &entry, is_new)?;
    Ok(Exit::Done)
}
