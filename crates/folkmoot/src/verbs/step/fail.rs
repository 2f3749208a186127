//! `folkmoot step fail`: records that a step failed for good.

use anyhow::Result;
use folkmoot_api::{
    core::journal::EntryStatus,
    wire::{Fault, RecordStep},
};

use super::{StepArgs, report};
use crate::{connection::Connection, context::CliContext, exit::Exit};

/// Record that a step failed for good
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: StepArgs,
    /// What happened
    #[arg(long, short = 'm', value_name = "TEXT", default_value = "")]
    reason: String,
    /// The error code
    #[arg(long, default_value = "failed")]
    code: String,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let error = Some(Fault { code: args.code, message: args.reason });
    let step = RecordStep { error, ..args.which.step(EntryStatus::Failed) };
    let (entry, is_new) = args.which.record(ctx, connection, &step).await?;
    report(ctx, &entry, is_new)?;
    Ok(Exit::Done)
}
