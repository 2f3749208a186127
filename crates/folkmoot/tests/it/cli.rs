//! The verbs. `Desk` is one data folder, at which any number of terminals sit.

mod answer;
mod ask;
mod audit;
mod backup;
mod clear;
mod close;
mod completions;
mod debate;
mod decide;
mod demo;
mod doctor;
mod examples;
mod exit_codes;
mod finding;
mod gate;
mod halt;
mod json;
mod models;
mod notify;
mod plan;
mod plumbing;
mod presence;
mod prompt;
mod protect;
mod questions;
mod replay;
mod runs;
mod serve;
mod service;
mod status;
mod talk;
mod token;
mod watch;
mod workflows;

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::server::{eventually, folkmoot_with, with_yours};

/// A data folder.
struct Desk {
    data: TempDir,
}

/// How a verb ended.
#[derive(Debug)]
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Desk {
    /// One whose owner has made a token for scripts, which are what decides here.
    fn new() -> Self {
        Self { data: with_yours() }
    }

    /// One that nobody has used.
    fn empty() -> Self {
        Self { data: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self) -> &Path {
        self.data.path()
    }

    /// A verb that was run to its end.
    fn run(&self, arguments: &[&str]) -> Ended {
        run(&mut folkmoot_with(self.path(), arguments))
    }

    /// As [`Desk::run`], with something on standard input.
    fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        let mut child = piped(folkmoot_with(self.path(), arguments).stdin(Stdio::piped()));
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        finish(child)
    }

    /// What a verb that succeeds prints.
    fn say(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
        ended.stdout.trim_end().to_owned()
    }

    /// What a verb that succeeds prints with `--json`.
    fn json(&self, arguments: &[&str]) -> Value {
        let said = self.say(&[&["--json"], arguments].concat());
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"))
    }

    /// A verb that goes on in another terminal.
    fn spawn(&self, arguments: &[&str]) -> Terminal {
        Terminal::new(&mut folkmoot_with(self.path(), arguments))
    }

    /// Waits until so many questions wait.
    fn questions(&self, count: usize) -> Vec<Value> {
        eventually("the questions are there", || {
            let list = self.json(&["questions"]);
            let questions = list["questions"].as_array().cloned().unwrap_or_default();
            (questions.len() == count).then_some(questions)
        })
    }

    /// Waits until so many gates wait.
    fn pending(&self, count: usize) -> Vec<Value> {
        eventually("the gates are there", || {
            let list = self.json(&["gate", "list"]);
            let gates = list["gates"].as_array().cloned().unwrap_or_default();
            (gates.len() == count).then_some(gates)
        })
    }
}

/// A verb that runs. Killed when dropped.
struct Terminal {
    child: Option<Child>,
}

impl Terminal {
    fn new(command: &mut Command) -> Self {
        Self { child: Some(piped(command)) }
    }

    fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Its standard output, line by line.
    fn lines(&mut self) -> std::io::Lines<BufReader<ChildStdout>> {
        BufReader::new(self.child.as_mut().and_then(|child| child.stdout.take()).expect("a pipe")).lines()
    }

    /// Its standard error, line by line.
    fn errors(&mut self) -> std::io::Lines<BufReader<ChildStderr>> {
        BufReader::new(self.child.as_mut().and_then(|child| child.stderr.take()).expect("a pipe")).lines()
    }

    fn has_ended(&mut self) -> bool {
        self.child.as_mut().expect("it runs").try_wait().expect("it is ours").is_some()
    }

    fn finish(mut self) -> Ended {
        finish(self.child.take().expect("it runs"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn run(command: &mut Command) -> Ended {
    finish(piped(command))
}

fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the verb starts")
}

/// Waits for its end; a verb that never ends fails the test instead of holding it up.
fn finish(mut child: Child) -> Ended {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let out = std::thread::spawn(move || read(stdout));
    let err = std::thread::spawn(move || read(stderr));
    let begun = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break Some(status);
        }
        // A debate executes code in the jail, dozens of times, beside all the other tests.
        if begun.elapsed() > 4 * crate::server::TEST_TIMEOUT {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let (stdout, stderr) = (out.join().expect("it reads"), err.join().expect("it reads"));
    let status = status.unwrap_or_else(|| panic!("a verb did not end; stdout: {stdout}; stderr: {stderr}"));
    Ended { code: status.code().unwrap_or(-1), stdout, stderr }
}

fn read(pipe: Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_string(&mut text).expect("text");
    }
    text
}
