//! `folkmoot status`: what is pending, who is halted, which runs stopped, and the latest decisions.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{GateStatus, run::RunStatus},
    wire::{Gate, GateList, GateListParams, HaltStatus, Question, Run},
};
use serde::Serialize;

use crate::{
    cli::ActingAs,
    connection::{
        Connection,
        find::{self, FindById},
    },
    context::CliContext,
    exit::Exit,
    terminal::style::{self, paint},
    verbs::{gate, questions, runs},
    views,
};

/// How many of each kind are shown, so that one busy agent does not hide everything else.
const SHOWN: usize = 25;
/// How many recent decisions are shown.
const RECENT: usize = 5;

/// Show what waits for people, the time left, and who is halted
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what waits for a person, and who is halted
    #[arg(long)]
    waiting: bool,
}

/// Everything that waits for people.
#[derive(Debug, Serialize)]
struct PendingWork {
    gates: Vec<Gate>,
    questions: Vec<Question>,
    halts: HaltStatus,
    /// Runs that need a person.
    stopped: Vec<Run>,
    /// Runs that wait for a model provider.
    away: Vec<Run>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        Ok(PendingWork {
            gates: Gate::waiting(client, !ctx.screen.json).await?,
            questions: Question::waiting(client, !ctx.screen.json).await?,
            halts: client.halts().await?,
            stopped: find::runs(client, RunStatus::Stopped).await?,
            away: find::runs(client, RunStatus::Parked)
                .await?
                .into_iter()
                .filter(|run| !run.outages.is_empty())
                .collect(),
        })
    };
    let waiting = connection.ask(ctx, ActingAs::You, read).await?;
    if ctx.screen.json {
        ctx.screen.json(&waiting)?;
        return Ok(Exit::Done);
    }
    let held = waiting.halts.held_by.all();
    let runs = waiting.stopped.len() + waiting.away.len();
    let nothing = waiting.gates.is_empty() && waiting.questions.is_empty() && runs == 0;
    if args.waiting && nothing && held.is_empty() {
        ctx.screen.note("Nothing that you can see waits for a person, and nobody is halted.");
        return Ok(Exit::Done);
    }
    let fact = |name: &str, value: &str| format!("{} {value}", paint(style::FAINT, format!("{name:<7}")));
    if !args.waiting {
        let server = match connection.is_hosted() {
            true => "none runs; each command looks after the data itself".to_owned(),
            false => connection.url().to_owned(),
        };
        ctx.screen.say(fact("server", &server))?;
        if ctx.url.is_none() {
            ctx.screen.say(fact("data", &ctx.data.path().display().to_string()))?;
        }
    }
    let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let (gates, questions) = (count(waiting.gates.len(), "gate"), count(waiting.questions.len(), "question"));
    ctx.screen.say(fact("waiting", &format!("{gates}, {questions}")))?;
    ctx.screen.say(fact("halted", &views::hold::halted(&waiting.halts)))?;
    if !waiting.stopped.is_empty() {
        let told = format!(
            "{}; `folkmoot show` says why, `folkmoot resume` continues it",
            count(waiting.stopped.len(), "run")
        );
        ctx.screen.say(fact("stopped", &told))?;
    }
    if !waiting.away.is_empty() {
        let told = format!("{} on a provider; `folkmoot resume` tries now", count(waiting.away.len(), "run"));
        ctx.screen.say(fact("outage", &told))?;
    }
    if !held.is_empty() {
        ctx.screen.say("")?;
        views::hold::print(ctx, &held[..held.len().min(SHOWN)])?;
        more(ctx, held.len(), "folkmoot status --json");
    }
    let PendingWork { gates, questions, mut stopped, away, .. } = waiting;
    stopped.extend(away);
    if !stopped.is_empty() {
        ctx.screen.say("")?;
        runs::print(ctx, &stopped)?;
    }
    if !gates.is_empty() {
        ctx.screen.say("")?;
        let count = gates.len();
        let gates = gates.into_iter().take(SHOWN).collect();
        gate::list::print(ctx, &GateList { gates, next: None }, "")?;
        more(ctx, count, "folkmoot gate list");
    }
    if !questions.is_empty() {
        ctx.screen.say("")?;
        questions::print(ctx, &questions[..questions.len().min(SHOWN)])?;
        more(ctx, questions.len(), "folkmoot questions");
    }
    if args.waiting { Ok(Exit::Done) } else { decided_last(ctx, connection).await }
}

/// Says how many are not shown, and which verb shows them.
fn more(ctx: &CliContext, count: usize, by: &str) {
    if count > SHOWN {
        ctx.screen.note(format!("and {} more: `{by}`", count - SHOWN));
    }
}

async fn decided_last(ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let query = GateListParams { limit: Some(50), ..GateListParams::default() };
    let mut recent =
        connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.gates(&query).await?)).await?;
    recent.gates.retain(|gate| gate.status != GateStatus::Pending);
    recent.gates.truncate(RECENT);
    if !recent.gates.is_empty() {
        ctx.screen.say(format!("\n{}", paint(style::FAINT, "Decided last")))?;
        gate::list::print(ctx, &recent, "")?;
    }
    Ok(Exit::Done)
}
