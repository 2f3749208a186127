//! `folkmoot debate audit`: the record of a debate.

use std::collections::BTreeMap;

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{Name, RunId},
    debate::Provenance,
    wire::{DebateTrail, QuestionListParams, TrailEntry, TrailQuery, TrailSummary},
};
use serde_json::Value;

use super::DebateArgs;
use crate::{
    cli::{ActingAs, word},
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
        table::TableRow,
        wrap::fitting,
    },
    views,
};

/// Show the record of a debate: prompts, answers, tool calls, votes, decisions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --json every prompt and every answer is there in full.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: DebateArgs,
    /// Only this type
    #[arg(long = "type", value_name = "TYPE", value_parser = word::<Provenance>(Provenance::WORDS))]
    kind: Option<Provenance>,
    /// Only this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<Name>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let mut query = TrailQuery { kind: args.kind, agent: args.agent, limit: Some(500), ..TrailQuery::default() };
    let mut all = DebateTrail::default();
    loop {
        let read = async |client: &Client| Ok(client.debate_trail(&id, &query).await?);
        let page = connection.ask(ctx, ActingAs::You, read).await?;
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
    let asked = if all.entries.iter().any(|entry| question_of(entry).is_some()) {
        let read = async |client: &Client| questions(client, &id).await;
        connection.ask(ctx, ActingAs::You, read).await?
    } else {
        BTreeMap::new()
    };
    let rows = all.entries.iter().map(|entry| row(entry, &asked)).collect();
    ctx.screen.table(&["POSITION", "TIME", "TYPE", "AGENT", "WHAT"], rows)?;
    if let Some(summary) = &all.summary {
        let total = total(summary);
        let lines: Vec<String> = total.lines().map(|line| fitting(&paint(style::FAINT, one_line(line)))).collect();
        ctx.screen.say(format!("\n{}", lines.join("\n")))?;
    }
    Ok(Exit::Done)
}

/// The question of an entry that asked a person.
fn question_of(entry: &TrailEntry) -> Option<&str> {
    entry.data.get("question")?.as_str().filter(|_| entry.step.is_none())
}

/// The texts of a debate's questions, by id. The record has only their digests.
async fn questions(client: &Client, id: &RunId) -> Result<BTreeMap<String, String>> {
    let mut query =
        QuestionListParams { run: Some(id.clone()), limit: Some(find::PAGE), ..QuestionListParams::default() };
    let mut texts = BTreeMap::new();
    loop {
        let page = client.questions(&query).await?;
        let text = |text: Option<String>| text.unwrap_or_else(|| "(erased)".to_owned());
        texts.extend(page.questions.into_iter().map(|question| (question.id.to_string(), text(question.text))));
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(texts),
        }
    }
}

fn row(entry: &TrailEntry, asked: &BTreeMap<String, String>) -> TableRow {
    let cells = [
        entry.position.to_string(),
        span::time_of_day(entry.at),
        entry.kind.word().to_owned(),
        entry.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        one_line(&what(entry, asked)),
    ];
    let painted = (entry.kind == Provenance::ErrorOccurred).then_some((entry.kind.word(), style::BAD));
    TableRow { cells: cells.into(), painted }
}

/// An entry in one line; the JSON has all of it.
fn what(entry: &TrailEntry, asked: &BTreeMap<String, String>) -> String {
    let data = &entry.data;
    let text = |pointer: &str| data.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default();
    let number = |pointer: &str| data.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    match entry.kind {
        Provenance::PromptSent if question_of(entry).is_some() => {
            let text = question_of(entry).and_then(|question| asked.get(question));
            format!("asks: {}", text.map_or("a question", String::as_str))
        }
        Provenance::ResponseReceived if question_of(entry).is_some() => closed(&entry.data),
        Provenance::PromptSent => format!("for {}, {} characters", text("/cue/part"), prompt_chars(entry)),
        Provenance::ResponseReceived => format!("{}: {}", text("/model"), text("/text")),
        Provenance::ToolCalled => match text("/tool") {
            "tests" => format!("tests: {} of {} passed", number("/passed"), number("/of")),
            tool => tool.to_owned(),
        },
        Provenance::VoteCast => match text("/refused") {
            "" => views::debate::names(data["ranking"].as_array().map(Vec::as_slice).unwrap_or_default()),
            why => format!("does not count: {why}"),
        },
        Provenance::GateDecision => {
            let decided = format!("{} by {}", text("/decision").replace('_', " "), text("/reviewer"));
            let said = [decided.as_str(), text("/reason"), text("/feedback")];
            said.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(": ")
        }
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
        Provenance::ConfigChanged => match &data["value"] {
            Value::Array(lessons) => lessons_of(lessons),
            _ => {
                let said = [text("/value"), text("/reason")].into_iter().find(|said| !said.is_empty());
                format!("{}: {}", text("/field"), said.unwrap_or_default())
            }
        },
    }
}

/// How a question ended.
fn closed(data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let answer = data.get("answer").filter(|answer| !answer.is_null()).map(views::question::bare);
    let head = match text("status") {
        "expired" if answer.is_some() => "expired, its default answers".to_owned(),
        "expired" => "expired".to_owned(),
        status => format!("{status} by {}", text("by")),
    };
    let said = [Some(head), answer, Some(text("reason").to_owned())];
    said.into_iter().flatten().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(": ")
}

/// How many lessons were shown, and whose.
fn lessons_of(lessons: &[Value]) -> String {
    let mut debates: Vec<&str> = lessons.iter().filter_map(|lesson| lesson["debate"].as_str()).collect();
    debates.sort_unstable();
    debates.dedup();
    let of = if debates.is_empty() { String::new() } else { format!(" of {}", debates.join(", ")) };
    format!("{}{of}", views::debate::counted(lessons.len(), "lesson"))
}

fn prompt_chars(entry: &TrailEntry) -> usize {
    let messages = entry.data["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter_map(|message| message["text"].as_str()).map(|text| text.chars().count()).sum()
}

fn total(summary: &TrailSummary) -> String {
    let types: Vec<String> = summary.types.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let models: Vec<String> = summary.models.iter().map(|(model, count)| format!("{model} ({count})")).collect();
    format!("{}\nmodels: {}\ncost: {}", types.join(", "), models.join(", "), views::debate::cost(&summary.cost))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{closed, lessons_of};

    #[test]
    fn what_became_of_a_question_is_said_in_words() {
        let said = |status: &str, answer, reason: &str| {
            closed(&json!({ "status": status, "by": "you", "answer": answer, "reason": reason }))
        };
        assert_eq!(said("answered", json!("in Python"), ""), "answered by you: in Python");
        assert_eq!(said("denied", json!(null), "nobody knows"), "denied by you: nobody knows");
        assert_eq!(said("skipped", json!(null), ""), "skipped by you");
        assert_eq!(said("expired", json!(null), ""), "expired");
        assert_eq!(said("expired", json!(3), ""), "expired, its default answers: 3");
    }

    #[test]
    fn lessons_are_counted_and_their_debates_named_once() {
        let lesson = |debate: &str| json!({ "lesson": "a digest", "debate": debate });
        assert_eq!(lessons_of(&[lesson("d1"), lesson("d2"), lesson("d1")]), "3 lessons of d1, d2");
        assert_eq!(lessons_of(&[]), "0 lessons");
    }
}
