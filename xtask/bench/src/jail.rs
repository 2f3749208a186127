//! What the jail adds to the start of a program.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use folkmoot_tools::{
    Jail, JobEnd, Profile,
    jail::{Driver, Execution, Helper, Program, ProgramLanguage},
};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::{figures::Figures, load::summarise};

const HELLO: &str = "print('hello')";

/// This many starts of each kind, in a separate process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// `folkmoot`, which becomes the inside of the jail.
    pub(crate) folkmoot: PathBuf,
    pub(crate) starts: u32,
    pub(crate) pythons: u32,
}

pub(crate) async fn measure(job: Job) -> Result<Figures> {
    let jail = Jail::probe_driver(Helper::folkmoot(job.folkmoot), Driver::Namespaces).await;
    if let Some(why) = jail.describe().await.refusal {
        bail!("there is no jail here: {why}");
    }
    let mut figures = Figures::new();

    // Alternating, so that both see the same load.
    let (mut plain, mut jailed) = (Vec::new(), Vec::new());
    for _ in 0..job.starts {
        plain.push(timed(start(Command::new("true"), b"")).await?);
        jailed.push(timed(run_true(&jail)).await?);
    }
    let one_at_a_time = f64::from(job.starts) / jailed.iter().sum::<Duration>().as_secs_f64();
    put(&mut figures, "plain start of true", plain);
    put(&mut figures, "true in the jail", jailed);

    let began = Instant::now();
    try_join_all([(); 2].map(|()| async {
        for _ in 0..job.starts {
            run_true(&jail).await?;
        }
        anyhow::Ok(())
    }))
    .await?;
    let two_at_once = 2.0 * f64::from(job.starts) / began.elapsed().as_secs_f64();
    figures.insert("jobs in the jail, one at a time, per s".to_owned(), one_at_a_time);
    figures.insert("jobs in the jail, 2 at once, per s".to_owned(), two_at_once);

    let (mut plain, mut jailed) = (Vec::new(), Vec::new());
    // The same Python on both sides: the first in PATH may be a launcher script.
    let python = String::from_utf8(run_python(&jail, "import sys; print(sys.executable)").await?)?;
    for _ in 0..job.pythons {
        let mut command = Command::new(python.trim_end());
        command.args(["-c", HELLO]);
        plain.push(timed(start(command, b"hello\n")).await?);
        jailed.push(timed(run_hello(&jail)).await?);
    }
    put(&mut figures, "plain Python hello", plain);
    put(&mut figures, "Python hello in the jail", jailed);
    Ok(figures)
}

async fn timed(work: impl Future<Output = Result<()>>) -> Result<Duration> {
    let began = Instant::now();
    work.await?;
    Ok(began.elapsed())
}

/// Fork and exec; the output is read as the jail reads it.
async fn start(mut command: Command, says: &[u8]) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().await.context("a plain program does not start")?;
    ensure!(output.status.success() && output.stdout == says, "a plain program ended with {output:?}");
    Ok(())
}

async fn run_true(jail: &Jail) -> Result<()> {
    let report = jail.run(folkmoot_tools::JailJob::new(Profile::Code, ["true"])).await?;
    ensure!(report.end == JobEnd::Exited(0), "true ended with {:?} in the jail", report.end);
    Ok(())
}

async fn run_hello(jail: &Jail) -> Result<()> {
    let said = run_python(jail, HELLO).await?;
    ensure!(said == b"hello\n", "Python said {said:?} in the jail");
    Ok(())
}

/// Returns what it printed.
async fn run_python(jail: &Jail, source: &str) -> Result<Vec<u8>> {
    let Execution::Ran(report) = jail.execute(Program::new(ProgramLanguage::Python, source)).await? else {
        bail!("Python was compiled");
    };
    ensure!(report.end == JobEnd::Exited(0), "Python ended so in the jail: {report:?}");
    Ok(report.stdout)
}

fn put(figures: &mut Figures, name: &str, took: Vec<Duration>) {
    let found = summarise(took, Duration::from_secs(1));
    figures.insert(format!("{name}, p50 ms"), found.p50_us / 1e3);
    figures.insert(format!("{name}, p99 ms"), found.p99_us / 1e3);
}
