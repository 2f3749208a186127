//! `cargo xtask fuzz`: fuzzes the API from its OpenAPI document as each role, on both databases.
//!
//!     xtask ──▶ PostgreSQL, folkmoot serve ◀── Schemathesis ◀── xtask/fuzz/fuzz.py
//!
//! Each role has a fresh server, so that roles do not affect each other. It is not part of
//! `cargo xtask test`, which needs no network and takes minutes.

use std::{
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    cargo::{cargo, root, target_dir, terminated_with_us},
    cluster::{Cluster, Sync},
    python,
};

const ROLES: [&str; 3] = ["agent", "reviewer", "admin"];
const DATABASES: [&str; 2] = ["sqlite", "postgres"];

/// Messages may go to this machine, where fuzz.py listens; one configured channel leads nowhere.
const CONFIGURATION: &str = r#"
[notify]
allow = ["127.0.0.0/8"]

[channels.nobody-listens]
kind = "webhook"
url = "http://127.0.0.1:9/hook"
secret_env = "FOLKMOOT_FUZZ_SECRET"
"#;
const SECRET: &str = "whsec_Zm9sa21vb3QgZm9sa21vb3QgZm9sa21vb3Q=";

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Plan {
    examples: u32,
    minutes: u64,
    seed: u64,
    roles: Vec<&'static str>,
    databases: Vec<&'static str>,
}

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let plan = Plan::parse(arguments)?;
    let home = target_dir().join("fuzz");
    let python = python::with(&home.join("venv"), &scripts().join("requirements.txt"), &[], "Schemathesis")?;
    let built = cargo().args(["build", "--locked", "-p", "folkmoot"]).status().context("cannot start cargo")?.success();
    ensure!(built, "the server cannot be built; see above");

    println!("seed {}: `cargo xtask fuzz --seed {}` sends the same again", plan.seed, plan.seed);
    let until = Instant::now() + Duration::from_secs(60 * plan.minutes);
    let mut folders = Vec::new();
    let mut wrong = Vec::new();
    for database in &plan.databases {
        for role in &plan.roles {
            let folder = home.join(format!("{database}-{role}"));
            println!("\n── {role} on {database}");
            let left = until.saturating_duration_since(Instant::now()).as_secs().max(1);
            if let Err(error) = plan.fuzz(&python, role, database, &folder, left) {
                println!("  WRONG: {error:#}");
                wrong.push(format!("{role} on {database}"));
            }
            folders.push(folder);
        }
    }
    println!();
    let summed = terminated_with_us(&python).arg(scripts().join("summary.py")).args(&folders).status()?.success();
    if !wrong.is_empty() {
        bail!("something is wrong as {}; see above (seed {})", wrong.join(", as "), plan.seed);
    }
    ensure!(summed, "the summary says what was not tried");
    Ok(ExitCode::SUCCESS)
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Self> {
        let seed = RandomState::new().build_hasher().finish() % 1_000_000_000;
        let mut plan = Self { examples: 100, minutes: 60, seed, roles: ROLES.into(), databases: DATABASES.into() };
        let mut words = arguments.iter();
        while let Some(option) = words.next() {
            let value = words.next().with_context(|| format!("{option} takes a value"))?;
            let one_of = |all: &[&'static str]| {
                let found = all.iter().copied().find(|each| each == value);
                found.map(|each| vec![each]).with_context(|| format!("{option} is one of {}", all.join(", ")))
            };
            match option.as_str() {
                "--examples" => plan.examples = value.parse().context("--examples takes a number")?,
                "--minutes" => plan.minutes = value.parse().context("--minutes takes a number")?,
                "--seed" => plan.seed = value.parse().context("--seed takes a number")?,
                "--role" => plan.roles = one_of(&ROLES)?,
                "--database" => plan.databases = one_of(&DATABASES)?,
                _ => bail!("unexpected argument `{option}`; `cargo xtask help` shows what fuzz takes"),
            }
        }
        Ok(plan)
    }

    fn fuzz(&self, python: &Path, role: &str, database: &str, folder: &Path, seconds: u64) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(folder)?;
        let cluster = if database == "postgres" { Some(Cluster::start(Sync::Off)?) } else { None };
        let server = Server::start(&folder.join("data"), cluster.as_ref().map(Cluster::connection))?;
        let fuzzed = terminated_with_us(python)
            .arg(scripts().join("fuzz.py"))
            .args([server.url.as_str(), role])
            .args([self.examples.to_string(), seconds.to_string(), self.seed.to_string()])
            .arg(folder)
            .status()
            .context("cannot start Python")?;
        let verified = server.verify();
        let log = server.stop()?;
        // The process survives a panic of one request, so only its log shows it.
        let panicked = log.lines().filter(|line| line.contains("panicked")).count();
        ensure!(
            panicked == 0,
            "the server panicked {panicked} times; {} says where",
            folder.join("data/log").display()
        );
        verified?;
        ensure!(fuzzed.success(), "see above");
        Ok(())
    }
}

