//! `folkmoot watch`: the feed, live. After a lost connection it continues where it was.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{
    Client, client,
    core::gate::DecisionWord,
    wire::{Event, QuestionListParams},
};
use futures_util::StreamExt;
use serde_json::Value;

use crate::{
    cli::{ActingAs, AsYou},
    clock,
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    signal,
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
        wrap::fitting,
    },
    verbs::debate,
    views,
};

/// How long to wait for one more event if this process hosts the server only briefly.
const VISIT: Duration = Duration::from_millis(100);
/// Up to which age an event counts as new.
const LIVE: Duration = Duration::from_secs(60);

/// Watch what happens, as it happens
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin after this position; 0 is the beginning (default: now)
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let interrupted = signal::shutdown()?;
    if ctx.screen.terminal {
        ctx.screen.note(paint(style::FAINT, format!("Watching {}; Ctrl-C ends it.", connection.url())));
    }
    match interrupted.run_until_cancelled(follow(args, ctx, connection)).await {
        Some(ended) => ended,
        None => Ok(Exit::Done),
    }
}

async fn follow(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let mut position = args.after;
    let mut answered = false;
    loop {
        match events(ctx, connection, args.acting.who, &mut position, &mut answered).await {
            Ok(()) => {}
            Err(error) => match error.downcast_ref::<client::Error>() {
                Some(cause) if (answered || ctx.url.is_none()) && wait::is_passing(cause) => {}
                _ => return Err(error),
            },
        }
        connection.again(ctx).await?;
    }
}

