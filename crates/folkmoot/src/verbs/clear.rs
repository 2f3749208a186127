//! `folkmoot clear`: may this agent work? Scripts ask before each piece of work.

use std::time::Duration;

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::{Name, SessionId, clearance::ReleaseReason},
    wire::{AnswerGiven, BlockedBy, Clearance, ClearanceFor, ClearanceWaited},
};

use crate::{
    cli::AsAgent,
    connection::{Connection, wait},
    context::CliContext,
    exit::Exit,
    signal,
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
    },
    views,
};

/// Ask whether an agent may work: exit code 0 if so, 6 if it is halted
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints `clear`, or what halts the agent, the oldest first. With --wait it ends when the agent may
work (0, with the answers that cleared it), when its question was denied (3), or at the timeout (5).
A denial halts its asker, and is printed again, until the asker has read it (`question show`).
Any exit code except 0 means: do not work.

Example:
  folkmoot clear builder --session nightly --wait && make deploy")]
pub(crate) struct Args {
    /// The agent (default: the token's own name)
    agent: Option<Name>,
    /// The session it works in
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Wait until it may work
    #[arg(long, short)]
    wait: bool,
    /// Wait at most this long (90s, 30m, 2h)
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "wait")]
    timeout: Option<Duration>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    must_know(ctx)?;
    Connection::with(ctx, async |connection| connected(args, ctx, connection).await).await
}

async fn connected(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let agent = ClearanceFor { agent_id: args.agent, session_id: args.session, timeout_ms: None };
    let check = async |client: &Client| Ok(client.clearance(&agent).await?);
    let clearance = connection.ask(ctx, args.acting.who, check).await?;
    if !args.wait {
        return tell(ctx, &clearance);
    }
    if !clearance.can_proceed {
        ctx.screen.note(format!("Halted by {}; waiting.", names(&clearance)));
    }
    let interrupted = signal::shutdown()?;
    let wait = async |client: &Client, round| client.wait_clearance(&agent, round).await;
    let ended = wait::until(ctx, connection, args.acting.who, args.timeout, wait, |waited| {
        waited.reason != ReleaseReason::Timeout
    });
    let Some(waited) = interrupted.run_until_cancelled(ended).await else { return Ok(Exit::Halted) };
    tell_waited(ctx, &waited?)
}

/// Refuses to answer from a folder that was never used. It halts nobody, so a typing error would
/// clear every agent.
fn must_know(ctx: &CliContext) -> Result<()> {
    if ctx.url.is_some() || ctx.data.tokens()?.is_some() {
        return Ok(());
    }
    bail!(
        "there is nothing in {}, so nobody can say whether an agent may work; start `folkmoot serve`, or say with --data \
         or --url where it is",
        ctx.data.path().display()
    )
}

fn tell(ctx: &CliContext, clearance: &Clearance) -> Result<Exit> {
    let exit = if clearance.can_proceed { Exit::Done } else { Exit::Halted };
    if ctx.screen.json {
        ctx.screen.json(clearance)?;
    } else if clearance.can_proceed {
        ctx.screen.say(paint(style::GOOD, "clear"))?;
    } else {
        blocked(ctx, &clearance.blocked_by)?;
        if clearance.out_of_touch {
            ctx.screen.note("The server has lost touch with its database, so it clears nobody.");
        }
    }
    Ok(exit)
}

fn tell_waited(ctx: &CliContext, waited: &ClearanceWaited) -> Result<Exit> {
    let exit = match (waited.cleared, waited.reason) {
        (true, _) => Exit::Done,
        (false, ReleaseReason::Timeout) => Exit::TimedOut,
        (false, _) => Exit::NotApproved,
    };
    if ctx.screen.json {
        ctx.screen.json(waited)?;
        return Ok(exit);
    }
    if waited.cleared {
        ctx.screen.say(paint(style::GOOD, "clear"))?;
    }
    for answer in &waited.answers {
        ctx.screen.say(given(answer))?;
    }
    blocked(ctx, &waited.blocked_by)?;
    if let (ReleaseReason::Denied, [denial, ..]) = (waited.reason, waited.answers.as_slice()) {
        let show = format!("{} question show {} --as agent", ctx.command(), denial.question_id);
        ctx.screen.note(format!("It halts its asker until that has read it: {show}"));
    }
    Ok(exit)
}

/// How one question ended.
fn given(given: &AnswerGiven) -> String {
    let answer = given.answer.as_ref().filter(|_| given.reason != ReleaseReason::Denied);
    let answer = answer.map(|answer| format!(" {}", one_line(&views::question::bare(answer)))).unwrap_or_default();
    let comment = one_line(&given.comment);
    let comment = if comment.is_empty() { comment } else { format!(": {comment}") };
    format!("{} {}{answer}{comment}", given.question_id, given.reason)
}

fn blocked(ctx: &CliContext, holds: &[BlockedBy]) -> Result<()> {
    if holds.is_empty() {
        return Ok(());
    }
    views::hold::print(ctx, &holds.iter().collect::<Vec<_>>())
}

fn names(clearance: &Clearance) -> String {
    match clearance.blocked_by.as_slice() {
        [] => "a server that has lost touch with its database".to_owned(),
        [only] => name(only),
        [oldest, others @ ..] => format!("{} and {} more", name(oldest), others.len()),
    }
}

fn name(hold: &BlockedBy) -> String {
    let question = hold.question_type.map(|kind| kind.to_string());
    let why = hold.reason.as_deref().map(one_line).or(question).unwrap_or_default();
    format!("{} ({why})", hold.id)
}