/// A real server with a token for each role, and no rate limit.
struct Server {
    process: Child,
    data: PathBuf,
    url: String,
}

impl Server {
    fn start(data: &Path, database: Option<&str>) -> Result<Self> {
        fs::create_dir_all(data)?;
        fs::write(data.join("folkmoot.toml"), CONFIGURATION)?;
        let token = |role: &str| format!("{role}:fuzz-{role}=fuzz-token-of-the-{role}-0123456789");
        let mut command = terminated_with_us(&folkmoot());
        command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0"]);
        if let Some(database) = database {
            command.args(["--database", database]);
        }
        let process = command
            .env("FOLKMOOT_BOOTSTRAP_TOKENS", ["viewer", "agent", "reviewer", "admin"].map(token).join(","))
            .env("FOLKMOOT_RATE_LIMIT", "1000000")
            .env("FOLKMOOT_FUZZ_SECRET", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(data.join("log"))?)
            .spawn()
            .context("cannot start the server")?;
        let mut server = Self { process, data: data.to_owned(), url: String::new() };
        server.url = server.wait_until_ready()?;
        Ok(server)
    }

    /// `server.json` is written when it is ready.
    fn wait_until_ready(&mut self) -> Result<String> {
        let since = Instant::now();
        while since.elapsed() < START_LIMIT {
            let told = fs::read_to_string(self.data.join("server.json")).unwrap_or_default();
            let url = told.split_once(r#""url""#).and_then(|(_, rest)| rest.split('"').nth(1));
            if let Some(url) = url {
                return Ok(url.to_owned());
            }
            if let Some(status) = self.process.try_wait()? {
                bail!("the server ended with {status}:\n{}", self.log());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the server is not ready after {START_LIMIT:?}:\n{}", self.log());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.data.join("log")).unwrap_or_default()
    }

    /// As its owner would.
    fn verify(&self) -> Result<()> {
        let mut verify = terminated_with_us(&folkmoot());
        let verified = verify.args(["audit", "verify", "--data"]).arg(&self.data).output()?;
        ensure!(verified.status.success(), "`folkmoot audit verify`: {}", String::from_utf8_lossy(&verified.stderr));
        println!("  {}", String::from_utf8_lossy(&verified.stdout).trim().replace('\n', "\n  "));
        Ok(())
    }

    /// Ends it as a service manager would, and returns what it logged.
    fn stop(mut self) -> Result<String> {
        if let Some(status) = self.process.try_wait()? {
            bail!("the server had ended with {status}:\n{}", self.log());
        }
        // std can only send SIGKILL.
        Command::new("sh").args(["-c", "kill -TERM \"$1\"", "sh"]).arg(self.process.id().to_string()).status()?;
        let since = Instant::now();
        while since.elapsed() < STOP_LIMIT {
            if let Some(status) = self.process.try_wait()? {
                ensure!(status.success(), "the server ended with {status}:\n{}", self.log());
                return Ok(self.log());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the server does not end, {STOP_LIMIT:?} after it was told to");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, unless something went wrong above.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn folkmoot() -> PathBuf {
    target_dir().join("debug").join("folkmoot")
}

/// Where our Python is.
fn scripts() -> PathBuf {
    root().join("xtask").join("fuzz")
}
