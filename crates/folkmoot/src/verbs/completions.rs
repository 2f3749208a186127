//! `folkmoot completions`: completion scripts for shells.

use anyhow::Result;
use clap::{CommandFactory, ValueEnum};

use crate::{cli::Cli, context::CliContext, exit::Exit};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "bash   folkmoot completions bash > ~/.local/share/bash-completion/completions/folkmoot\n\
                        zsh    folkmoot completions zsh > _folkmoot in a folder of $fpath\n\
                        fish   folkmoot completions fish > ~/.config/fish/completions/folkmoot.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "folkmoot", &mut script);
    ctx.screen.raw(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
