//! `folkmoot step …`: what a script has done in a run of its own, so that it does nothing twice.

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
    cli::ActingAs,
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
    /// What the step is called, the same in every attempt
    key: EntryKey,
    /// It must not be done twice, also when nobody knows whether it was done
    #[arg(long)]
    once: bool,
    /// The agent that works, if it is not the token's own name
    #[arg(long, value_name = "ID")]
    agent: Option<Name>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
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

    /// Records it; whether this wrote it, or what stands was there before.
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
                // What became of a step is said of whatever was begun: nobody should have to repeat
                // --once.
                Err(error) if error.code() == Some("step_differs") && step.state != EntryStatus::Begun => {
                    let kind = if self.once { EntryKind::Step } else { EntryKind::Once };
                    let step = RecordStep { kind: Some(kind), ..step.clone() };
                    Ok(client.record_step(&run, &step, Some(&keys[1])).await?)
                }
                answered => Ok(answered?),
            }
        };
        connection.ask(ctx, self.who, record).await
    }
}

/// What now stands, in one line.
fn report(ctx: &CliContext, entry: &JournalEntry, is_new: bool) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(entry);
    }
    let before = if is_new { "" } else { ", as before" };
    Ok(ctx.screen.say(format!("{} {}{before}", one_line(entry.key.as_str()), entry.state))?)
}
