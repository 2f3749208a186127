//! `folkmoot answer --all-defaults`: answer every question that has a default with it.
//!
//! Only the questions that were shown are answered. Questions asked meanwhile stay open.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client, client,
    wire::{Answer, Closed, Question},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    cli::ActingAs,
    connection::{
        Connection,
        find::{self, FindById},
        idempotency,
    },
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        prompt,
        style::{self, paint},
        table::TableRow,
    },
    views,
};

#[derive(Debug, Default, Serialize)]
struct BulkAnswers {
    answered: Vec<Question>,
    closed_meanwhile: Vec<NotAnswered>,
    refused: Vec<NotAnswered>,
    left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
struct NotAnswered {
    id: String,
    code: String,
    detail: String,
    closed: Option<Closed>,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    id: String,
    why: String,
}

pub(super) async fn run(
    ctx: &CliContext,
    connection: &mut Connection,
    reason: Option<String>,
    yes: bool,
) -> Result<Exit> {
    let waiting =
        connection.ask(ctx, ActingAs::You, async |client: &Client| Question::waiting(client, true).await).await?;
    let (mut ready, mut left_out) = (Vec::new(), Vec::new());
    for question in &waiting {
        match judge(question) {
            Ok(default) => ready.push((question, default)),
            Err(why) => left_out.push((question, why)),
        }
    }
    if !ctx.screen.json {
        preview(ctx, &ready, &left_out)?;
    }
    if !ready.is_empty() && !confirmed(ctx, connection, ready.len(), yes).await? {
        ctx.screen.say("Nothing was answered.")?;
        return Ok(Exit::Waiting);
    }
    let left_out = left_out.into_iter().map(|(question, why)| LeftOut { id: question.id.to_string(), why }).collect();
    let mut outcome = BulkAnswers { left_out, ..BulkAnswers::default() };
    let ended = answer_each(ctx, connection, &ready, reason.as_deref(), &mut outcome).await;
    // Print what was answered even if a later one failed.
    if ctx.screen.json && (ended.is_ok() || !outcome.answered.is_empty()) {
        ctx.screen.json(&outcome)?;
    }
    ended?;
    Ok(if outcome.refused.is_empty() { Exit::Done } else { Exit::Problems })
}

async fn answer_each(
    ctx: &CliContext,
    connection: &mut Connection,
    ready: &[(&Question, &Value)],
    reason: Option<&str>,
    outcome: &mut BulkAnswers,
) -> Result<()> {
    for (question, default) in ready {
        let answer = Answer { answer: (*default).clone(), reason: reason.map(str::to_owned) };
        let key = idempotency::new_key();
        let send = async |client: &Client| Ok(client.answer(&question.id, &answer, Some(&key)).await?);
        let told = match connection.ask(ctx, ActingAs::You, send).await {
            Ok(question) => {
                outcome.answered.push(question);
                format!("{} with {}", paint(style::GOOD, "answered"), one_line(&views::question::bare(default)))
            }
            Err(error) => {
                let refused = NotAnswered::new(question, error)?;
                let told = format!("{} {}", paint(style::WARN, "not answered:"), one_line(&refused.detail));
                // Another answer or the timeout came first, and stands.
                match refused.code.as_str() {
                    "question_closed" | "question_expired" => outcome.closed_meanwhile.push(refused),
                    _ => outcome.refused.push(refused),
                }
                told
            }
        };
        if !ctx.screen.json {
            ctx.screen.say(format!("{}  {told}", find::short(&question.id)))?;
        }
    }
    Ok(())
}

/// The default answer, or why the question gets none.
fn judge(question: &Question) -> Result<&Value, String> {
    match &question.default {
        _ if !question.question_type.is_answered_in_bulk() => {
            Err(format!("{} is answered one by one", question.question_type))
        }
        Some(default) => Ok(default),
        None => Err("it has no default".to_owned()),
    }
}

fn preview(ctx: &CliContext, ready: &[(&Question, &Value)], left_out: &[(&Question, String)]) -> Result<()> {
    let row = |question: &Question, what: String| {
        let id = if ctx.screen.terminal { find::short(&question.id) } else { question.id.as_str() };
        let text = one_line(question.text.as_deref().unwrap_or("(erased)"));
        let (kind, agent) = (question.question_type.to_string(), views::question::asker(question));
        TableRow { cells: vec![id.to_owned(), kind, agent, what, text], painted: None }
    };
    if ready.is_empty() {
        ctx.screen.note("No question that waits has a default that may answer it.");
    } else {
        let rows = ready.iter().map(|(question, default)| row(question, one_line(&views::question::bare(default))));
        ctx.screen.table(&["QUESTION", "TYPE", "AGENT", "ANSWER", "TEXT"], rows.collect())?;
    }
    if !left_out.is_empty() {
        ctx.screen.say(format!("\n{}", paint(style::FAINT, "Left out")))?;
        let rows = left_out.iter().map(|(question, why)| row(question, why.clone()));
        ctx.screen.table(&["QUESTION", "TYPE", "AGENT", "WHY", "TEXT"], rows.collect())?;
    }
    if !ready.is_empty() {
        ctx.screen.say("")?;
    }
    Ok(())
}

async fn confirmed(ctx: &CliContext, connection: &mut Connection, count: usize, yes: bool) -> Result<bool> {
    let these = if count == 1 { "this question".to_owned() } else { format!("these {count} questions") };
    if connection.is_personal() {
        return connection.confirm(ctx, ActingAs::You, "", &format!("Answer {these} so?"), !yes).await;
    }
    if yes {
        return Ok(true);
    }
    if !ctx.screen.answers {
        bail!("there is no terminal to confirm at, so nothing was answered; --yes answers {these}");
    }
    Ok(prompt::yes(&format!("Answer {these} so?")).await?)
}

impl NotAnswered {
    /// A refusal concerns only this question; any other error ends the verb.
    fn new(question: &Question, error: anyhow::Error) -> Result<Self> {
        match error.downcast::<client::Error>()? {
            client::Error::Problem(problem) if matches!(problem.status, 403 | 404 | 409 | 422) => Ok(Self {
                id: question.id.to_string(),
                code: problem.code,
                detail: problem.detail,
                closed: problem.closed,
            }),
            error => Err(error.into()),
        }
    }
}
