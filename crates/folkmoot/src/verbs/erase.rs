//! `folkmoot erase`: erases content. Its digest and the log stay.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::Digest,
    wire::{Erase, Gate},
};

use crate::{
    cli::ActingAs,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    terminal::style::{self, paint},
};

/// Erase content for good, such as a secret in a gate
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The digest stays, and the log still verifies. Titles, reasons, feedback and answers are in the log itself \
                        and cannot be erased. Check backups and other copies yourself."
)]
pub(crate) struct Args {
    /// The digest, as `folkmoot gate show --json` shows it: sha256:…
    #[arg(required_unless_present = "gate", conflicts_with = "gate")]
    digest: Option<Digest>,
    /// Everything this gate has shown: its summaries, artifacts and edited text
    #[arg(long, value_name = "GATE")]
    gate: Option<String>,
    /// The reason, which the log keeps
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let reason = Erase { reason: args.reason };
    if !connection.agrees(ctx, ActingAs::You, "Erase this for good?").await? {
        return Ok(Exit::Waiting);
    }
    let erase = async |client: &Client| match (&args.digest, &args.gate) {
        (Some(digest), _) => Ok(client.erase(digest, &reason).await?),
        (None, gate) => {
            let gate = find::any::<Gate>(client, gate.as_deref()).await?;
            Ok(client.erase_gate(&gate, &reason).await?)
        }
    };
    let done = connection.ask(ctx, ActingAs::You, erase).await?;
    if ctx.screen.json {
        ctx.screen.json(&done)?;
        return Ok(Exit::Done);
    }
    match done.erased.as_slice() {
        [] => ctx.screen.say("It was erased before.")?,
        erased => {
            for digest in erased {
                ctx.screen.say(format!("{} {digest}", paint(style::GOOD, "erased")))?;
            }
        }
    }
    if !done.scrubbed {
        ctx.screen.note(
            "The bytes may still be in the database's files: PostgreSQL removes them when it vacuums; with SQLite, \
             somebody is still reading what was there, so erase it once more.",
        );
    }
    Ok(Exit::Done)
}
