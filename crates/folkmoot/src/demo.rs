//! `folkmoot demo`: one gate, from the asking to the log, on a folder that is gone afterwards.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{
    Client, client,
    core::{
        GateId, Timeout,
        gate::{Choice, Risk},
    },
    wire::{Gate, NewArtifact, OpenGate, Verdict},
};
use folkmoot_server::DataFolder;
use serde_json::Value;

use crate::{
    cli::word,
    clock,
    context::{Context, program, quoted},
    exit::Exit,
    gate_view,
    hosted::{Hosted, NotHosted},
    logging, prompt, signal, span,
    style::{self, paint},
    watch,
};

const SUMMARY: &str = include_str!("demo/request.md");
const DIFF: &str = include_str!("demo/change.diff");
const TESTS: &str = include_str!("demo/tests.txt");
/// How long one wait lasts before the next begins.
const ROUND: Duration = Duration::from_secs(30);

/// See a gate open, hold, and be decided
#[derive(Debug, clap::Args)]
#[command(after_help = "Starts a server on a temporary folder, plays an agent that asks, and waits for your decision.")]
pub(crate) struct Args {
    /// Play the person too
    #[arg(long, value_name = "WORD", value_parser = word::<Choice>(&["approve", "reject"]))]
    decide: Option<Choice>,
    /// How long the gate waits
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "5m")]
    timeout: Duration,
}

/// The two sides of the gate.
struct Stage {
    agent: Client,
    you: Client,
    your_token: String,
    folder: String,
}

pub(crate) async fn run(args: Args, ctx: &Context) -> Result<Exit> {
    logging::quiet(ctx)?;
    let interrupted = signal::shutdown()?;
    let folder = tempfile::Builder::new().prefix("folkmoot-demo-").tempdir()?;
    let hosted = Hosted::start(&DataFolder::at(folder.path()), false).await.map_err(|error| match error {
        NotHosted::InUse(error) => error.into(),
        NotHosted::Failed(error) => error,
    })?;
    let agent = Client::new(&hosted.url, &hosted.tokens.agent.token)?;
    let your_token = hosted.tokens.you.token.clone();
    let shown = folder.path().display().to_string();
    let stage = Stage { you: agent.with_token(&your_token), agent, your_token, folder: shown };
    let played = interrupted.run_until_cancelled(play(&args, ctx, &stage)).await;
    drop(stage);
    hosted.close().await?;
    folder.close()?;
    match played {
        Some(exit) => exit,
        None => Ok(Exit::Waiting),
    }
}

async fn play(args: &Args, ctx: &Context, stage: &Stage) -> Result<Exit> {
    let gate = stage.agent.open_gate(&request(args.timeout), None).await?;
    let gate = stage.you.gate(&gate.id).await?;
    if !ctx.screen.json {
        ctx.screen.say(format!("An agent asks, and waits at a gate until a person decides:\n\n{}\n", asked(&gate)))?;
    }
    let decided = match args.decide {
        Some(choice) => {
            // The agent waits already when the decision comes, as it would.
            let (woken, decided) = tokio::join!(wait(stage, &gate.id), decide(stage, &gate, choice, reason(choice)));
            decided?;
            Some(woken?)
        }
        None => {
            if !ctx.screen.json {
                ctx.screen.say(ways(stage, &gate))?;
            }
            if ctx.screen.answers {
                at_the_terminal(ctx, stage, &gate).await?
            } else {
                Some(wait(stage, &gate.id).await?)
            }
        }
    };
    let Some(gate) = decided else {
        ctx.screen.say("\nNothing was decided. A real agent would go on waiting, also through a restart.")?;
        return Ok(Exit::Waiting);
    };
    if ctx.screen.json {
        ctx.screen.json(&gate)?
    } else {
        ctx.screen.say(ending(stage, &gate).await?)?
    }
    Ok(Exit::of(&gate))
}

fn request(timeout: Duration) -> OpenGate {
    let artifact = |name: &str, media_type: &str, content: &str| NewArtifact {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        content: content.to_owned(),
    };
    OpenGate {
        summary: SUMMARY.to_owned(),
        risk: Some(Risk::High),
        artifacts: vec![artifact("change.diff", "text/x-diff", DIFF), artifact("tests.txt", "text/plain", TESTS)],
        timeout_ms: Some(Timeout::After(timeout)),
        ..OpenGate::default()
    }
}

fn asked(gate: &Gate) -> String {
    gate_view::request(gate, clock::now(), gate_view::LINES_MAX)
}

