//! `folkmoot show`: one run, where it waits and what it has done; or a gate, or a question.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::RunId,
    wire::{Gate, GateQuery, JournalEntry, Question, QuestionQuery, Run},
};

use crate::{
    cli::As,
    clock,
    connection::Connection,
    context::Context,
    exit::Exit,
    find::{self, Thing},
    gate_view, journal, question_view, run_view, timeline,
};

/// Show a run: where it is, what it waits for, and what it has done
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The id of a gate or of a question shows that.")]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id; none if only one is under way
    id: Option<String>,
    /// Draw what took how long
    #[arg(long)]
    timeline: bool,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: As,
}

/// A run, with all that can be said of it.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) run: Run,
    pub(crate) journal: Vec<JournalEntry>,
    /// Of the run; the newest where there are very many.
    pub(crate) gates: Vec<Gate>,
    pub(crate) questions: Vec<Question>,
}

/// What is shown.
enum Shown {
    Run(Box<Whole>),
    Gate(Box<Gate>),
    Question(Box<Question>),
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        Ok(match find::thing(client, args.id.as_deref()).await? {
            Thing::Run(id) => Shown::Run(Box::new(whole(client, &id).await?)),
            Thing::Gate(id) => Shown::Gate(Box::new(client.gate(&id).await?)),
            Thing::Question(id) => Shown::Question(Box::new(client.question(&id).await?)),
        })
    };
    let now = clock::now();
    match connection.ask(ctx, args.who, read).await? {
        Shown::Run(whole) if ctx.screen.json => ctx.screen.json(&whole.run)?,
        Shown::Run(whole) if args.timeline => ctx.screen.say(timeline::draw(&whole, now, ctx.screen.columns()))?,
        Shown::Run(whole) => {
            ctx.screen.say(run_view::whole(&whole, now, &ctx.command()))?;
            if !whole.journal.is_empty() {
                ctx.screen.say("")?;
                journal::print(ctx, &whole.journal, whole.run.ended_at.is_some(), now)?;
            }
        }
        Shown::Gate(gate) if ctx.screen.json => ctx.screen.json(&gate)?,
        Shown::Gate(gate) => ctx.screen.say(gate_view::whole(&gate, now))?,
        Shown::Question(question) if ctx.screen.json => ctx.screen.json(&question)?,
        Shown::Question(question) => ctx.screen.say(question_view::whole(&question, now))?,
    }
    Ok(Exit::Done)
}

async fn whole(client: &Client, id: &RunId) -> Result<Whole> {
    let limit = Some(find::PAGE);
    let gates = GateQuery { run: Some(id.clone()), limit, ..GateQuery::default() };
    let questions = QuestionQuery { run: Some(id.clone()), limit, ..QuestionQuery::default() };
    Ok(Whole {
        run: client.run(id).await?,
        journal: journal::read(client, id).await?,
        gates: client.gates(&gates).await?.gates,
        questions: client.questions(&questions).await?.questions,
    })
}