/// Prints events until the connection ends.
async fn events(
    ctx: &CliContext,
    connection: &Connection,
    who: ActingAs,
    position: &mut Option<u64>,
    answered: &mut bool,
) -> Result<()> {
    let client = connection.client(who)?;
    let mut feed = client.events(*position).await?;
    *answered = true;
    loop {
        let event = if connection.is_visiting() {
            tokio::time::timeout(VISIT, feed.next()).await.unwrap_or_default()
        } else {
            feed.next().await
        };
        *position = feed.position();
        let event = match event.transpose() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(error) if error.code() == Some("log_lost") => {
                ctx.screen.note(error.to_string());
                *position = None;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if ctx.screen.json {
            ctx.screen.say(serde_json::to_string(&event)?)?;
        } else {
            let text = text_of(&client, &event).await;
            ctx.screen.say(fitting(&line(&event, text.as_deref())))?;
        }
    }
}

/// The text of a question. The log has only its digest, so the server is asked, unless the event is
/// old. Uses the list: fetching one question could count as reading a denial.
async fn text_of(client: &Client, event: &Event) -> Option<String> {
    if event.kind != "question.asked" || clock::now().since(event.at) > LIVE {
        return None;
    }
    let payload: Value = serde_json::from_str(event.payload.get()).ok()?;
    let agent = payload.get("agent_id")?.as_str()?.parse().ok();
    let newest = client.questions(&QuestionListParams { agent, ..QuestionListParams::default() }).await.ok()?;
    newest.questions.into_iter().find(|question| question.id.as_str() == event.stream)?.text
}

/// One event on one line.
pub(crate) fn line(event: &Event, text: Option<&str>) -> String {
    let payload = serde_json::from_str(event.payload.get()).unwrap_or(Value::Null);
    let position = paint(style::FAINT, format!("{:>6}  {}", event.position, span::time_of_day(event.at)));
    let kind = paint(of_kind(&event.kind, &payload), format!("{:<18}", event.kind));
    let actor = match &event.on_behalf_of {
        Some(agent) => format!("{} for {agent}", event.actor),
        None => event.actor.to_string(),
    };
    let text = text.map(|text| format!(": {}", one_line(text))).unwrap_or_default();
    let told = details(&event.kind, &payload);
    format!("{position}  {kind}  {:<8}  {actor:<10}  {told}{text}", short(&event.stream)).trim_end().to_owned()
}

/// The event in words.
pub(crate) fn details(kind: &str, payload: &Value) -> String {
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let told = match kind {
        "gate.opened" => because(text("/content/risk"), text("/content/title")),
        "gate.amended" => text("/content/title").to_owned(),
        "gate.vote" => because(text("/vote/choice"), text("/vote/reason")),
        "gate.extended" | "gate.escalated" => {
            format!("until {}", payload.get("deadline").map_or("never", |at| at.as_str().unwrap_or("never")))
        }
        "gate.decided" => because(&text("/decision/decision").replace('_', " "), text("/decision/reason")),
        "gate.refused" | "question.refused" | "halt.refused" => {
            format!("{} refused: {}", text("/attempted"), text("/refusal"))
        }
        "run.started" => because(text("/kind"), text("/title")),
        "run.parked" => "waits".to_owned(),
        "run.stopped" => because(text("/code"), text("/message")),
        "run.ended" => because(text("/outcome"), text("/reason")),
        "step.recorded" => format!("{} {} {}", text("/kind"), text("/key"), text("/state")),
        "question.asked" => asked(payload),
        "question.answered" => because(&answer(payload), text("/reason")),
        "question.expired" => match payload.get("answer") {
            None | Some(Value::Null) => "without an answer".to_owned(),
            Some(_) => format!("its default answers: {}", answer(payload)),
        },
        "question.reminded" => format!("{} still waits for an answer", text("/agent_id")),
        "question.fetched" if payload.get("released_by").is_some() => {
            format!("{} releases {} from the denial", text("/released_by"), text("/agent_id"))
        }
        "question.fetched" => format!("{} has heard the denial", text("/agent_id")),
        "question.denied" | "question.skipped" | "question.cancelled" => text("/reason").to_owned(),
        "halt.raised" => because(&whom(payload), text("/reason")),
        "agent.halted" | "session.halted" | "system.halted" => match text("/type") {
            "" => target(kind, payload),
            question => format!("{} by {question}", target(kind, payload)),
        },
        "agent.resumed" | "session.resumed" | "system.resumed" => resumed(kind, payload),
        _ if kind.starts_with("debate.") => debate::told(kind, payload).unwrap_or_default(),
        _ if kind.starts_with("token.") => format!("{} ({})", text("/name"), text("/role")),
        _ => String::new(),
    };
    one_line(&told)
}

fn because(word: &str, reason: &str) -> String {
    if reason.is_empty() { word.to_owned() } else { format!("{word}: {reason}") }
}

/// The type of a question.
fn asked(payload: &Value) -> String {
    let text = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default();
    let halts = match text("halts") {
        "" => "halts nobody".to_owned(),
        "all" => "halts everyone".to_owned(),
        "session" => format!("halts session {}", text("session_id")),
        _ => format!("halts agent {}", text("agent_id")),
    };
    let options = payload.get("options").and_then(Value::as_array).into_iter().flatten();
    let options = options.filter_map(Value::as_str).collect::<Vec<_>>().join(" | ");
    let options = if options.is_empty() { options } else { format!(" ({options})") };
    format!("{}{options}, {halts}", text("type"))
}

fn answer(payload: &Value) -> String {
    payload.get("answer").map(views::question::bare).unwrap_or_default()
}

fn whom(payload: &Value) -> String {
    let named = |name: &str| payload.get(name).and_then(Value::as_str);
    match (named("agent_id"), named("session_id")) {
        (Some(agent), _) => format!("agent {agent}"),
        (None, Some(session)) => format!("session {session}"),
        (None, None) => "everyone".to_owned(),
    }
}

/// What was halted or resumed. A question names its agent and session; the event's kind says which
/// is meant.
fn target(kind: &str, payload: &Value) -> String {
    let named = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default();
    match kind.split('.').next() {
        Some("agent") => format!("agent {}", named("agent_id")),
        Some("session") => format!("session {}", named("session_id")),
        _ => "everyone".to_owned(),
    }
}

fn resumed(kind: &str, payload: &Value) -> String {
    match payload.get("can_proceed").and_then(Value::as_bool) {
        Some(false) => format!("{}, but something else still covers it", target(kind, payload)),
        Some(true) | None => target(kind, payload),
    }
}

fn of_kind(kind: &str, payload: &Value) -> anstyle::Style {
    match kind {
        "gate.opened" | "gate.amended" | "gate.escalated" | "question.asked" | "question.reminded" => style::WARN,
        "run.stopped" => style::BAD,
        "run.ended" => {
            let word = payload.get("outcome").and_then(Value::as_str).and_then(|word| word.parse().ok());
            word.map_or(style::STRONG, style::of_run)
        }
        "gate.refused" | "question.refused" | "halt.refused" | "question.denied" | "halt.raised" => style::BAD,
        "agent.halted" | "session.halted" | "system.halted" => style::BAD,
        "question.answered" | "halt.lifted" => style::GOOD,
        "agent.resumed" | "session.resumed" | "system.resumed" => style::GOOD,
        "gate.decided" => {
            let word = payload.pointer("/decision/decision").and_then(Value::as_str);
            let word = word.and_then(|word| word.parse::<DecisionWord>().ok());
            word.map_or(style::STRONG, |word| style::of_status(word.status()))
        }
        _ => style::FAINT,
    }
}

/// The stream's id, as lists show it.
fn short(stream: &str) -> &str {
    if let Some(run) = stream.strip_prefix("run:") {
        return run.parse().map_or(run, |id| if find::short_run(&id) == run { run } else { find::short(run) });
    }
    let has_id = ["gate-", "question-", "halt-"].iter().any(|noun| stream.starts_with(noun));
    if has_id { find::short(stream) } else { stream.split(':').next().unwrap_or_default() }
}
