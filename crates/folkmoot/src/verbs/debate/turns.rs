//! `folkmoot debate turns`: what the agents said.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::Name,
    debate::agent::DebatePhase,
    wire::{DebateTurn, DebateTurnList, DebateTurnQuery},
};

use super::DebateArgs;
use crate::{
    cli::{ActingAs, word},
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::{one_line, printable},
        style::{self, paint},
        wrap::behind_bar,
    },
};

/// Show what the agents of a debate said
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: DebateArgs,
    /// Only this phase
    #[arg(long, value_name = "PHASE", value_parser = word::<DebatePhase>(DebatePhase::WORDS))]
    phase: Option<DebatePhase>,
    /// Only this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<Name>,
    /// Only this round
    #[arg(long, value_name = "N")]
    round: Option<u32>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let mut query = DebateTurnQuery {
        phase: args.phase,
        agent: args.agent,
        round: args.round,
        limit: Some(200),
        ..DebateTurnQuery::default()
    };
    let mut all = DebateTurnList::default();
    loop {
        let read = async |client: &Client| Ok(client.debate_turns(&id, &query).await?);
        let page = connection.ask(ctx, ActingAs::You, read).await?;
        all.turns.extend(page.turns);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => break,
        }
    }
    if ctx.screen.json {
        ctx.screen.json(&all)?;
    } else if all.turns.is_empty() {
        ctx.screen.note("Nobody has said anything like that.");
    } else {
        let turns: Vec<String> = all.turns.iter().map(turn).collect();
        ctx.screen.say(turns.join("\n\n"))?;
    }
    Ok(Exit::Done)
}

fn turn(turn: &DebateTurn) -> String {
    let state = turn.metadata.as_ref().and_then(|metadata| metadata["state"].as_str()).unwrap_or("answered");
    let why = turn.metadata.as_ref().and_then(|metadata| metadata["why"].as_str()).unwrap_or_default();
    let state = match state {
        "answered" => String::new(),
        state => format!(" · {}", paint(style::BAD, one_line(&format!("{state}: {why}")))),
    };
    let model = if turn.model.is_empty() { String::new() } else { format!("/{}", one_line(&turn.model)) };
    let about = format!(
        "round {} {} · {} · {}{model} · {} ms",
        turn.round,
        turn.phase,
        turn.agent_role,
        one_line(&turn.provider),
        turn.response_time_ms
    );
    let head = format!("{} {}{state}", paint(style::STRONG, &turn.agent_id), paint(style::FAINT, about));
    match turn.content.as_deref().map(str::trim) {
        Some("") => head,
        Some(content) => format!("{head}\n{}", behind_bar(printable(content).lines())),
        None => format!("{head}\n{}", paint(style::FAINT, "  What was said has been erased.")),
    }
}
