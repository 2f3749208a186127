//! Closing a question without an answer: what `deny`, `question skip` and `question cancel` share.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::question::Status,
    wire::{Question, WithReason},
};

use crate::{
    cli::As,
    clock,
    connection::Connection,
    context::Context,
    exit::Exit,
    find, idempotency, question_view,
    screen::one_line,
    style::{self, paint},
};

/// Which question, why, and whether to ask first.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// The question, or any unique beginning or end of its id; none if only one waits
    id: Option<String>,
    /// Why; whoever asked reads it
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask before closing it
    #[arg(short, long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Deny,
    Skip,
    Cancel,
}

pub(crate) async fn run(ctx: &Context, connection: &mut Connection, who: As, which: Which, way: Way) -> Result<Exit> {
    let find = async |client: &Client| find::any::<Question>(client, which.id.as_deref()).await;
    let id = connection.ask(ctx, who, find).await?;
    let read = async |client: &Client| Ok(client.question(&id).await?);
    let question = connection.ask(ctx, who, read).await?;
    // A denial that nobody has heard is released as it stands; it was closed before.
    let unheard = question.closed.as_ref().is_some_and(|closed| closed.fetched_at.is_none());
    let releases = matches!(way, Way::Cancel) && question.status == Status::Denied && unheard;
    let asks = connection.is_personal() || !which.yes && ctx.screen.answers;
    if asks && (question.status == Status::Pending || releases) {
        let shown = format!("{}\n", question_view::request(&question, clock::now()));
        if !connection.confirm(ctx, who, &shown, &format!("{} this?", way.capital()), !which.yes).await? {
            ctx.screen.say("It goes on waiting.")?;
            return Ok(Exit::Waiting);
        }
    }
    let (key, why) = (idempotency::new_key(), WithReason { reason: which.reason });
    let close = async |client: &Client| {
        Ok(match way {
            Way::Deny => client.deny(&id, &why, Some(&key)).await?,
            Way::Skip => client.skip(&id, &why, Some(&key)).await?,
            Way::Cancel if releases => client.acknowledge(&id, &why).await?,
            Way::Cancel => client.cancel_question(&id, &why, Some(&key)).await?,
        })
    };
    let question = connection.ask(ctx, who, close).await?;
    report(ctx, &question)?;
    if releases && !ctx.screen.json {
        ctx.screen.note(format!("The denial stands, and does not halt {} any more.", question.agent_id));
    }
    Ok(Exit::Done)
}

/// What became of a question, in one line.
pub(crate) fn report(ctx: &Context, question: &Question) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(question);
    }
    let word = paint(style::of_question(question.status), question.status);
    let text = one_line(question.text.as_deref().unwrap_or_default());
    let answer = question.answer.as_ref().filter(|_| question.status == Status::Answered);
    let answer = answer.map(|answer| format!(" with {}", one_line(&question_view::bare(answer)))).unwrap_or_default();
    Ok(ctx.screen.say(format!("{word}{answer}: {text} {}", paint(style::FAINT, &question.id)))?)
}

impl Way {
    fn capital(self) -> &'static str {
        match self {
            Way::Deny => "Deny",
            Way::Skip => "Skip",
            Way::Cancel => "Cancel",
        }
    }
}
