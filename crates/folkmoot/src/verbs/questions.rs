//! `folkmoot questions`: agents' questions, the most urgent first.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{Name, RunId, SessionId, question::QuestionStatus},
    wire::{Question, QuestionListParams},
};

use crate::{
    cli::{AsYou, PageArgs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::table::TableRow,
    views,
};

/// List questions
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only with this status (default: pending)
    #[arg(long, value_parser = word::<QuestionStatus>(QuestionStatus::WORDS), conflicts_with = "all")]
    status: Option<QuestionStatus>,
    /// Any status, the newest first
    #[arg(long)]
    all: bool,
    /// Only this agent
    #[arg(long, value_name = "ID")]
    agent: Option<Name>,
    /// Only questions of this principal and of its runs, under any name
    #[arg(long, value_name = "NAME")]
    asked_by: Option<Name>,
    /// Only this run
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let status = if args.all { None } else { Some(args.status.unwrap_or(QuestionStatus::Pending)) };
    let limit = Some(args.page.limit);
    let (agent, run, session) = (args.agent, args.run, args.session);
    let narrowed = agent.is_some() || args.asked_by.is_some() || run.is_some() || session.is_some();
    // Nobody's questions hide another's.
    let interleaved =
        status == Some(QuestionStatus::Pending) && !narrowed && args.page.cursor.is_none() && !ctx.screen.json;
    let (asked_by, cursor) = (args.asked_by, args.page.cursor);
    let brief = !ctx.screen.json;
    let query = QuestionListParams { status, agent, asked_by, run, session, interleaved, brief, cursor, limit };
    let list =
        connection.ask(ctx, args.acting.who, async |client: &Client| Ok(client.questions(&query).await?)).await?;
    let none = format!("There is no {}question.", status.map(|status| format!("{status} ")).unwrap_or_default());
    let rows = rows(ctx, &list.questions);
    ctx.screen.list(&list, &views::question::COLUMNS, rows, none, list.next.is_some())?;
    if interleaved && list.questions.len() as u64 == u64::from(args.page.limit) {
        ctx.screen.note(format!("There may be more than {}; see --limit and --asked-by.", args.page.limit));
    }
    Ok(Exit::Done)
}

/// Prints the table.
pub(crate) fn print(ctx: &CliContext, questions: &[Question]) -> Result<()> {
    Ok(ctx.screen.table(&views::question::COLUMNS, rows(ctx, questions))?)
}

fn rows(ctx: &CliContext, questions: &[Question]) -> Vec<TableRow> {
    let now = clock::now();
    questions.iter().map(|question| views::question::row(question, now, ctx.screen.terminal)).collect()
}
