//! `folkmoot adjust`: send a proposal back with what should change.

use std::path::PathBuf;

use anyhow::Result;
use folkmoot_api::{core::gate::Choice, wire::Verdict};

use crate::{
    artifact,
    connection::Connection,
    context::CliContext,
    decide::{self, DecisionDraft, GateArgs},
    exit::Exit,
};

/// Send a proposal back with what should change, if the gate allows it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: GateArgs,
    /// What should change
    #[arg(long, short = 'm', value_name = "TEXT", required_unless_present = "edited")]
    feedback: Option<String>,
    /// A text to use instead; - reads standard input
    #[arg(long, value_name = "FILE")]
    edited: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let edited = args.edited.as_deref().map(artifact::read_text).transpose()?;
    let verdict = Verdict { feedback: args.feedback, edited, ..Verdict::default() };
    let deciding = DecisionDraft { choice: Choice::Adjust, verdict, ask: !args.which.yes };
    decide::run(ctx, connection, args.which.id.as_deref(), deciding).await
}
