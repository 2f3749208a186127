//! `folkmoot plan export`: a plan as a document, complete or not.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use folkmoot_api::{Client, wire::ExportPlan};

use super::PlanArgs;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit, terminal::printable::printable};

/// Export a plan as Markdown or HTML; an unfinished one as far as it got
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: PlanArgs,
    /// As a self-contained page
    #[arg(long)]
    html: bool,
    /// The file to write (default: standard output)
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let as_what = ExportPlan { format: args.html.then(|| "html".to_owned()) };
    let read = async |client: &Client| Ok(client.export_plan(&id, &as_what).await?);
    let text = connection.ask(ctx, ActingAs::You, read).await?;
    match args.out {
        Some(path) => {
            std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
            ctx.screen.note(format!("Written to {}", path.display()));
        }
        // Model output could move the terminal's cursor.
        None if ctx.screen.terminal => ctx.screen.raw(&printable(&text))?,
        None => ctx.screen.raw(&text)?,
    }
    Ok(Exit::Done)
}
