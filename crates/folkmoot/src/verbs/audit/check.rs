//! `folkmoot audit check`: check a receipt without a server or data folder.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use folkmoot_api::{
    core::{
        Event,
        audit::AuditProblem,
        checkpoint::Checkpoint,
        receipt::{ContentText, Receipt, ReceiptContent},
    },
    wire::{self, AuditEntry},
};
use folkmoot_server::signed;

use super::statement;
use crate::{
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::{one_line, printable},
        style::{self, paint},
        table::facts,
        wrap::behind_bar,
    },
};

/// Check a receipt: its signature, every hash and digest, and that the events lead to this decision
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Needs neither a server nor its data. Without --key the receipt must be signed with the key of this data \
                        folder. Exits with 1 if something is wrong, and with 11 if it is valid but signed with an \
                        unknown key, so that anybody may have made it."
)]
pub(crate) struct Args {
    /// The receipt
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The server's key, as `folkmoot audit key` printed it
    #[arg(long, value_name = "PEM")]
    key: Option<PathBuf>,
}

pub(crate) fn offline(args: &Args, ctx: &CliContext) -> Result<Exit> {
    let shown = args.file.display();
    let statement = statement::unambiguous(&statement::read(&args.file)?)
        .map_err(|problem| anyhow!("{shown} is no receipt: {problem}"))?;
    let expected = args.key.as_deref().map(statement::read_key).transpose()?;
    let own = if expected.is_none() { ctx.data.public_key() } else { None };
    let signature = signed::check(&statement, expected.as_ref());
    let receipt: wire::Receipt =
        statement::parse(&statement).with_context(|| format!("{shown} is no receipt of a gate"))?;
    let mut problems: Vec<AuditProblem> =
        signature.as_ref().err().map(|bad| AuditProblem::new("signature", bad.to_string())).into_iter().collect();
    let inner = statement::SavedStatement::new("checkpoint".to_owned(), statement).stated(expected.as_ref());
    if let Err(bad) = &inner {
        problems.push(AuditProblem::new("checkpoint", bad.as_str()));
    }
    match (events(receipt.events), receipt.checkpoint.statement()) {
        (Some(events), Some(checkpoint)) => problems.extend(found(&receipt.receipt, &events, &checkpoint)),
        _ => problems.push(AuditProblem::new("events", "some hashes are none")),
    }
    let known = match (&expected, &signature) {
        (Some(_), _) => KeyOrigin::Given,
        (None, Ok(key)) if own.is_some_and(|own| own.id() == key.id()) => KeyOrigin::Own,
        (None, _) => KeyOrigin::Nowhere,
    };
    let key = signature.map(|key| key.id().to_string()).unwrap_or_default();
    report(ctx, &receipt.receipt, &problems, &key, known)
}

/// How we know whose key signed the receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOrigin {
    /// The user gave this key.
    Given,
    /// It is the key of this data folder.
    Own,
    /// Only the receipt itself names it.
    Nowhere,
}

fn events(entries: Vec<AuditEntry>) -> Option<Vec<Event>> {
    entries.into_iter().map(AuditEntry::event).collect()
}

fn found(receipt: &Receipt, events: &[Event], checkpoint: &Checkpoint) -> Vec<AuditProblem> {
    receipt.check(events, checkpoint)
}

fn report(ctx: &CliContext, receipt: &Receipt, problems: &[AuditProblem], key: &str, known: KeyOrigin) -> Result<Exit> {
    let exit = match known {
        _ if !problems.is_empty() => Exit::Problems,
        KeyOrigin::Given | KeyOrigin::Own => Exit::Done,
        KeyOrigin::Nowhere => Exit::UnknownKey,
    };
    if ctx.screen.json {
        ctx.screen.json(&serde_json::json!({
            "ok": exit == Exit::Done, "gate": receipt.gate, "status": receipt.status, "decision": receipt.decision,
            "key": key, "key_was_given": known == KeyOrigin::Given, "key_is_known": known != KeyOrigin::Nowhere, "problems": problems,
        }))?;
        return Ok(exit);
    }
    for AuditProblem { at, problem } in problems {
        ctx.screen.say(format!("{} {}: {}", paint(style::BAD, "problem"), one_line(at), one_line(problem)))?;
    }
    if !problems.is_empty() {
        ctx.screen.say(format!("This receipt proves nothing: {} problems.", problems.len()))?;
        return Ok(exit);
    }
    let verdict = if exit == Exit::Done { paint(style::GOOD, "ok") } else { paint(style::WARN, "unknown key") };
    ctx.screen.say(format!("{verdict} {}", account(receipt)))?;
    if let Some(shown) = receipt.standing() {
        ctx.screen.say(content(shown))?;
    }
    let presence = receipt.decision.as_ref().and_then(|decision| decision.presence);
    let shown_by = presence.map(|presence| presence.to_string());
    ctx.screen.say(facts([("shown by", shown_by), ("signed by", Some(key.to_owned()))]))?;
    match known {
        KeyOrigin::Given => {}
        KeyOrigin::Own => ctx.screen.note("It is signed with the key of this data folder."),
        KeyOrigin::Nowhere => ctx.screen.note(
            "The receipt agrees with itself, and with the key that came in it. Whose key that is was not shown: anybody can make \
             such a receipt. Get the server's key from somebody you trust (`folkmoot audit key` prints it there) and give it \
             with --key.",
        ),
    }
    Ok(exit)
}

/// The decision in one sentence.
fn account(receipt: &Receipt) -> String {
    let gate = &receipt.gate;
    let Some(decision) = &receipt.decision else {
        return format!("Gate {gate} shows the content below and was undecided at {}.", receipt.at);
    };
    let is_whole = receipt.standing().is_some_and(ReceiptContent::is_whole);
    let what =
        if is_whole { "exactly this content" } else { "the content with this digest, of which something was erased" };
    let on = match receipt.shown.len() {
        0 | 1 => format!("on {what}"),
        all => format!("on {what}, revision {} of {all}", decision.revision),
    };
    let why = if decision.reason.is_empty() { String::new() } else { format!(": {:?}", one_line(&decision.reason)) };
    let voices: Vec<String> = decision.votes.iter().map(|vote| format!("{} {}", vote.reviewer, vote.choice)).collect();
    let voices = if voices.is_empty() { String::new() } else { format!(" ({})", voices.join(", ")) };
    let (word, who, at) = (decision.decision, &decision.reviewer, decision.decided_at);
    format!("Gate {gate} was decided: {word} by {who} at {at}, {on}{why}{voices}")
}

fn content(shown: &ReceiptContent) -> String {
    let text = |content: &ContentText| match &content.text {
        Some(text) => behind_bar(printable(text).lines()),
        None if content.hex.is_some() => format!("  {}", paint(style::FAINT, "Its content is no text.")),
        None => format!("  {}", paint(style::FAINT, "Its content was erased.")),
    };
    let head = facts([
        ("title", Some(one_line(&shown.title))),
        ("digest", Some(shown.digest.to_string())),
        ("risk", Some(shown.risk.to_string())),
    ]);
    let artifacts = shown.artifacts.iter().map(|artifact| {
        let name = paint(style::STRONG, one_line(&artifact.name));
        format!("  {name} {}\n{}", artifact.content.digest, text(&artifact.content))
    });
    std::iter::once(head).chain([text(&shown.summary)]).chain(artifacts).collect::<Vec<_>>().join("\n")
}
