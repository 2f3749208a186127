//! `folkmoot gate show`: one gate in full.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    wire::{Artifact, Gate},
};

use crate::{
    cli::AsYou,
    clock,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    views,
};

/// Show a gate: what it asks for, and the decision
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The gate, or any unique beginning or end of its id; optional if only one waits
    id: Option<String>,
    /// Print only its diff
    #[arg(long, conflicts_with = "artifact")]
    diff: bool,
    /// Print only this artifact
    #[arg(long, value_name = "NAME")]
    artifact: Option<String>,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| Ok(client.gate(&find::any::<Gate>(client, args.id.as_deref()).await?).await?);
    let gate = connection.ask(ctx, args.acting.who, read).await?;
    let wanted = |artifact: &Artifact| match &args.artifact {
        Some(name) => artifact.name == *name,
        None => artifact.media_type == "text/x-diff",
    };
    if args.diff || args.artifact.is_some() {
        match gate.artifacts.iter().find(|artifact| wanted(artifact)) {
            Some(artifact) => print(ctx, artifact)?,
            None => bail!("the gate has no such artifact; it has {}", names(&gate)),
        }
    } else if ctx.screen.json {
        ctx.screen.json(&gate)?;
    } else {
        ctx.screen.say(views::gate::whole(&gate, clock::now()))?;
    }
    Ok(Exit::Done)
}

/// A pipe gets the exact bytes, a person what is safe to print.
fn print(ctx: &CliContext, artifact: &Artifact) -> Result<()> {
    let Some(content) = &artifact.content else { bail!("the content of {} was erased", artifact.name) };
    if ctx.screen.json {
        return ctx.screen.json(artifact);
    }
    if ctx.screen.terminal {
        return Ok(ctx.screen.say(views::gate::content_lines(artifact, content).join("\n"))?);
    }
    Ok(ctx.screen.raw(content)?)
}

fn names(gate: &Gate) -> String {
    let names: Vec<_> = gate.artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
