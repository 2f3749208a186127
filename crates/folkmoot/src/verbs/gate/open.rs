//! `folkmoot gate open`: ask for a decision, and optionally wait for it.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::{
        Name, Phase, RunId, SessionId, Timeout,
        gate::{Choice, GateKind, OnTimeout, Risk, SelfReview},
    },
    wire::OpenGate,
};

use super::wait;
use crate::{
    artifact::{self, ArtifactSource},
    cli::{AsAgent, word},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::{
        span,
        style::{self, paint},
    },
};

/// Ask for a decision
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the gate's id. With --wait, prints the decision, and the exit code says whether to continue.

Example:
  git diff main | folkmoot gate open \"Merge the retry fix\" -a change.diff=- --wait && git push")]
pub(crate) struct Args {
    /// What is to be decided
    #[arg(required_unless_present = "summary_file")]
    summary: Option<String>,
    /// Read the summary from a file; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "summary")]
    summary_file: Option<PathBuf>,
    /// One line (default: the summary's first)
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The risk (default: medium)
    #[arg(long, value_parser = word::<Risk>(Risk::WORDS))]
    risk: Option<Risk>,
    /// Show the reviewer a file; can be repeated; - reads standard input
    #[arg(long = "artifact", short = 'a', value_name = "[NAME=]FILE", value_parser = ArtifactSource::parse)]
    artifacts: Vec<ArtifactSource>,
    /// How long it waits (90s, 30m, 2h, never) (default: the server's policy)
    #[arg(long, value_name = "SPAN", value_parser = span::parse_timeout)]
    timeout: Option<Timeout>,
    /// What happens at the timeout
    #[arg(long, value_name = "WORD", value_parser = word::<OnTimeout>(OnTimeout::WORDS))]
    on_timeout: Option<OnTimeout>,
    /// The possible decisions
    #[arg(long, value_delimiter = ',', value_name = "WORDS", value_parser = word::<Choice>(Choice::WORDS))]
    allow: Option<Vec<Choice>>,
    /// Who may decide; can be repeated (default: any reviewer)
    #[arg(long = "reviewer", value_delimiter = ',', value_name = "NAME")]
    reviewers: Option<Vec<Name>>,
    /// Approvals needed
    #[arg(long, value_name = "N")]
    quorum: Option<u32>,
    /// Rejections needed
    #[arg(long, value_name = "N")]
    reject_quorum: Option<u32>,
    /// Whether the person who started the run may decide
    #[arg(long, value_name = "WORD", value_parser = word::<SelfReview>(SelfReview::WORDS))]
    self_review: Option<SelfReview>,
    /// The run that must wait
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// The session it belongs to
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// The phase of the run
    #[arg(long)]
    phase: Option<Phase>,
    /// The kind of request
    #[arg(long, value_parser = word::<GateKind>(GateKind::WORDS))]
    kind: Option<GateKind>,
    /// Also notify this channel; can be repeated; `notify list` shows the channels
    #[arg(long, value_name = "CHANNEL", value_delimiter = ',')]
    tell: Vec<String>,
    /// Open it once: while your gate with this key is pending, opening it again returns it
    #[arg(long, value_name = "KEY")]
    dedupe_key: Option<String>,
    /// The agent that you act for
    #[arg(long, value_name = "NAME")]
    on_behalf_of: Option<Name>,
    /// With the same key, a repeated command opens no second gate
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until it is decided
    #[arg(long, short)]
    wait: bool,
    /// Wait at most this long (90s, 30m, 2h); the gate stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "wait")]
    wait_timeout: Option<Duration>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let (wait, wait_timeout, who) = (args.wait, args.wait_timeout, args.acting.who);
    let key = args.idempotency_key.clone().unwrap_or_else(idempotency::new_key);
    let request = request(args)?;
    let open = async |client: &Client| {
        let run_id = find::run_or_new(client, request.run_id.as_ref()).await?;
        Ok(client.open_gate(&OpenGate { run_id, ..request.clone() }, Some(&key)).await?)
    };
    let gate = connection.ask(ctx, who, open).await?;
    if wait {
        return wait::until_decided(ctx, connection, who, &gate, wait_timeout).await;
    }
    if ctx.screen.json {
        ctx.screen.json(&gate)?;
    } else if ctx.screen.terminal {
        ctx.screen.say(format!("{} {}", paint(style::STRONG, "Opened"), gate.id))?;
        let waits = gate.deadline.moment().map(|deadline| format!(" until {}", span::day_and_time(deadline)));
        let approve = paint(style::COMMAND, format!("{} approve {}", ctx.command(), find::short(&gate.id)));
        ctx.screen.say(format!("It waits{} for {approve}", waits.unwrap_or_default()))?;
    } else {
        // `id=$(folkmoot gate open …)`
        ctx.screen.say(gate.id.as_str())?;
    }
    Ok(Exit::Done)
}

fn request(args: Args) -> Result<OpenGate> {
    let artifacts = artifact::read_all(&args.artifacts, args.summary_file.as_deref())?;
    let summary = match (args.summary, args.summary_file) {
        (Some(summary), _) => summary,
        (None, Some(path)) => artifact::read_text(&path)?,
        (None, None) => bail!("say what is to be decided"),
    };
    Ok(OpenGate {
        title: args.title,
        summary,
        phase: args.phase,
        run_id: args.run,
        session_id: args.session,
        kind: args.kind,
        risk: args.risk,
        artifacts,
        timeout_ms: args.timeout,
        on_timeout: args.on_timeout,
        allowed: args.allow,
        reviewers: args.reviewers,
        quorum: args.quorum,
        reject_quorum: args.reject_quorum,
        self_review: args.self_review,
        dedupe_key: args.dedupe_key,
        notification_channels: args.tell,
        on_behalf_of: args.on_behalf_of,
    })
}
