//! `folkmoot watch`: the feed, live. After a dropped connection it goes on where it was.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{client, core::gate::DecisionWord, wire::Event};
use futures_util::StreamExt;
use serde_json::Value;

use crate::{
    cli::As,
    connection::Connection,
    context::Context,
    exit::Exit,
    find,
    screen::one_line,
    signal, span,
    style::{self, paint},
    wait,
};

/// How long a visit to the folder waits for one more event.
const VISIT: Duration = Duration::from_millis(100);

/// Watch what happens, as it happens
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin after this position; 0 is the beginning, now unless it is given
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    who: As,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let interrupted = signal::shutdown()?;
    if ctx.screen.terminal {
        ctx.screen.note(paint(style::FAINT, format!("Watching {}; Ctrl-C ends it.", connection.url())));
    }
    match interrupted.run_until_cancelled(follow(args, ctx, connection)).await {
        Some(ended) => ended,
        None => Ok(Exit::Done),
    }
}

async fn follow(args: Args, ctx: &Context, connection: &mut Connection) -> Result<Exit> {
    let mut position = args.after;
    let mut answered = false;
    loop {
        match events(ctx, connection, args.who, &mut position, &mut answered).await {
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
    ctx: &Context,
    connection: &Connection,
    who: As,
    position: &mut Option<u64>,
    answered: &mut bool,
) -> Result<()> {
    let mut feed = connection.client(who)?.events(*position).await?;
    *answered = true;
    loop {
        let event = if connection.is_visiting() {
            tokio::time::timeout(VISIT, feed.next()).await.unwrap_or_default()
        } else {
            feed.next().await
        };
        *position = feed.position();
        let Some(event) = event.transpose()? else { return Ok(()) };
        if ctx.screen.json {
            ctx.screen.say(serde_json::to_string(&event)?)?;
        } else {
            ctx.screen.say(line(&event))?;
        }
    }
}

/// One event on one line.
pub(crate) fn line(event: &Event) -> String {
    let payload = serde_json::from_str(event.payload.get()).unwrap_or(Value::Null);
    let position = paint(style::FAINT, format!("{:>6}  {}", event.position, span::time_of_day(event.at)));
    let kind = paint(of_kind(&event.kind, &payload), format!("{:<14}", event.kind));
    let actor = match &event.on_behalf_of {
        Some(agent) => format!("{} for {agent}", event.actor),
        None => event.actor.to_string(),
    };
    format!("{position}  {kind}  {:<8}  {actor:<10}  {}", short(&event.stream), details(&event.kind, &payload))
        .trim_end()
        .to_owned()
}

/// What happened, in the words of whoever did it.
pub(crate) fn details(kind: &str, payload: &Value) -> String {
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let because =
        |word: &str, reason: &str| if reason.is_empty() { word.to_owned() } else { format!("{word}: {reason}") };
    let told = match kind {
        "gate.opened" => because(text("/content/risk"), text("/content/title")),
        "gate.amended" => text("/content/title").to_owned(),
        "gate.vote" => because(text("/vote/choice"), text("/vote/reason")),
        "gate.extended" | "gate.escalated" => {
            format!("until {}", payload.get("deadline").map_or("never", |at| at.as_str().unwrap_or("never")))
        }
        "gate.decided" => because(&text("/decision/decision").replace('_', " "), text("/decision/reason")),
        "gate.refused" => format!("{} refused: {}", text("/attempted"), text("/refusal")),
        "run.started" => text("/id").to_owned(),
        _ if kind.starts_with("token.") => format!("{} ({})", text("/name"), text("/role")),
        _ => String::new(),
    };
    one_line(&told)
}

fn of_kind(kind: &str, payload: &Value) -> anstyle::Style {
    match kind {
        "gate.opened" | "gate.amended" | "gate.escalated" => style::WARN,
        "gate.refused" => style::BAD,
        "gate.decided" => {
            let word = payload.pointer("/decision/decision").and_then(Value::as_str);
            let word = word.and_then(|word| word.parse::<DecisionWord>().ok());
            word.map_or(style::STRONG, |word| style::of_status(word.status()))
        }
        _ => style::FAINT,
    }
}

fn short(stream: &str) -> String {
    match stream.parse() {
        Ok(gate) if stream.starts_with("gate-") => find::short(&gate).to_owned(),
        _ => stream.split(':').next().unwrap_or_default().to_owned(),
    }
}
