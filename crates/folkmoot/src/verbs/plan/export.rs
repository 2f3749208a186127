//! `folkmoot plan export`: a plan, or what there is of it, to take with you.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use folkmoot_api::{Client, wire::ExportPlan};

use super::PlanArgs;
use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit, terminal::printable::printable};

/// Take a plan with you, as Markdown or HTML; also what there is of one that is not complete
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: PlanArgs,
    /// As a page that needs nothing else
    #[arg(long)]
    html: bool,
    /// Write it to this file; to standard output unless it is given
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
        // What a model wrote could move a terminal's cursor.
        None if ctx.screen.terminal => ctx.screen.raw(&printable(&text))?,
        None => ctx.screen.raw(&text)?,
    }
    Ok(Exit::Done)
}
