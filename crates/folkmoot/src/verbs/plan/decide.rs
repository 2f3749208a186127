//! Asks the person at the terminal to decide on a proposal or a checkpoint.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{
        GateId, GateStatus,
        gate::{Choice, GateKind},
    },
    wire::{Gate, Plan, Verdict},
};

use crate::{
    cli::ActingAs,
    connection::{Connection, idempotency},
    context::CliContext,
    decide,
    terminal::{
        prompt,
        style::{self, paint},
    },
    views,
};

/// Shows the gate and asks. Returns `false` if the person leaves. Without a terminal, waits for
/// others to decide.
pub(crate) async fn run(ctx: &CliContext, connection: &mut Connection, plan: &Plan, id: &GateId) -> Result<bool> {
    let read = async |client: &Client| Ok(client.gate(id).await?);
    let gate = connection.ask(ctx, ActingAs::You, read).await?;
    if gate.status != GateStatus::Pending {
        return Ok(true);
    }
    if ctx.screen.json || !ctx.screen.answers {
        // Printed with --json too, so that the user knows who is waited for.
        anstream::eprintln!("{}", views::plan::waits(ctx, plan, &gate));
        return Ok(true);
    }
    ctx.screen.say(views::plan::asked(plan, &gate))?;
    prompt::forget_typed_ahead();
    let Some((choice, verdict)) = answer(&gate).await? else { return Ok(false) };
    connection.answered().await?;
    let verdict = Verdict { digest: Some(decide::digest_of_shown(&gate)?), ..verdict };
    let key = idempotency::new_key();
    let decide = async |client: &Client| Ok(client.decide(&gate.id, choice, &verdict, Some(&key)).await?);
    // Somebody else may have decided first; the plan then continues with that.
    match connection.ask(ctx, ActingAs::You, decide).await {
        Err(error) if views::gate::is_decided(&error) => ctx.screen.note(format!("{error:#}")),
        decided => drop(decided?),
    }
    Ok(true)
}

async fn answer(gate: &Gate) -> Result<Option<(Choice, Verdict)>> {
    let letters: &[(char, &str, Choice)] = match gate.kind {
        GateKind::Checkpoint => &[
            ('c', "[c]ontinue", Choice::Approve),
            ('p', "[p]ause", Choice::Pause),
            ('a', "[a]djust", Choice::Adjust),
            ('r', "[r]eject", Choice::Reject),
        ],
        _ => {
            &[('a', "[a]pprove", Choice::Approve), ('r', "[r]eject", Choice::Reject), ('d', "a[d]just", Choice::Adjust)]
        }
    };
    let offered: Vec<_> = letters.iter().filter(|(.., choice)| gate.allowed.contains(choice)).collect();
    let words: Vec<&str> = offered.iter().map(|(_, word, _)| *word).collect();
    let question = paint(style::STRONG, format!("{}?", words.join(", ")));
    loop {
        let Some(said) = prompt::line(&question).await? else { return Ok(None) };
        let said = said.to_lowercase();
        let plain = |word: &str| word.replace(['[', ']'], "");
        let meant = offered.iter().find(|(letter, word, _)| said == letter.to_string() || said == plain(word));
        let Some((_, _, choice)) = meant else {
            anstream::println!("Type one of the letters in brackets; Ctrl-D leaves it for later.");
            continue;
        };
        let verdict = match choice {
            Choice::Approve | Choice::Pause => Verdict::default(),
            Choice::Reject => Verdict { reason: Some(text("Why?").await?), ..Verdict::default() },
            Choice::Adjust => Verdict { feedback: Some(text("What should change?").await?), ..Verdict::default() },
        };
        let says = |text: &Option<String>| text.as_ref().is_none_or(|text| !text.is_empty());
        if says(&verdict.reason) && says(&verdict.feedback) {
            return Ok(Some((*choice, verdict)));
        }
        anstream::println!("Say it in a line: nothing was decided.");
    }
}

async fn text(question: &str) -> Result<String> {
    Ok(prompt::line(question).await?.unwrap_or_default())
}
