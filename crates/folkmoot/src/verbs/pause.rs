//! `folkmoot pause`: let a plan stop here and conclude.

use anyhow::Result;
use folkmoot_api::{core::gate::Choice, wire::Verdict};

use crate::{
    connection::Connection,
    context::CliContext,
    decide::{self, DecisionDraft, GateArgs},
    exit::Exit,
};

/// Let a plan stop here and conclude, if the gate allows it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: GateArgs,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let verdict = Verdict { reason: args.reason, ..Verdict::default() };
    let deciding = DecisionDraft { choice: Choice::Pause, verdict, ask: !args.which.yes };
    decide::run(ctx, connection, args.which.id.as_deref(), deciding).await
}
