//! `folkmoot gate amend`: change what a gate asks for. Earlier votes are void.

use std::path::PathBuf;

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::gate::Risk,
    wire::{Amend, Gate},
};

use crate::{
    artifact::{self, ArtifactSource},
    cli::{AsAgent, word},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
};

/// Change what a gate asks for; earlier votes are void
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// A new title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A new summary
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Read the new summary from a file; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "summary")]
    summary_file: Option<PathBuf>,
    /// A higher risk
    #[arg(long, value_parser = word::<Risk>(Risk::WORDS))]
    risk: Option<Risk>,
    /// New artifacts, instead of all the old ones; - reads standard input
    #[arg(long = "artifact", short = 'a', value_name = "[NAME=]FILE", value_parser = ArtifactSource::parse)]
    artifacts: Vec<ArtifactSource>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let artifacts = artifact::read_all(&args.artifacts, args.summary_file.as_deref())?;
    let summary = match &args.summary_file {
        Some(path) => Some(artifact::read_text(path)?),
        None => args.summary,
    };
    let artifacts = (!artifacts.is_empty()).then_some(artifacts);
    let change = Amend { title: args.title, summary, risk: args.risk, artifacts };
    if let Amend { title: None, summary: None, risk: None, artifacts: None } = change {
        bail!("say what to change: --title, --summary, --risk or --artifact");
    }
    let key = idempotency::new_key();
    if !connection.agrees(ctx, args.acting.who, "Change the gate?").await? {
        return Ok(Exit::Waiting);
    }
    let amend = async |client: &Client| {
        let id = find::pending::<Gate>(client, args.id.as_deref()).await?;
        Ok(client.amend_gate(&id, &change, Some(&key)).await?)
    };
    let gate = connection.ask(ctx, args.acting.who, amend).await?;
    ctx.screen.show(&gate, format!("{} is now at revision {}", gate.id, gate.revision))?;
    Ok(Exit::Done)
}
