//! Asks the person at the terminal the questions of a debate.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{QuestionId, question::QuestionStatus},
    wire::{Answer, WithReason},
};

use crate::{
    cli::ActingAs,
    clock,
    connection::{Connection, find, idempotency},
    context::CliContext,
    terminal::{
        prompt,
        style::{self, paint},
    },
    views,
};

/// How long one request waits for others.
const ROUND: Duration = Duration::from_secs(30);

/// Shows the question and asks. Returns `false` if the person leaves. Without a terminal, waits for
/// others to answer.
pub(super) async fn run(ctx: &CliContext, connection: &mut Connection, id: &QuestionId) -> Result<bool> {
    let question = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.question(id).await?)).await?;
    if question.status != QuestionStatus::Pending {
        return Ok(true);
    }
    let shown = views::question::request(&question, clock::now());
    if ctx.screen.json || !ctx.screen.answers {
        // Printed with --json too, so that the user knows who is waited for.
        let way = match ctx.screen.notes_are_read {
            true => paint(style::COMMAND, format!("{} answer {} \"…\"", ctx.command(), find::short(id))),
            false => views::gate::A_PERSON_DECIDES.to_owned(),
        };
        anstream::eprintln!("Waits for an answer:\n{shown}\n  {way}");
        return Ok(true);
    }
    ctx.screen.say(format!("\n{shown}\n"))?;
    prompt::forget_typed_ahead();
    let client = connection.client(ActingAs::You)?;
    let said = tokio::select! {
        said = prompt::line("Answer (empty leaves it to the agents):") => said?,
        () = closed(&client, id) => {
            ctx.screen.say("")?;
            return Ok(true);
        }
    };
    let Some(said) = said else { return Ok(false) };
    connection.answered().await?;
    let key = idempotency::new_key();
    let send = async |client: &Client| match said.trim() {
        "" => Ok(client.skip(id, &WithReason::default(), Some(&key)).await?),
        said => {
            let answer = Answer { answer: said.into(), reason: None };
            Ok(client.answer(id, &answer, Some(&key)).await?)
        }
    };
    drop(connection.ask(ctx, ActingAs::You, send).await?);
    ctx.screen.say("")?;
    Ok(true)
}

/// Waits until others have answered. Errors are ignored, because the person here is being asked
/// meanwhile.
async fn closed(client: &Client, id: &QuestionId) {
    loop {
        match client.wait_question(id, ROUND).await {
            Ok(question) if question.status != QuestionStatus::Pending => return,
            Ok(_) => {}
            Err(_) => tokio::time::sleep(ROUND).await,
        }
    }
}
