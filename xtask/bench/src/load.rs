//! The load generator: one job in a separate process, with its result as JSON on standard output.

use std::{
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::children;

mod bare;
mod clearance;
mod cycles;
mod fill;
mod open;
mod postgres;
mod questions;
pub(crate) mod sqlite;
mod steady;
mod tally;
mod wake;

pub(crate) use cycles::{Opened, open};
pub(crate) use tally::{Tally, summarise};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Small JSON to the bare server.
    Bare { address: SocketAddr, clients: usize, window: Window },
    /// Open a gate, wait for it, decide it, wake the waiter.
    Cycles { target: Target, clients: usize, window: Window },
    /// The same at a fixed rate.
    Steady { target: Target, clients: usize, per_second: f64, window: Window },
    /// Ask, wait for clearance, answer, be cleared.
    Questions { target: Target, clients: usize, window: Window },
    /// Ask whether an agent may work.
    Clearance { target: Target, clients: usize, window: Window },
    /// Single gate cycles, timed from the decision to the waiter's answer.
    Wake { target: Target, times: usize },
    /// Open gates and leave them.
    Open { target: Target, clients: usize, times: usize },
    /// Grow the database by this much.
    Fill { target: Target, megabytes: usize },
    /// Commit single rows to a SQLite file.
    Sqlite { folder: PathBuf, window: Window },
    /// Commit single rows to PostgreSQL.
    Postgres { connection: String, clients: usize, window: Window },
}

/// A running server and our tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) agent_token: String,
    pub(crate) reviewer_token: String,
}

/// Work in the warm-up is done but not counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

/// A job's result. It exists only if there was no error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) count: usize,
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// Runs the job in another process, and waits for it.
pub(crate) fn spawn(job: &Job) -> Result<Found> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("load").arg(serde_json::to_string(job)?);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = children::spawn(&mut command)?;
    let (mut told, mut complained) = (String::new(), String::new());
    // The outputs are short, so neither pipe can fill while we read the other.
    if let Some(mut stdout) = child.stdout.take() {
        std::io::Read::read_to_string(&mut stdout, &mut told)?;
    }
    if let Some(mut stderr) = child.stderr.take() {
        std::io::Read::read_to_string(&mut stderr, &mut complained)?;
    }
    let status = child.wait()?;
    children::ended(&child);
    if !status.success() {
        bail!("{}", complained.trim().trim_start_matches("folkmoot-bench: "));
    }
    serde_json::from_str(&told).context("the load generator's answer")
}

pub(crate) fn run(job: &str) -> Result<ExitCode> {
    let job: Job = serde_json::from_str(job)?;
    let found = match job {
        Job::Sqlite { folder, window } => sqlite::run(&folder, window)?,
        // One thread: two would take the second core from the server.
        job => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(ask(job))?,
    };
    if found.count == 0 {
        bail!("nothing was finished in the measured time");
    }
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&found)?)?;
    Ok(ExitCode::SUCCESS)
}

async fn ask(job: Job) -> Result<Found> {
    match job {
        Job::Bare { address, clients, window } => bare::run(address, clients, window).await,
        Job::Cycles { target, clients, window } => cycles::run(target, clients, window).await,
        Job::Steady { target, clients, per_second, window } => steady::run(target, clients, per_second, window).await,
        Job::Questions { target, clients, window } => questions::run(target, clients, window).await,
        Job::Clearance { target, clients, window } => clearance::run(target, clients, window).await,
        Job::Wake { target, times } => wake::run(&target, times).await,
        Job::Open { target, clients, times } => open::run(target, clients, times).await,
        Job::Fill { target, megabytes } => fill::run(target, megabytes).await,
        Job::Postgres { connection, clients, window } => postgres::run(connection, clients, window).await,
        Job::Sqlite { .. } => bail!("SQLite is not asked over a socket"),
    }
}
