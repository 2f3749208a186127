//! Closing a question without an answer: what `deny`, `question skip` and `question cancel` share.

use anyhow::Result;
use folkmoot_api::{
    Client, client,
    core::{Name, question::QuestionStatus},
    wire::{Question, QuestionListParams, WithReason},
};

use crate::{
    cli::ActingAs,
    clock,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        style::{self, paint},
    },
    views,
};

/// How many questions of a long list are shown.
const SHOWN: usize = 10;

/// The question, the reason, and whether to ask first.
#[derive(Debug, clap::Args)]
pub(crate) struct QuestionArgs {
    /// The question, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// The reason, for the asker
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CloseAction {
    Deny,
    Skip,
    Cancel,
}

pub(crate) async fn run(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    which: QuestionArgs,
    way: CloseAction,
) -> Result<Exit> {
    let find = async |client: &Client| find::any::<Question>(client, which.id.as_deref()).await;
    let id = connection.ask(ctx, who, find).await?;
    let read = async |client: &Client| Ok(client.question(&id).await?);
    let question = connection.ask(ctx, who, read).await?;
    // An unacknowledged denial is already closed; cancelling it only releases its asker.
    let unheard = question.closed.as_ref().is_some_and(|closed| closed.fetched_at.is_none());
    let releases = matches!(way, CloseAction::Cancel) && question.status == QuestionStatus::Denied && unheard;
    let asks = connection.is_personal() || !which.yes && ctx.screen.answers;
    if asks && (question.status == QuestionStatus::Pending || releases) {
        let shown = format!("{}\n", views::question::request(&question, clock::now()));
        if !connection.confirm(ctx, who, &shown, &format!("{} this?", way.capital()), !which.yes).await? {
            ctx.screen.say("It goes on waiting.")?;
            return Ok(Exit::Waiting);
        }
    }
    let (key, why) = (idempotency::new_key(), WithReason { reason: which.reason });
    let close = async |client: &Client| {
        Ok(match way {
            CloseAction::Deny => client.deny(&id, &why, Some(&key)).await?,
            CloseAction::Skip => client.skip(&id, &why, Some(&key)).await?,
            CloseAction::Cancel if releases => client.acknowledge(&id, &why).await?,
            CloseAction::Cancel => client.cancel_question(&id, &why, Some(&key)).await?,
        })
    };
    let question = connection.ask(ctx, who, close).await?;
    report(ctx, &question)?;
    if releases && !ctx.screen.json {
        ctx.screen.note(format!("The denial stands, and does not halt {} any more.", question.agent_id));
    }
    Ok(Exit::Done)
}

/// Withdraws all pending questions of one principal, after one confirmation.
pub(crate) async fn cancel_all(
    ctx: &CliContext,
    connection: &mut Connection,
    who: ActingAs,
    asker: &Name,
    which: QuestionArgs,
) -> Result<Exit> {
    // All of them are read before the question, so that nothing is cancelled that came after it.
    let mut waiting = Vec::new();
    let mut query = QuestionListParams {
        status: Some(QuestionStatus::Pending),
        asked_by: Some(asker.clone()),
        brief: true,
        limit: Some(find::PAGE),
        ..QuestionListParams::default()
    };
    loop {
        let page = connection.ask(ctx, who, async |client: &Client| Ok(client.questions(&query).await?)).await?;
        waiting.extend(page.questions);
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    if waiting.is_empty() {
        ctx.screen.note(format!("No question that {asker} asked waits."));
        return Ok(Exit::Done);
    }
    if connection.is_personal() || !which.yes && ctx.screen.answers {
        let first = waiting.iter().take(SHOWN).map(|question| {
            let text = one_line(question.text.as_deref().unwrap_or_default());
            format!("{} {text}\n", question.question_type)
        });
        let more = if waiting.len() > SHOWN { "…\n" } else { "" };
        let shown = format!("{}{more}", first.collect::<String>());
        let question = format!("Cancel all that {asker} asks?");
        if !connection.confirm(ctx, who, &shown, &question, !which.yes).await? {
            ctx.screen.say("They go on waiting.")?;
            return Ok(Exit::Waiting);
        }
    }
    let why = WithReason { reason: which.reason };
    let mut cancelled = Vec::new();
    for question in waiting {
        let key = idempotency::new_key();
        let cancel = async |client: &Client| Ok(client.cancel_question(&question.id, &why, Some(&key)).await?);
        match connection.ask(ctx, who, cancel).await {
            Ok(question) => cancelled.push(question),
            // Somebody closed it meanwhile.
            Err(error) if problem_code(&error) == Some("question_closed") => {}
            Err(error) => return Err(error),
        }
    }
    ctx.screen.show(&cancelled, format!("cancelled {} that {asker} asked", cancelled.len()))?;
    Ok(Exit::Done)
}

/// How a question ended, in one line.
pub(crate) fn report(ctx: &CliContext, question: &Question) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(question);
    }
    let word = paint(style::of_question(question.status), question.status);
    let text = one_line(question.text.as_deref().unwrap_or_default());
    let answer = question.answer.as_ref().filter(|_| question.status == QuestionStatus::Answered);
    let answer = answer.map(|answer| format!(" with {}", one_line(&views::question::bare(answer)))).unwrap_or_default();
    Ok(ctx.screen.say(format!("{word}{answer}: {text} {}", paint(style::FAINT, &question.id)))?)
}

impl CloseAction {
    fn capital(self) -> &'static str {
        match self {
            CloseAction::Deny => "Deny",
            CloseAction::Skip => "Skip",
            CloseAction::Cancel => "Cancel",
        }
    }
}

fn problem_code(error: &anyhow::Error) -> Option<&str> {
    error.downcast_ref::<client::Error>().and_then(client::Error::code)
}
