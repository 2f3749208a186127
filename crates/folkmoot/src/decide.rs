//! What `approve`, `reject`, `adjust` and `pause` share.
//!
//! You approve what you saw: the gate is read first, and its digest is sent with the decision. If
//! somebody amends the gate in between, the decision is refused.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::{Digest, GateStatus, gate::Choice},
    wire::{Gate, Verdict},
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

/// The gate, and whether to ask first.
#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    /// The gate, or any unique beginning or end of its id; optional if only one waits
    pub(crate) id: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// A decision that has not been sent yet.
#[derive(Debug)]
pub(crate) struct DecisionDraft {
    pub(crate) choice: Choice,
    pub(crate) verdict: Verdict,
    pub(crate) ask: bool,
}

pub(crate) async fn run(
    ctx: &CliContext,
    connection: &mut Connection,
    id: Option<&str>,
    deciding: DecisionDraft,
) -> Result<Exit> {
    let read = async |client: &Client| Ok(client.gate(&find::any::<Gate>(client, id).await?).await?);
    let gate = connection.ask(ctx, ActingAs::You, read).await?;
    let DecisionDraft { choice, mut verdict, ask } = deciding;
    verdict.digest = Some(digest_of_shown(&gate)?);
    if gate.status == GateStatus::Pending {
        let shown = format!("{}\n", views::gate::request(&gate, clock::now(), views::gate::lines_max(gate.risk)));
        if !connection.confirm(ctx, ActingAs::You, &shown, &format!("{} this?", capital(choice)), ask).await? {
            ctx.screen.say("Nothing was decided.")?;
            return Ok(Exit::Waiting);
        }
    }
    let key = idempotency::new_key();
    let decide = async |client: &Client| Ok(client.decide(&gate.id, choice, &verdict, Some(&key)).await?);
    let gate = connection.ask(ctx, ActingAs::You, decide).await?;
    report(ctx, &gate, choice)?;
    Ok(Exit::Done)
}

/// The digest of what a person was shown, which goes with their decision.
pub(crate) fn digest_of_shown(gate: &Gate) -> Result<Digest> {
    if gate.shown_digest().is_some_and(|shown| shown != gate.digest) {
        bail!(
            "what was shown of gate {} is not what its digest names, so nothing was decided; something between you and the server \
             changes its answers: look at the address in FOLKMOOT_URL, or in server.json of the data folder",
            gate.id
        );
    }
    Ok(gate.digest)
}

fn report(ctx: &CliContext, gate: &Gate, choice: Choice) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(gate);
    }
    let title = one_line(&gate.title);
    let said = match &gate.decision {
        Some(decision) => {
            let word = decision.decision.word().replace('_', " ");
            format!("{} {title}", paint(style::of_status(gate.status), word))
        }
        None => {
            let tally = gate.tallies.iter().find(|tally| tally.choice == choice);
            let so_far = tally.map(|tally| format!(", {} of {}", tally.counted, tally.needed)).unwrap_or_default();
            format!("{} {title}: your {choice} counts{so_far}", paint(style::of_status(gate.status), "pending"))
        }
    };
    Ok(ctx.screen.say(format!("{said} {}", paint(style::FAINT, &gate.id)))?)
}

fn capital(choice: Choice) -> String {
    let word = choice.word();
    format!("{}{}", word[..1].to_uppercase(), &word[1..])
}
