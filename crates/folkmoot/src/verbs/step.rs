//! `folkmoot step …`: record the steps of a script's run, so that nothing is done twice.

mod begin;
mod done;
mod fail;

use anyhow::Result;
use clap::Subcommand;
use folkmoot_api::{
    Client,
    core::{
        Name, RunId,
        journal::{EntryKey, EntryKind, EntryStatus},
    },
    wire::{JournalEntry, RecordStep, Run},
};

use crate::{
    cli::AsAgent,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::printable::one_line,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Begin(begin::Args),
    Done(done::Args),
    Fail(fail::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Begin(args) => begin::run(args, ctx, connection).await,
        Verb::Done(args) => done::run(args, ctx, connection).await,
        Verb::Fail(args) => fail::run(args, ctx, connection).await,
    }
}

#[derive(Debug, clap::Args)]
struct StepArgs {
    /// The run, or any unique beginning or end of its id
    run: String,
    /// The step's key, the same in every attempt
    key: EntryKey,
    /// It must not be done twice, even if it is unknown whether it was done
    #[arg(long)]
    once: bool,
    /// The agent that works (default: the token's own name)
    #[arg(long, value_name = "ID")]
    agent: Option<Name>,
    #[command(flatten)]
    acting: AsAgent,
}

impl StepArgs {
    fn step(&self, state: EntryStatus) -> RecordStep {
        RecordStep {
            key: self.key.clone(),
            kind: Some(if self.once { EntryKind::Once } else { EntryKind::Step }),
            state,
            result: None,
            error: None,
            agent_id: self.agent.clone(),
            input: None,
        }
    }

    /// Records a step. Returns whether this request wrote it, or it was there before.
    async fn record(
        &self,
        ctx: &CliContext,
        connection: &mut Connection,
        step: &RecordStep,
    ) -> Result<(JournalEntry, bool)> {
        let keys = [idempotency::new_key(), idempotency::new_key()];
        let record = async |client: &Client| {
            let run: RunId = find::any::<Run>(client, Some(&self.run)).await?;
            match client.record_step(&run, step, Some(&keys[0])).await {
                // The result belongs to whatever was begun, so --once need not be repeated.
                Err(error) if error.code() == Some("step_differs") && step.state != EntryStatus::Begun => {
                    let kind = if self.once { EntryKind::Step } else { EntryKind::Once };
                    let step = RecordStep { kind: Some(kind), ..step.clone() };
                    Ok(client.record_step(&run, &step, Some(&keys[1])).await?)
                }
                answered => Ok(answered?),
            }
        };
        connection.ask(ctx, self.acting.who, record).await
    }
}

/// The recorded step, in one line.
fn report(ctx: &CliContext, entry: &JournalEntry, is_new: bool) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(entry);
    }
    let before = if is_new { "" } else { ", as before" };
    Ok(ctx.screen.say(format!("{} {}{before}", one_line(entry.key.as_str()), entry.state))?)
}
