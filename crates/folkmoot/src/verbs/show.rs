//! `folkmoot show`: one run with its waits and steps; or a gate, or a question.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::RunId,
    wire::{Gate, GateListParams, Question, QuestionListParams},
};

use crate::{
    cli::AsYou,
    clock,
    connection::{
        Connection,
        find::{self, FoundItem},
    },
    context::CliContext,
    exit::Exit,
    verbs::journal,
    views::{self, run::RunDetails},
};

/// Show a run: its state, what it waits for, and its steps
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With the id of a gate or question, shows that.")]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id; optional if only one is active
    id: Option<String>,
    /// Draw a timeline
    #[arg(long)]
    timeline: bool,
    #[command(flatten)]
    acting: AsYou,
}

enum ShowTarget {
    Run(Box<RunDetails>),
    Gate(Box<Gate>),
    Question(Box<Question>),
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        Ok(match find::thing(client, args.id.as_deref()).await? {
            FoundItem::Run(id) => ShowTarget::Run(Box::new(whole(client, &id).await?)),
            FoundItem::Gate(id) => ShowTarget::Gate(Box::new(client.gate(&id).await?)),
            FoundItem::Question(id) => ShowTarget::Question(Box::new(client.question(&id).await?)),
        })
    };
    let now = clock::now();
    match connection.ask(ctx, args.acting.who, read).await? {
        ShowTarget::Run(whole) if ctx.screen.json => ctx.screen.json(&whole.run)?,
        ShowTarget::Run(whole) if args.timeline => {
            ctx.screen.say(views::timeline::draw(&whole, now, ctx.screen.columns()))?
        }
        ShowTarget::Run(whole) => {
            ctx.screen.say(views::run::whole(&whole, now, &ctx.command()))?;
            if !whole.journal.is_empty() {
                ctx.screen.say("")?;
                journal::print(ctx, &whole.journal, whole.run.ended_at.is_some(), now)?;
            }
        }
        ShowTarget::Gate(gate) if ctx.screen.json => ctx.screen.json(&gate)?,
        ShowTarget::Gate(gate) => ctx.screen.say(views::gate::whole(&gate, now))?,
        ShowTarget::Question(question) if ctx.screen.json => ctx.screen.json(&question)?,
        ShowTarget::Question(question) => ctx.screen.say(views::question::whole(&question, now))?,
    }
    Ok(Exit::Done)
}

async fn whole(client: &Client, id: &RunId) -> Result<RunDetails> {
    let limit = Some(find::PAGE);
    let gates = GateListParams { run: Some(id.clone()), limit, ..GateListParams::default() };
    let questions = QuestionListParams { run: Some(id.clone()), limit, ..QuestionListParams::default() };
    Ok(RunDetails {
        run: client.run(id).await?,
        journal: journal::read(client, id).await?,
        gates: client.gates(&gates).await?.gates,
        questions: client.questions(&questions).await?.questions,
    })
}
