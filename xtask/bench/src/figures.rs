//! Runs a measurement in a separate process, with its figures as JSON on standard output.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::{Serialize, de::DeserializeOwned};

use crate::children;

/// By name.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Runs `folkmoot-bench VERB` with the job, and waits for its figures.
pub(crate) fn spawn(verb: &str, job: &(impl Serialize + Debug)) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(verb).arg(serde_json::to_string(job)?).stdout(Stdio::piped());
    let process = children::spawn(&mut command)?;
    let id = process.id();
    let output = process.wait_with_output()?;
    children::forget(id);
    ensure!(output.status.success(), "{job:?} failed");
    serde_json::from_slice(&output.stdout).with_context(|| format!("what {job:?} printed"))
}

/// Runs the job here, and prints its figures.
pub(crate) fn run<J: DeserializeOwned, F: Future<Output = Result<Figures>>>(
    job: &str,
    measure: impl FnOnce(J) -> F,
) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let figures = runtime.block_on(measure(serde_json::from_str(job)?))?;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(ExitCode::SUCCESS)
}
