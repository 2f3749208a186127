//! `folkmoot debate audit`: the trail of a debate.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{Name, debate::Provenance},
    wire::{DebateTrail, TrailEntry, TrailQuery, TrailSummary},
};

use super::{Which, view};
use crate::{
    cli::{As, word},
    connection::Connection,
    context::Context,
    exit::Exit,
    screen::{Row, one_line},
    span, style,
    style::paint,
};

/// Show the trail of a debate: prompts, answers, tool calls, votes, decisions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --json every prompt and every answer is there in full.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Only of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = word::<Provenance>(Provenance::WORDS))]
    kind: Option<Provenance>,
    /// Only of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<Name>,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let mut query = TrailQuery { kind: args.kind, agent: args.agent, limit: Some(500), ..TrailQuery::default() };
    let mut all = DebateTrail::default();
    loop {
        let read = async |client: &Client| Ok(client.debate_trail(&id, &query).await?);
        let page = connection.ask(ctx, As::You, read).await?;
        all.entries.extend(page.entries);
        all.summary = all.summary.or(page.summary);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => break,
        }
    }
    if ctx.screen.json {
        ctx.screen.json(&all)?;
        return Ok(Exit::Done);
    }
    ctx.screen.table(&["POSITION", "TIME", "TYPE", "AGENT", "WHAT"], all.entries.iter().map(row).collect())?;
    if let Some(summary) = &all.summary {
        ctx.screen.say(format!("\n{}", paint(style::FAINT, total(summary))))?;
    }
    Ok(Exit::Done)
}

fn row(entry: &TrailEntry) -> Row {
    let cells = [
        entry.position.to_string(),
        span::time_of_day(entry.at),
        entry.kind.word().to_owned(),
        entry.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        what(entry),
    ];
    let painted = (entry.kind == Provenance::ErrorOccurred).then_some((entry.kind.word(), style::BAD));
    Row { cells: cells.into(), painted }
}

/// The gist of an entry; all of it is in the JSON.
fn what(entry: &TrailEntry) -> String {
    let data = &entry.data;
    let text = |pointer: &str| data.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default();
    let number = |pointer: &str| data.pointer(pointer).and_then(serde_json::Value::as_u64).unwrap_or_default();
    let told = match entry.kind {
        Provenance::PromptSent => format!("for {}, {} characters", text("/cue/part"), prompt_chars(entry)),
        Provenance::ResponseReceived => format!("{}: {}", text("/model"), text("/text")),
        Provenance::ToolCalled => match text("/tool") {
            "tests" => format!("tests: {} of {} passed", number("/passed"), number("/of")),
            tool => tool.to_owned(),
        },
        Provenance::VoteCast => match text("/refused") {
            "" => view::names(data["ranking"].as_array().map(Vec::as_slice).unwrap_or_default()),
            why => format!("does not count: {why}"),
        },
        Provenance::GateDecision => format!("{} by {}: {}", text("/decision"), text("/reviewer"), text("/reason")),
        Provenance::ReflectionGenerated => text("/root_cause").to_owned(),
        Provenance::PhaseStarted => format!("{} in round {}", text("/phase"), number("/round")),
        Provenance::PhaseCompleted => format!("{}: {}", text("/phase"), text("/note")),
        Provenance::RoundStarted | Provenance::RoundCompleted => format!("round {}", number("/round")),
        Provenance::DebateStarted => text("/topic").to_owned(),
        Provenance::DebateCompleted => match text("/verdict/winner") {
            "" => format!("{} {}", text("/status"), text("/reason")),
            winner => format!("{winner} wins"),
        },
        Provenance::ErrorOccurred => {
            let said = [text("/why"), text("/message"), text("/failure/detail")];
            said.into_iter().find(|said| !said.is_empty()).unwrap_or_default().to_owned()
        }
        Provenance::ConfigChanged => format!("{}: {}", text("/field"), text("/value")),
    };
    one_line(&told).chars().take(200).collect()
}

fn prompt_chars(entry: &TrailEntry) -> usize {
    let messages = entry.data["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter_map(|message| message["text"].as_str()).map(|text| text.chars().count()).sum()
}

fn total(summary: &TrailSummary) -> String {
    let types: Vec<String> = summary.types.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let models: Vec<String> = summary.models.iter().map(|(model, count)| format!("{model} ({count})")).collect();
    format!("{}\nmodels: {}\ncost: {}", types.join(", "), models.join(", "), view::cost(&summary.cost))
}