/// How to decide from elsewhere.
fn ways(stage: &Stage, gate: &Gate) -> String {
    let folkmoot = format!("{} --data {}", program(), quoted(&stage.folder));
    let curl = format!("curl -X POST {}/v1/gates/{}/approve", stage.you.url(), gate.id);
    let command = |text: String| format!("  {}", paint(style::COMMAND, text));
    [
        "Decide from another terminal:".to_owned(),
        String::new(),
        command(format!("{folkmoot} approve")),
        command(format!("{folkmoot} reject --reason \"why not\"")),
        String::new(),
        "or with nothing but curl:".to_owned(),
        String::new(),
        command(format!("{curl} \\")),
        command(format!("  -H 'Authorization: Bearer {}'", stage.your_token)),
        String::new(),
    ]
    .join("\n")
}

/// Offers to decide right here, while a decision may come from elsewhere too.
async fn at_the_terminal(ctx: &Context, stage: &Stage, gate: &Gate) -> Result<Option<Gate>> {
    let elsewhere = wait(stage, &gate.id);
    let mut elsewhere = std::pin::pin!(elsewhere);
    let question = format!("or right here: {} approve, {} reject, {} quit:", key('a'), key('r'), key('q'));
    loop {
        let line = tokio::select! {
            gate = &mut elsewhere => {
                ctx.screen.say("\n")?;
                return gate.map(Some);
            }
            line = prompt::line(&question) => line?,
        };
        let choice = match line.as_deref().map(str::to_lowercase).as_deref() {
            Some("a" | "approve") => Choice::Approve,
            Some("r" | "reject") => Choice::Reject,
            Some("q" | "quit") | None => return Ok(None),
            Some(_) => continue,
        };
        let reason = match choice {
            Choice::Reject => prompt::line("Why not?").await?.filter(|why| !why.is_empty()),
            Choice::Approve | Choice::Adjust | Choice::Pause => None,
        };
        if choice == Choice::Reject && reason.is_none() {
            ctx.screen.say("A rejection says why; nothing was decided yet.")?;
            continue;
        }
        match decide(stage, gate, choice, reason).await {
            // Somebody was faster, and theirs stands.
            Err(client::Error::Problem(problem)) if problem.decision.is_some() => {}
            decided => decided?,
        }
        ctx.screen.say("")?;
        return elsewhere.await.map(Some);
    }
}

fn key(letter: char) -> String {
    paint(style::STRONG, format!("[{letter}]"))
}

fn reason(choice: Choice) -> Option<String> {
    match choice {
        Choice::Approve => Some("the gateway refuses a second charge for one order".to_owned()),
        Choice::Reject => Some("a repeated charge needs an idempotency key, or the card is charged twice".to_owned()),
        Choice::Adjust | Choice::Pause => None,
    }
}

async fn decide(stage: &Stage, gate: &Gate, choice: Choice, reason: Option<String>) -> Result<(), client::Error> {
    let verdict = Verdict { reason, digest: Some(gate.digest), ..Verdict::default() };
    stage.you.decide(&gate.id, choice, &verdict, None).await.map(drop)
}

/// The agent waits, however long it takes.
async fn wait(stage: &Stage, gate: &GateId) -> Result<Gate> {
    loop {
        let gate = stage.agent.wait_gate(gate, ROUND).await?;
        if gate.decision.is_some() {
            return Ok(gate);
        }
    }
}

/// What happened, and what is left of it.
async fn ending(stage: &Stage, gate: &Gate) -> Result<String> {
    let follows = match Exit::of(gate) {
        Exit::Done => "The agent was woken and goes on.",
        Exit::NotApproved => "The agent was woken and does not go on.",
        Exit::TimedOut => "Nobody decided in time. Silence is not consent: the agent does not go on.",
        Exit::Waiting | Exit::Halted | Exit::Problems => "",
        Exit::DoneBefore | Exit::Unknown | Exit::FailedBefore | Exit::Interrupted => "",
    };
    let page = stage.you.audit(0, 1000).await?;
    let of_gate = page.entries.iter().filter(|entry| entry.stream == gate.id.as_str());
    let log: Vec<String> = of_gate
        .map(|entry| {
            let payload = serde_json::from_str(&entry.payload).unwrap_or(Value::Null);
            let place = paint(style::FAINT, format!("{}  {}", span::time_of_day(entry.at), &entry.hash[..8]));
            format!(
                "  {place}  {:<12}  {:<8}  {}",
                entry.kind,
                entry.actor.as_str(),
                watch::details(&entry.kind, &payload)
            )
        })
        .collect();
    let verification = stage.you.verify().await?;
    let verified = match verification.ok {
        true => paint(
            style::GOOD,
            format!("verified: {} events, each with the hash of the one before", verification.events),
        ),
        false => paint(style::BAD, format!("{} problems in the log", verification.problems.len())),
    };
    let decision = gate_view::decision(gate);
    Ok(format!("{decision}\n{follows}\n\nThe log keeps it:\n\n{}\n  {verified}", log.join("\n")))
}
