//! Asks the person at the terminal to decide at a debate's gate.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{
        GateId, GateStatus,
        gate::{Choice, Risk},
    },
    wire::{Gate, Verdict},
};

use super::follow::FollowMode;
use crate::{
    cli::ActingAs,
    clock,
    connection::{Connection, idempotency},
    context::CliContext,
    decide,
    terminal::{
        prompt,
        style::{self, paint},
    },
    views,
};

/// How long one request waits for others.
const ROUND: Duration = Duration::from_secs(30);

/// What the person at the terminal did.
enum GateReply {
    /// A decision, with a reason or feedback.
    This(Choice, Option<String>),
    /// The person leaves without deciding.
    Leaves,
    /// Others have decided, or will.
    Others,
}

/// Shows the gate and asks. Returns `false` if the person leaves. Without a terminal, waits for
/// others to decide.
pub(super) async fn run(
    ctx: &CliContext,
    connection: &mut Connection,
    id: &GateId,
    manner: FollowMode,
) -> Result<bool> {
    let gate = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.gate(id).await?)).await?;
    if gate.status != GateStatus::Pending {
        return Ok(true);
    }
    let asks = ctx.screen.answers || manner.lightly && !ctx.screen.json && !io::stdin().is_terminal();
    if manner.plays.is_none() && !asks {
        // Printed with --json too, so that the user knows who is waited for.
        anstream::eprintln!("{}", views::gate::waits(ctx, &gate));
        return Ok(true);
    }
    if !ctx.screen.json {
        ctx.screen.say(format!("\n{}\n", views::debate::asked(&gate, clock::now(), gate.risk >= Risk::High)))?;
    }
    if !manner.lightly {
        prompt::forget_typed_ahead();
    }
    let said = match manner.plays {
        Some(choice) => GateReply::This(choice, Some("as it was told beforehand".to_owned())),
        None => {
            let client = connection.client(ActingAs::You)?;
            tokio::select! {
                said = answer(ctx, &gate) => said?,
                () = decided(&client, id) => {
                    ctx.screen.say("")?;
                    GateReply::Others
                }
            }
        }
    };
    let (choice, text) = match said {
        GateReply::This(choice, text) => (choice, text),
        GateReply::Leaves => return Ok(false),
        GateReply::Others => return Ok(true),
    };
    if ctx.screen.answers && manner.plays.is_none() {
        connection.answered().await?;
    }
    let (reason, feedback) = if choice == Choice::Adjust { (None, text) } else { (text, None) };
    let verdict = Verdict { reason, feedback, digest: Some(decide::digest_of_shown(&gate)?), ..Verdict::default() };
    let key = idempotency::new_key();
    let decide = async |client: &Client| Ok(client.decide(&gate.id, choice, &verdict, Some(&key)).await?);
    // Somebody else may have decided first; the debate then continues with that.
    match connection.ask(ctx, ActingAs::You, decide).await {
        Err(error) if views::gate::is_decided(&error) => ctx.screen.note(format!("{error:#}")),
        decided => drop(decided?),
    }
    if !ctx.screen.json {
        ctx.screen.say("")?;
    }
    Ok(true)
}

async fn answer(ctx: &CliContext, gate: &Gate) -> Result<GateReply> {
    let question = paint(style::STRONG, "[a]pprove, [r]eject, ad[j]ust, [d]etails, [q]uit?");
    loop {
        let Some(said) = prompt::line(&question).await? else {
            ctx.screen.say("")?;
            // The end of a pipe does not mean that others will not decide.
            return Ok(if ctx.screen.answers { GateReply::Leaves } else { GateReply::Others });
        };
        match said.to_lowercase().as_str() {
            "a" | "approve" => return Ok(GateReply::This(Choice::Approve, None)),
            "r" | "reject" => match prompt::line("Why not?").await?.filter(|why| !why.is_empty()) {
                Some(why) => return Ok(GateReply::This(Choice::Reject, Some(why))),
                None => ctx.screen.say("A rejection says why: nothing was decided.")?,
            },
            "j" | "adjust" => match prompt::line("What should change?").await?.filter(|what| !what.is_empty()) {
                Some(what) => return Ok(GateReply::This(Choice::Adjust, Some(what))),
                None => ctx.screen.say("An adjustment says what should change: nothing was decided.")?,
            },
            "d" | "details" | "diff" => ctx.screen.say(views::debate::asked(gate, clock::now(), true))?,
            "q" | "quit" => return Ok(GateReply::Leaves),
            _ => ctx.screen.say("Type one of the letters in brackets.")?,
        }
    }
}

/// Waits until others have decided. Errors are ignored, because the person here is being asked
/// meanwhile.
async fn decided(client: &Client, id: &GateId) {
    loop {
        match client.wait_gate(id, ROUND).await {
            Ok(gate) if gate.status != GateStatus::Pending => return,
            Ok(_) => {}
            Err(_) => tokio::time::sleep(ROUND).await,
        }
    }
}
