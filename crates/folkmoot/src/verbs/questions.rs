//! `folkmoot questions`: what agents ask, the most pressing first.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{Name, RunId, SessionId, question::QuestionStatus},
    wire::{Question, QuestionListParams},
};

use crate::{
    cli::{ActingAs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    views,
};

/// List questions
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these; pending unless it is given
    #[arg(long, value_parser = word::<QuestionStatus>(QuestionStatus::WORDS), conflicts_with = "all")]
    status: Option<QuestionStatus>,
    /// Whatever their status, the newest first
    #[arg(long)]
    all: bool,
    /// Only of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<Name>,
    /// Only those that this principal asked, under whatever name
    #[arg(long, value_name = "NAME")]
    asked_by: Option<Name>,
    /// Only of this run
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// Only of this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Go on after another list, where its `next` says
    #[arg(long)]
    cursor: Option<String>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let status = if args.all { None } else { Some(args.status.unwrap_or(QuestionStatus::Pending)) };
    let limit = Some(args.limit);
    let (agent, run, session) = (args.agent, args.run, args.session);
    let query = QuestionListParams { status, agent, asked_by: args.asked_by, run, session, cursor: args.cursor, limit };
    let list = connection.ask(ctx, args.who, async |client: &Client| Ok(client.questions(&query).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
        return Ok(Exit::Done);
    }
    if list.questions.is_empty() {
        let what = status.map(|status| format!("{status} ")).unwrap_or_default();
        ctx.screen.note(format!("There is no {what}question."));
    } else {
        print(ctx, &list.questions)?;
    }
    ctx.screen.note_more(list.questions.len(), list.next.is_some());
    Ok(Exit::Done)
}

/// The table.
pub(crate) fn print(ctx: &CliContext, questions: &[Question]) -> Result<()> {
    let now = clock::now();
    let rows = questions.iter().map(|question| views::question::row(question, now, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&views::question::COLUMNS, rows)?)
}
