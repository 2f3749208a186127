//! `folkmoot approve`: let a gate's run pass.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::gate::Choice,
    wire::{Gate, Verdict},
};

use crate::{
    cli::ActingAs,
    connection::{Connection, find},
    context::CliContext,
    decide::{self, DecisionDraft},
    exit::Exit,
};

/// Approve what a gate asks for
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Gates, or any unique beginning or end of their ids; optional if only one waits
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// A comment for the requester
    #[arg(long, short = 'm', value_name = "TEXT", conflicts_with = "reason")]
    comment: Option<String>,
    /// Approve without the other reviewers (admins only)
    #[arg(long, requires = "reason")]
    force: bool,
    /// The reason, with --force
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let reason = args.reason.or(args.comment);
    let ids = if args.ids.is_empty() { vec![None] } else { args.ids.iter().map(|id| Some(id.as_str())).collect() };
    // Find all gates before deciding on the first: a typing error in one id must not leave half of
    // the work done.
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let find = async |client: &Client| find::any::<Gate>(client, id).await;
        found.push(connection.ask(ctx, ActingAs::You, find).await?);
    }
    let mut exit = Exit::Done;
    for id in found {
        let verdict = Verdict { reason: reason.clone(), force: args.force, ..Verdict::default() };
        let deciding = DecisionDraft { choice: Choice::Approve, verdict, ask: !args.yes };
        match decide::run(ctx, connection, Some(id.as_str()), deciding).await? {
            Exit::Done => {}
            other => exit = other,
        }
    }
    Ok(exit)
}
