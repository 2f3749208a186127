//! `folkmoot cancel`: end a run in any state, or withdraw a gate or question.

use anyhow::Result;
use folkmoot_api::{
    Client,
    wire::{Cancel, Gate, Question, Run, WithReason},
};

use crate::{
    cli::AsYou,
    close,
    connection::{
        Connection,
        find::{self, FoundItem},
        idempotency,
    },
    context::CliContext,
    exit::Exit,
    views,
};

/// End a run in any state, or withdraw a gate or a question
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Work in flight is dropped, and the run's gates, questions and child runs end with it.")]
pub(crate) struct Args {
    /// The run, gate or question, or any unique beginning or end of its id
    id: String,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    acting: AsYou,
}

enum CancelledItem {
    Run(Box<Run>),
    Gate(Box<Gate>),
    Question(Box<Question>),
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let (key, reason) = (idempotency::new_key(), args.reason);
    let why = WithReason { reason: reason.clone() };
    let ask = format!("Cancel {}?", args.id);
    if !connection.agrees(ctx, args.acting.who, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let cancel = async |client: &Client| {
        Ok(match find::thing(client, Some(&args.id)).await? {
            FoundItem::Run(id) => CancelledItem::Run(Box::new(client.cancel_run(&id, &why, Some(&key)).await?)),
            FoundItem::Gate(id) => {
                let cancel = Cancel { reason: reason.clone() };
                CancelledItem::Gate(Box::new(client.cancel_gate(&id, &cancel, Some(&key)).await?))
            }
            FoundItem::Question(id) => {
                CancelledItem::Question(Box::new(client.cancel_question(&id, &why, Some(&key)).await?))
            }
        })
    };
    match connection.ask(ctx, args.acting.who, cancel).await? {
        CancelledItem::Run(run) => views::run::report(ctx, &run)?,
        CancelledItem::Gate(gate) if ctx.screen.json => ctx.screen.json(&gate)?,
        CancelledItem::Gate(gate) => ctx.screen.say(format!("cancelled {}", gate.id))?,
        CancelledItem::Question(question) => close::report(ctx, &question)?,
    }
    Ok(Exit::Done)
}
