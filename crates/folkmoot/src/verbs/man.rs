//! `folkmoot man`: manual pages, one per verb, for packagers.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::CommandFactory;

use crate::{cli::Cli, context::CliContext, exit::Exit};

/// Write the manual pages into a folder, for `man -M` or a package
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder, for example man1 of a package
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("{} cannot be written", folder.display()))?;
    for page in std::fs::read_dir(folder)? {
        let page = page?.path();
        if page.extension().is_some_and(|end| end == "1") {
            let text = std::fs::read_to_string(&page)?;
            std::fs::write(&page, plain(&text)).with_context(|| format!("{} cannot be written", page.display()))?;
        }
    }
    ctx.screen.note(format!("The manual pages are in {}", folder.display()));
    Ok(Exit::Done)
}

/// In ASCII that every troff reads, in any locale.
fn plain(text: &str) -> String {
    let letter = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", c as u32) };
    text.chars().map(letter).collect()
}
