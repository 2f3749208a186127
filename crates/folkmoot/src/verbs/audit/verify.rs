//! `folkmoot audit verify`: verify the log of the server, or an export.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use folkmoot_api::{
    Client,
    core::{
        Digest, Event, Head,
        audit::{AuditProblem, LogWalk},
        chain,
        checkpoint::{Checkpoint, LogSummary},
    },
    wire::{self, AuditEntry, Verification},
};
use folkmoot_server::PublicKey;

use super::statement::{self, SavedStatement};

use crate::{
    cli::ActingAs,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        style::{self, paint},
    },
};

/// The maximum number of problems that are printed.
const PROBLEMS_MAX: usize = 100;

/// Check that nobody changed, removed or reordered what happened
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exits with 1 if something is wrong. A log that was cut off, or rewritten with new hashes, is still \
                        consistent: only a checkpoint that was kept elsewhere reveals it (`folkmoot audit checkpoint`)."
)]
pub(crate) struct Args {
    /// Check an export, without a server
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Also check that the log contains what this checkpoint says; a file may hold several, or be a
    /// receipt
    #[arg(long = "checkpoint", value_name = "FILE")]
    checkpoints: Vec<PathBuf>,
    /// The server's key, as `folkmoot audit key` printed it
    #[arg(long, value_name = "PEM")]
    key: Option<PathBuf>,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let kept = statement::read_checkpoints(ctx, &args.checkpoints)?;
    let given = args.key.as_deref().map(statement::read_key).transpose()?;
    let mut found = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.verify().await?)).await?;
    let key = match given {
        None if !kept.is_empty() => {
            let pem = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.audit_key().await?)).await?;
            Some(PublicKey::from_pem(&pem).context("the server's key is none")?)
        }
        given => given,
    };
    let mut holding = Vec::new();
    for kept in &kept {
        match kept.stated(key.as_ref()) {
            Err(problem) => found.problems.push(AuditProblem::new(&kept.place, problem)),
            Ok((checkpoint, _)) => {
                let seen = async |client: &Client| seen(client, checkpoint.position).await;
                compare(kept, &checkpoint, &connection.ask(ctx, ActingAs::You, seen).await?, &mut found, &mut holding);
            }
        }
    }
    found.ok = found.problems.is_empty();
    if given.is_none() && !kept.is_empty() {
        ctx.screen.note(WEAKER);
    }
    report(ctx, &found, None, &holding)
}

const WEAKER: &str = "The key was the server's own, so whoever could change both log and key could hide it. Keep the key \
                      elsewhere (`folkmoot audit key`) and give it with --key.";

/// What the server's log says about a checkpoint's position. Hashes are computed here, not trusted.
async fn seen(client: &Client, position: u64) -> Result<LogSummary> {
    let first = hash_at(client, 1).await?;
    let there = hash_at(client, position).await?;
    // Nothing follows the last page.
    let is_last = |page: &wire::AuditPage| page.entries.is_empty() && page.next.is_none();
    let beyond = client.audit(position.saturating_sub(1), 1).await?;
    let end = if there.is_some() || !is_last(&beyond) { position } else { end_before(client, position).await? };
    Ok(LogSummary { first, there, end })
}

async fn hash_at(client: &Client, position: u64) -> Result<Option<Digest>> {
    let Some(before) = position.checked_sub(1) else { return Ok(None) };
    let found = client.audit(before, 1).await?.entries.into_iter().next().and_then(AuditEntry::event);
    Ok(found
        .filter(|event| event.position == position)
        .map(|event| chain::hash(position, &event.fact, event.prev_hash)))
}

/// Finds the last position before this one by binary search.
async fn end_before(client: &Client, position: u64) -> Result<u64> {
    let (mut there, mut missing) = (0, position);
    while there + 1 < missing {
        let middle = there + (missing - there) / 2;
        match client.audit(middle - 1, 1).await?.entries.first() {
            Some(entry) => there = entry.position.min(missing - 1),
            None => missing = middle,
        }
    }
    Ok(there)
}

fn compare(
    kept: &SavedStatement,
    checkpoint: &Checkpoint,
    seen: &LogSummary,
    found: &mut Verification,
    holding: &mut Vec<String>,
) {
    match checkpoint.check(seen) {
        Ok(()) => holding.push(format!("event {} is the one of {}", checkpoint.position, checkpoint.at)),
        Err(broken) => found.problems.push(AuditProblem::new(&kept.place, broken.to_string())),
    }
}

