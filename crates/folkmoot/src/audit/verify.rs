//! `folkmoot audit verify`: check the log, where it is or as it was exported.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use folkmoot_api::{
    Client,
    core::{
        Event, Head,
        audit::{Problem, Walk},
    },
    wire::{AuditEntry, Verification},
};

use crate::{
    cli::As,
    connection::Connection,
    context::Context,
    exit::Exit,
    screen::one_line,
    style::{self, paint},
};

/// How many problems are told.
const PROBLEMS_MAX: usize = 100;

/// Check that nobody changed, removed or reordered what happened
#[derive(Debug, clap::Args)]
#[command(after_help = "Exits with 1 if something is wrong. Keep the head that it prints: a log that was cut off \
                        still agrees with itself, but not with that.")]
pub(crate) struct Args {
    /// Check an export, without a server
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

pub(super) async fn run(ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let found = connection.ask(ctx, As::You, async |client: &Client| Ok(client.verify().await?)).await?;
    report(ctx, &found, None)
}

/// Checks a file alone.
pub(crate) fn offline(args: Args, ctx: &Context) -> Result<Exit> {
    let path = args.file.context("say which file")?;
    let (verification, after) = check(&path)?;
    report(ctx, &verification, Some(after))
}

/// What a file of exported events says of itself, and after which position it begins.
fn check(path: &Path) -> Result<(Verification, u64)> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut walk: Option<Walk> = None;
    let (mut problems, mut events, mut after) = (Vec::new(), 0, 0);
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        if line.is_empty() {
            continue;
        }
        let place = format!("line {}", number + 1);
        let event = match parse(&line) {
            Ok(event) => event,
            Err(problem) => {
                problems.push(Problem::new(place, problem));
                continue;
            }
        };
        events += 1;
        // A part of the log begins with what its first event says came before.
        let walk = walk.get_or_insert_with(|| {
            after = event.position.saturating_sub(1);
            let hash = if after == 0 { Head::START.hash } else { event.prev_hash };
            Walk { head: Head { position: after, hash } }
        });
        problems.extend(walk.step(&event));
    }
    let head = walk.unwrap_or_default().head;
    let ok = problems.is_empty();
    problems.truncate(PROBLEMS_MAX);
    Ok((Verification { ok, events, rows: 0, head_hash: head.hash.hex(), problems }, after))
}

fn parse(line: &str) -> Result<Event, String> {
    let entry: AuditEntry = serde_json::from_str(line).map_err(|error| format!("is no event: {error}"))?;
    entry.event().ok_or_else(|| "has hashes that are none".to_owned())
}

fn report(ctx: &Context, found: &Verification, export_after: Option<u64>) -> Result<Exit> {
    let exit = if found.ok { Exit::Done } else { Exit::Problems };
    if ctx.screen.json {
        ctx.screen.json(found)?;
        return Ok(exit);
    }
    let events = format!("{} events", found.events);
    let checked = match export_after {
        None => format!("{events} and {} rows agree", found.rows),
        Some(0) => format!("{events} agree"),
        Some(after) => format!("{events} agree; what came before event {} is not in this file", after + 1),
    };
    if found.ok {
        ctx.screen.say(format!("{} {checked}", paint(style::GOOD, "ok")))?;
        ctx.screen.say(format!("{} {}", paint(style::FAINT, "head"), found.head_hash))?;
        return Ok(exit);
    }
    for Problem { at, problem } in &found.problems {
        ctx.screen.say(format!("{} {}: {}", paint(style::BAD, "problem"), one_line(at), one_line(problem)))?;
    }
    ctx.screen.say(format!("{} problems in {events}", found.problems.len()))?;
    Ok(exit)
}
