//! `folkmoot demo`: a debate with two gates on a temporary folder, from the topic to the log.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{Principal, Role, RunId, Timeout, gate::Choice},
    debate::agent::DebatePhase,
    wire::{Agents, DebateGates, StartDebate},
};
use folkmoot_server::{BootstrapToken, DataFolder, your_name};
use serde_json::Value;

use crate::{
    cli::{ActingAs, word},
    connection::{
        Connection,
        hosted::{Hosted, NotHosted},
    },
    context::{CliContext, program, quoted},
    exit::Exit,
    logging, signal,
    terminal::{
        screen::Screen,
        span,
        style::{self, paint},
        wrap::cut,
    },
    verbs::{
        debate::follow::{self, FollowMode},
        watch,
    },
};

/// One of the rehearsal's exercises: it needs no network, and its code and bugs are real.
const TOPIC: &str = "Write parse_duration in Python: turn 90s, 5m, 1h30m or 2d into seconds, refuse anything else";

const LEFT: &str = "Nothing was decided. A real debate would go on waiting, also through a restart.";

/// See agents debate, and decide at their gates
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Starts a server on a temporary folder and a debate of three agents on a small program. \
The models are rehearsed, so no vendor is called; the code is real, and its tests are executed. \
It stops at two gates until you decide.")]
pub(crate) struct Args {
    /// Decide this at every gate, without asking
    #[arg(long, value_name = "WORD", value_parser = word::<Choice>(&["approve", "reject"]))]
    decide: Option<Choice>,
    /// How long each gate waits
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "5m")]
    timeout: Duration,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    logging::quiet(ctx)?;
    let interrupted = signal::shutdown_or_hangup()?;
    let folder = tempfile::Builder::new().prefix("folkmoot-demo-").tempdir()?;
    let data = DataFolder::at(folder.path());
    let you = BootstrapToken { principal: Principal::new(your_name(), Role::Admin), secret: new_secret()? };
    let your_token = you.secret.clone();
    let hosted = Hosted::start_with(&data, true, vec![you]).await.map_err(|error| match error {
        NotHosted::InUse(error) => error.into(),
        NotHosted::Failed(error) => error,
    })?;
    // Use the demo's folder, whatever else was named.
    let stage = CliContext {
        data,
        url: None,
        token: None,
        screen: ctx.screen,
        data_named: Some(folder.path().to_owned()),
        works: true,
    };
    let mut connection = Connection::to_demo(hosted, your_token.clone())?;
    let played = interrupted.run_until_cancelled(play(&args, &stage, &mut connection, &your_token)).await;
    if played.is_none() && !ctx.screen.json {
        // If the terminal is gone, nobody reads this; the folder is removed anyway.
        let _ = ctx.screen.say(format!("\n{LEFT}"));
    }
    connection.close().await?;
    folder.close()?;
    match played {
        Some(exit) => exit,
        None => Ok(Exit::Waiting),
    }
}

async fn play(args: &Args, ctx: &CliContext, connection: &mut Connection, your_token: &str) -> Result<Exit> {
    let request = request(args.timeout);
    let start = async |client: &Client| Ok(client.start_debate(&request, None).await?);
    let started = connection.ask(ctx, ActingAs::Agent, start).await?;
    if !ctx.screen.json {
        ctx.screen.say(introduction(ctx.screen))?;
        if args.decide.is_none() {
            ctx.screen.say(ways(ctx, connection.url(), &started.id, your_token))?;
        }
    }
    let manner = FollowMode { plays: args.decide, lightly: true };
    let Some(ended) = follow::to_the_end(ctx, connection, &started.id, manner).await? else {
        ctx.screen.say(format!("\n{LEFT}"))?;
        return Ok(Exit::Waiting);
    };
    if !ctx.screen.json {
        ctx.screen.say("")?;
    }
    ended.tell(ctx)?;
    if !ctx.screen.json {
        ctx.screen.say(log(&connection.client(ActingAs::You)?, ended.exit(), ctx.screen).await?)?;
    }
    Ok(ended.exit())
}

