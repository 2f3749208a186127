//! Asking the person at the terminal whether a debate may go on.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateId, Status, gate::Choice},
    wire::{Gate, Verdict},
};

use crate::{
    cli::As,
    clock,
    connection::Connection,
    context::Context,
    gate_view, idempotency, prompt,
    style::{self, paint},
};

/// Shows what is asked, and asks; `false` if whoever sits there leaves it for now. Without a terminal others decide.
pub(super) async fn run(ctx: &Context, connection: &mut Connection, id: &GateId) -> Result<bool> {
    let gate = connection.ask(ctx, As::You, async |client: &Client| Ok(client.gate(id).await?)).await?;
    if gate.status != Status::Pending {
        return Ok(true);
    }
    if ctx.screen.json || !ctx.screen.answers {
        // Also beside JSON: whoever waits must know for whom.
        anstream::eprintln!("{}", gate_view::waits(&ctx.command(), &gate));
        return Ok(true);
    }
    ctx.screen.say(format!("\n{}\n", gate_view::request(&gate, clock::now(), SHOWN)))?;
    prompt::forget_typed_ahead();
    let Some((choice, reason)) = answer(ctx, &gate).await? else { return Ok(false) };
    let verdict = Verdict { reason, digest: Some(gate.digest), ..Verdict::default() };
    let key = idempotency::new_key();
    let decide = async |client: &Client| Ok(client.decide(&gate.id, choice, &verdict, Some(&key)).await?);
    // Somebody else may have been faster: then the debate goes on with what they said.
    match connection.ask(ctx, As::You, decide).await {
        Err(error) if gate_view::is_decided(&error) => ctx.screen.note(format!("{error:#}")),
        decided => drop(decided?),
    }
    ctx.screen.say("")?;
    Ok(true)
}

/// How many lines of each artifact are shown before somebody asks for more.
const SHOWN: usize = 12;

async fn answer(ctx: &Context, gate: &Gate) -> Result<Option<(Choice, Option<String>)>> {
    let question = paint(style::STRONG, "[a]pprove, [r]eject, [d]etails, [q]uit?");
    loop {
        let Some(said) = prompt::line(&question).await? else { return Ok(None) };
        match said.to_lowercase().as_str() {
            "a" | "approve" => return Ok(Some((Choice::Approve, None))),
            "r" | "reject" => match prompt::line("Why not?").await?.filter(|why| !why.is_empty()) {
                Some(why) => return Ok(Some((Choice::Reject, Some(why)))),
                None => ctx.screen.say("A rejection says why: nothing was decided.")?,
            },
            "d" | "details" | "diff" => ctx.screen.say(gate_view::request(gate, clock::now(), usize::MAX))?,
            "q" | "quit" => return Ok(None),
            _ => ctx.screen.say("Type one of the letters in brackets.")?,
        }
    }
}