/// Verifies an exported file without a server.
pub(crate) fn offline(args: &Args, ctx: &CliContext) -> Result<Exit> {
    let path = args.file.as_deref().context("say which file")?;
    let mut kept = statement::read_checkpoints(ctx, &args.checkpoints)?;
    let given = args.key.as_deref().map(statement::read_key).transpose()?;
    let Export { mut found, after, hashes, checkpoints } = check(path)?;
    kept.extend(checkpoints);
    let mut holding = Vec::new();
    for kept in &kept {
        match kept.stated(given.as_ref()) {
            Err(problem) => found.problems.push(AuditProblem::new(&kept.place, problem)),
            // The file begins later, so this cannot be checked.
            Ok((checkpoint, _)) if checkpoint.position <= after => {
                let problem = format!("saw event {}, which is not in this file", checkpoint.position);
                found.problems.push(AuditProblem::new(&kept.place, problem));
            }
            Ok((checkpoint, _)) => {
                let first = if after == 0 { hashes.get(&1).copied() } else { Some(checkpoint.first) };
                let end = hashes.keys().next_back().copied().unwrap_or(after);
                let seen = LogSummary { first, there: hashes.get(&checkpoint.position).copied(), end };
                compare(kept, &checkpoint, &seen, &mut found, &mut holding);
            }
        }
    }
    found.ok = found.problems.is_empty();
    if given.is_none() && !kept.is_empty() {
        ctx.screen.note(
            "The key came with the checkpoint, so anybody could have signed it. Give the server's with --key PEM.",
        );
    }
    report(ctx, &found, Some(after), &holding)
}

struct Export {
    found: Verification,
    /// The position after which it begins.
    after: u64,
    /// Per position.
    hashes: BTreeMap<u64, Digest>,
    /// The checkpoints among its lines.
    checkpoints: Vec<SavedStatement>,
}

fn check(path: &Path) -> Result<Export> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut hashes, mut checkpoints) = (BTreeMap::new(), Vec::new());
    let mut walk: Option<LogWalk> = None;
    let (mut problems, mut events, mut after) = (Vec::new(), 0, 0);
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        if line.is_empty() {
            continue;
        }
        let place = format!("line {}", number + 1);
        if let Ok(statement) = statement::unambiguous(&line)
            && statement.get("signature").is_some()
        {
            checkpoints.push(SavedStatement::new(place, statement));
            continue;
        }
        let event = match parse(&line) {
            Ok(event) => event,
            Err(problem) => {
                problems.push(AuditProblem::new(place, problem));
                continue;
            }
        };
        events += 1;
        // An export that begins later starts with the previous hash that its first event names.
        let walk = walk.get_or_insert_with(|| {
            after = event.position.saturating_sub(1);
            let hash = if after == 0 { Head::START.hash } else { event.prev_hash };
            LogWalk { head: Head { position: after, hash } }
        });
        problems.extend(walk.step(&event));
        hashes.insert(event.position, event.hash);
    }
    let head = walk.unwrap_or_default().head;
    let ok = problems.is_empty();
    problems.truncate(PROBLEMS_MAX);
    let found = Verification { ok, events, rows: 0, head_hash: head.hash.hex(), problems };
    Ok(Export { found, after, hashes, checkpoints })
}

fn parse(line: &str) -> Result<Event, String> {
    let entry: AuditEntry = serde_json::from_str(line).map_err(|error| format!("is no event: {error}"))?;
    entry.event().ok_or_else(|| "has hashes that are none".to_owned())
}

fn report(ctx: &CliContext, found: &Verification, export_after: Option<u64>, holding: &[String]) -> Result<Exit> {
    let exit = if found.ok { Exit::Done } else { Exit::Problems };
    if ctx.screen.json {
        ctx.screen.json(found)?;
        return Ok(exit);
    }
    let events = format!("{} event{}", found.events, if found.events == 1 { "" } else { "s" });
    let agree = if found.events == 1 { "agrees" } else { "agree" };
    let checked = match export_after {
        None if found.rows == 1 => format!("{events} and 1 row agrees"),
        None => format!("{events} and {} rows agree", found.rows),
        Some(0) => format!("{events} {agree}"),
        Some(after) => format!("{events} {agree}; what came before event {} is not in this file", after + 1),
    };
    if found.ok {
        ctx.screen.say(format!("{} {checked}", paint(style::GOOD, "ok")))?;
        for checkpoint in holding {
            ctx.screen.say(format!("{} {checkpoint}", paint(style::GOOD, "ok")))?;
        }
        ctx.screen.say(format!("{} {}", paint(style::FAINT, "head"), found.head_hash))?;
        return Ok(exit);
    }
    for AuditProblem { at, problem } in &found.problems {
        ctx.screen.say(format!("{} {}: {}", paint(style::BAD, "problem"), one_line(at), one_line(problem)))?;
    }
    ctx.screen.say(format!("{} problems in {events}", found.problems.len()))?;
    Ok(exit)
}