/// A token for the person, so that curl and a pipe can decide too.
fn new_secret() -> Result<String> {
    let mut random = [0_u8; 16];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut random)?;
    Ok(format!("fm_{:032x}", u128::from_be_bytes(random)))
}

fn request(timeout: Duration) -> StartDebate {
    let gates = DebateGates {
        enabled: true,
        gate_points: vec![DebatePhase::Proposal, DebatePhase::Convergence],
        timeout_ms: Some(Timeout::After(timeout)),
        ..DebateGates::default()
    };
    StartDebate {
        topic: TOPIC.to_owned(),
        // Enough to disagree, and few enough to follow.
        agents: Some(Agents::Count(3)),
        answers: Some(2),
        gates: Some(gates),
        provider: Some("rehearsal".to_owned()),
        ..StartDebate::default()
    }
}

fn introduction(screen: Screen) -> String {
    let topic = screen.paragraph(&paint(style::STRONG, TOPIC));
    let how = screen.paragraph(
        "Three agents debate it, and stop at two gates until you decide. Their models are a rehearsal; the code is real, and \
         its tests are executed.",
    );
    format!("{topic}\n\n{how}\n")
}

/// The commands that decide from elsewhere.
fn ways(ctx: &CliContext, url: &str, id: &RunId, your_token: &str) -> String {
    let folder = ctx.data.path().display().to_string();
    let folkmoot = format!("{} --data {}", program(), quoted(&folder));
    let command = |text: String| format!("  {}", paint(style::COMMAND, text));
    [
        "At each gate you can decide right here, from another terminal:".to_owned(),
        String::new(),
        command(format!("{folkmoot} approve")),
        command(format!("{folkmoot} reject --reason \"why not\"")),
        String::new(),
        "or with nothing but curl:".to_owned(),
        String::new(),
        command(format!("curl -X POST {url}/v1/debates/{id}/approve \\")),
        command(format!("  -H 'Authorization: Bearer {your_token}' -d '{{\"request_id\": \"GATE\"}}'")),
        String::new(),
        "where GATE is the gate that you saw: `waiting_at` in the debate's status.".to_owned(),
        String::new(),
    ]
    .join("\n")
}

/// Shows the gates in the log, and that the log verifies.
async fn log(you: &Client, exit: Exit, screen: Screen) -> Result<String> {
    let follows = match exit {
        Exit::Done => "The debate went on when you let it.",
        Exit::NotApproved => "The debate ended where you stopped it.",
        Exit::TimedOut => "Nobody decided in time. Silence is not consent: the debate does not go on.",
        Exit::NoDecision | Exit::Waiting | Exit::Halted | Exit::Problems => "",
        Exit::DoneBefore | Exit::Unknown | Exit::FailedBefore | Exit::UnknownKey | Exit::Interrupted => "",
    };
    let (mut lines, mut after) = (Vec::new(), 0);
    loop {
        let page = you.audit(after, 1000).await?;
        for entry in page.entries.iter().filter(|entry| matches!(entry.kind.as_str(), "gate.opened" | "gate.decided")) {
            let payload = serde_json::from_str(&entry.payload).unwrap_or(Value::Null);
            let place = paint(style::FAINT, format!("{}  {}", span::time_of_day(entry.at), &entry.hash[..8]));
            let told = watch::details(&entry.kind, &payload);
            lines.push(cut(&format!("  {place}  {:<12}  {told}", entry.kind), screen.columns().saturating_sub(1)));
        }
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    let verification = you.verify().await?;
    let verified = match verification.ok {
        true => {
            let told = format!("verified: {} events, each with the hash of the one before", verification.events);
            paint(style::GOOD, told)
        }
        false => paint(style::BAD, format!("{} problems in the log", verification.problems.len())),
    };
    Ok(format!("\n{follows}\n\nThe log keeps it:\n\n{}\n  {verified}", lines.join("\n")))
}
