//! The command line of Folkmoot: agents debate, people decide.
//!
//! Each verb is one file in `verbs`. If no server runs, `connection` hosts one for the duration of
//! the verb.

mod artifact;
mod cli;
mod clock;
mod close;
mod connection;
mod context;
mod decide;
mod exit;
mod logging;
mod service;
mod set_up;
mod signal;
#[cfg_attr(not(feature = "otel"), path = "without_telemetry.rs")]
mod telemetry;
mod terminal;
mod verbs;
mod views;
mod which_model;

use std::process::ExitCode;

use clap::Parser;

use crate::{cli::Cli, context::CliContext, exit::Exit};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The process that builds the jail must do nothing else first.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "__jail") {
        return folkmoot_server::workflows::tools::jail::inside();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let json = cli.global.json;
    match start(cli) {
        Ok(exit) => exit.into(),
        Err(error) => exit::failure(&error, json),
    }
}

fn start(cli: Cli) -> anyhow::Result<Exit> {
    let ctx = CliContext::new(cli.global, cli.verb.works())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(cli.verb.run(&ctx));
    // A prompt thread may still be waiting for a line.
    runtime.shutdown_background();
    exit
}
