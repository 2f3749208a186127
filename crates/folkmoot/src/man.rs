//! `folkmoot man`: manual pages, one for each verb. For whoever packages Folkmoot.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::CommandFactory;

use crate::{cli::Cli, context::Context, exit::Exit};

/// Write the manual pages into a folder
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Where to, for instance man1 of a package
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: Args, ctx: &Context) -> Result<Exit> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("{} cannot be written", folder.display()))?;
    ctx.screen.note(format!("The manual pages are in {}", folder.display()));
    Ok(Exit::Done)
}
