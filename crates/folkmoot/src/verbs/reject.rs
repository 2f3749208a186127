//! `folkmoot reject`: stop a gate's run, with a reason.

use anyhow::Result;
use folkmoot_api::{core::gate::Choice, wire::Verdict};

use crate::{
    connection::Connection,
    context::CliContext,
    decide::{self, DecisionDraft, GateArgs},
    exit::Exit,
};

/// Reject what a gate asks for
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: GateArgs,
    /// The reason, for the asker
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: String,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let verdict = Verdict { reason: Some(args.reason), ..Verdict::default() };
    let deciding = DecisionDraft { choice: Choice::Reject, verdict, ask: !args.which.yes };
    decide::run(ctx, connection, args.which.id.as_deref(), deciding).await
}
