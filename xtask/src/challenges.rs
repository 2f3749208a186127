//! `cargo xtask challenges`: runs the scripts in `tests/e2e/` against a real server with its own
//! folder.
//!
//!     xtask ──▶ folkmoot serve ◀── curl ◀── tests/e2e/debate_…_challenge.sh
//!
//! A script prints what it checks, and exits with 0 if all is well. It may also start its own
//! server.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    cargo::{cargo, root, target_dir, terminated_with_us},
    packages,
};

/// The longest that one may take.
const LIMIT: Duration = Duration::from_secs(120);
const START_LIMIT: Duration = Duration::from_secs(30);
/// They mostly wait.
const AT_ONCE: usize = 2;

const AGENT: &str = "challenge-token-of-the-agent-0123456789";
const REVIEWER: &str = "challenge-token-of-the-reviewer-0123456789";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let scripts = chosen(arguments)?;
    for (program, why) in [("curl", "the challenges ask with curl"), ("jq", "the challenges read answers with jq")] {
        if !packages::works(program) {
            packages::install(program, why)?;
        }
    }
    // As `cargo test` does it, so that nothing is built twice.
    let built = cargo().args(["test", "--locked", "--workspace", "--all-features", "--no-run", "--quiet"]).status();
    ensure!(built.context("cannot start cargo")?.success(), "the server cannot be built; see above");
    let server = Server::start()?;
    let begun = Instant::now();
    let (todo, failed) = (Mutex::new(VecDeque::from(scripts)), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || lock(&todo).pop_front();
                while let Some(script) = next() {
                    let done = challenge(&script, &server);
                    let said = match &done {
                        Ok(said) | Err(said) => said,
                    };
                    // Print each challenge's output together.
                    let mut failed = lock(&failed);
                    println!("{said}");
                    if done.is_err() {
                        failed.push(name(&script));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !failed.is_empty() {
        bail!("{} failed; `cargo xtask challenges NAME` runs one alone", failed.join(", "));
    }
    println!("all challenges are met, in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those that are named, or all: `debate_reflexion_challenge.sh`, `debate_reflexion` or
/// `reflexion`.
fn chosen(names: &[String]) -> Result<Vec<PathBuf>> {
    let folder = root().join("tests/e2e");
    let mut all = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with("_challenge.sh") {
            all.push(path);
        }
    }
    all.sort();
    ensure!(!all.is_empty(), "there are no challenges in {}", folder.display());
    if names.is_empty() {
        return Ok(all);
    }
    let find = |wanted: &String| {
        let short = wanted.trim_end_matches(".sh").trim_end_matches("_challenge").trim_start_matches("debate_");
        let found = all.iter().find(|path| name(path).trim_start_matches("debate_") == short);
        let known = || all.iter().map(|path| name(path)).collect::<Vec<_>>().join(", ");
        found.cloned().with_context(|| format!("there is no challenge `{wanted}`; there are {}", known()))
    };
    names.iter().map(find).collect()
}

fn name(script: &Path) -> String {
    let file = script.file_name().unwrap_or_default().to_string_lossy();
    file.trim_end_matches("_challenge.sh").to_owned()
}

/// Runs one, and returns its output, or what is wrong.
fn challenge(script: &Path, server: &Server) -> Result<String, String> {
    let begun = Instant::now();
    let log = server.folder.join(name(script));
    let wrong = |error: String| format!("{}\n  FAIL {error}", name(script));
    let started = fs::File::create(&log).and_then(|file| {
        let both = file.try_clone()?;
        terminated_with_us(script)
            .env("FOLKMOOT_URL", &server.url)
            .env("FOLKMOOT_AGENT_TOKEN", AGENT)
            .env("FOLKMOOT_REVIEWER_TOKEN", REVIEWER)
            .env("FOLKMOOT_BIN", folkmoot())
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(both)
            .spawn()
    });
    let mut running = started.map_err(|error| wrong(format!("it cannot be started: {error}")))?;
    let ended = loop {
        match running.try_wait() {
            Ok(Some(status)) => break if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) },
            Ok(None) if begun.elapsed() > LIMIT => {
                // TERM, so that it can clean up.
                terminate(running.id());
                let _ = running.wait();
                break Err(format!("it was not over after {} s", LIMIT.as_secs()));
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => break Err(error.to_string()),
        }
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    let took = format!("  {:.1} s", begun.elapsed().as_secs_f64());
    match ended {
        Ok(()) => Ok(format!("{}\n{took}", said.trim_end())),
        Err(why) => Err(format!("{}\n  FAIL {why}\n{took}", said.trim_end())),
    }
}

/// A real server with a token for an agent and one for a reviewer. Its folder goes with it.
struct Server {
    process: Child,
    folder: PathBuf,
    url: String,
}

impl Server {
    fn start() -> Result<Self> {
        let folder = target_dir().join("challenges");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let data = folder.join("data");
        fs::create_dir_all(&data)?;
        let process = terminated_with_us(&folkmoot())
            .arg("serve")
            .arg("--data")
            .arg(&data)
            .args(["--listen", "127.0.0.1:0"])
            .env("FOLKMOOT_BOOTSTRAP_TOKENS", format!("agent:challenger={AGENT},reviewer:judge={REVIEWER}"))
            .env("FOLKMOOT_RATE_LIMIT", "1000000")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log"))?)
            .spawn()
            .context("cannot start the server")?;
        let mut server = Self { process, folder, url: String::new() };
        server.url = server.wait_until_ready(&data)?;
        Ok(server)
    }

    /// `server.json` is written when it is ready.
    fn wait_until_ready(&mut self, data: &Path) -> Result<String> {
        let since = Instant::now();
        let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        while since.elapsed() < START_LIMIT {
            let told = fs::read_to_string(data.join("server.json")).unwrap_or_default();
            let url = told.split_once(r#""url""#).and_then(|(_, rest)| rest.split('"').nth(1));
            if let Some(url) = url {
                return Ok(url.to_owned());
            }
            if let Some(status) = self.process.try_wait()? {
                bail!("the server ended with {status}:\n{}", log());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the server is not ready after {START_LIMIT:?}:\n{}", log());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended; its log stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(self.folder.join("data"));
    }
}

/// std can only send SIGKILL.
fn terminate(pid: u32) {
    let _ = Command::new("sh").args(["-c", "kill -TERM \"$1\"", "sh"]).arg(pid.to_string()).status();
}

fn folkmoot() -> PathBuf {
    target_dir().join("debug").join("folkmoot")
}
