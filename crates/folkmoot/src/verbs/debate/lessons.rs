//! `folkmoot debate lessons`: list, correct and remove what debates learnt.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    wire::{CorrectLesson, DebateLesson, Erase},
};

use crate::{
    cli::ActingAs,
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, span, table::TableRow},
};

/// List the lessons of debates, or correct or remove one
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Remove this lesson, by any unique beginning of its id; its text is erased, and the log says
    /// so
    #[arg(long, value_name = "ID", requires = "reason")]
    remove: Option<String>,
    /// Correct this lesson, by any unique beginning of its id; later debates see the new text
    #[arg(long, value_name = "ID", requires_all = ["text", "reason"], conflicts_with = "remove")]
    correct: Option<String>,
    /// The new text
    #[arg(long, value_name = "TEXT", requires = "correct")]
    text: Option<String>,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.lessons().await?)).await?;
    let Some(wanted) = args.remove.as_ref().or(args.correct.as_ref()) else {
        if ctx.screen.json {
            ctx.screen.json(&list)?;
        } else if list.lessons.is_empty() {
            ctx.screen.note("No debate has learnt anything yet.");
        } else {
            let rows = list.lessons.iter().map(row).collect();
            ctx.screen.table(&["LESSON", "DOMAIN", "LANGUAGE", "LEARNT", "WHAT TO DO"], rows)?;
        }
        return Ok(Exit::Done);
    };
    let found: Vec<&DebateLesson> = list.lessons.iter().filter(|lesson| lesson.id.starts_with(wanted)).collect();
    let lesson = match found[..] {
        [only] => only,
        [] => bail!("there is no lesson {wanted}; `folkmoot debate lessons` lists those there are"),
        _ => bail!("several lessons begin with {wanted}; give more of the id"),
    };
    let reason = args.reason.unwrap_or_default();
    if let Some(text) = args.text {
        let correction = CorrectLesson { lesson: text, reason };
        let correct = async |client: &Client| Ok(client.correct_lesson(&lesson.id, &correction).await?);
        let corrected = connection.ask(ctx, ActingAs::You, correct).await?;
        ctx.screen.show(&corrected, format!("corrected {}", corrected.id))?;
        return Ok(Exit::Done);
    }
    let reason = Erase { reason };
    let erase = async |client: &Client| Ok(client.erase(&lesson.digest, &reason).await?);
    let erased = connection.ask(ctx, ActingAs::You, erase).await?;
    ctx.screen.show(&erased, format!("removed {}", lesson.id))?;
    Ok(Exit::Done)
}

fn row(lesson: &DebateLesson) -> TableRow {
    let cells = [
        lesson.id.clone(),
        lesson.domain.clone(),
        lesson.language.clone().unwrap_or_else(|| "-".to_owned()),
        span::ago(lesson.created_at, clock::now()),
        one_line(&lesson.lesson),
    ];
    TableRow { cells: cells.into(), painted: None }
}
