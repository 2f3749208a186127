//! Measures Folkmoot beside the limits of its machine, and prints the ratios.
//!
//!     run ──┬──▶ folkmoot serve        what is measured
//!           ├──▶ folkmoot-bench bare   an HTTP server that does nothing: the ceiling
//!           ├──▶ folkmoot-bench load   who asks, in a process of its own
//!           ├──▶ folkmoot-bench durable   a program that embeds the engine
//!           ├──▶ folkmoot-bench models    one that asks models which answer at once
//!           ├──▶ folkmoot-bench debates   one that holds debates
//!           ├──▶ folkmoot-bench scale     one with thousands of connections
//!           └──▶ folkmoot-bench jail      one that starts jobs in the jail
//!
//! Absolute figures mean little on a shared machine; a ratio of two figures from the same minute
//! does. A measurement with an error is reported as failed.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod allocations;
mod bare;
mod can_proceed;
mod children;
mod debates;
mod durable;
mod figures;
mod gate_check;
mod http;
mod jail;
mod load;
mod models;
mod options;
mod report;
mod run;
mod scale;
mod server;
mod soak;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("folkmoot-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (verb, rest) = arguments.split_first().context("start me with `cargo xtask bench`")?;
    match (verb.as_str(), rest) {
        ("run", options) => run::run(&options::parse(options)?),
        ("soak", options) => soak::run(options),
        ("load", [job]) => load::run(job),
        ("bare", []) => bare::serve(),
        ("durable", [job]) => figures::run(job, durable::measure),
        ("models", [job]) => figures::run(job, models::measure),
        ("debates", [job]) => figures::run(job, debates::measure),
        ("scale", [job]) => figures::run(job, scale::measure),
        ("jail", [job]) => figures::run(job, jail::measure),
        _ => bail!("start me with `cargo xtask bench`"),
    }
}
