//! The agents of examples/, as a stranger runs them: halted, released, answered, approved and
//! denied.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{Ended, Terminal, run};
use crate::server::{ROBOT, Server, clean, eventually, folkmoot_with};

#[test]
fn the_shell_agent_is_halted_and_released_and_deploys_what_is_approved() {
    deploys(&["sh", "agent.sh"]);
}

#[test]
fn the_python_agent_is_halted_and_released_and_deploys_what_is_approved() {
    deploys(&["python3", "agent.py"]);
}

#[test]
fn the_shell_agent_does_not_deploy_what_is_denied() {
    let Some(ended) = denied(&["sh", "agent.sh"]) else { return };
    assert_eq!((ended.code, last(&ended)), (3, "builder: not deploying (exit code 3)"), "{ended:?}");
}

#[test]
fn the_python_agent_does_not_deploy_what_is_denied() {
    let Some(ended) = denied(&["python3", "agent.py"]) else { return };
    assert_eq!(ended.code, 3, "{ended:?}");
    let told = last(&ended);
    assert!(told.starts_with("builder: not deploying: denied by ") && told.ends_with(": not on a Friday"), "{told}");
}

#[test]
fn an_agent_with_a_url_and_a_token_needs_no_folder() {
    let server = Server::start();
    for script in [["sh", "agent.sh"], ["python3", "agent.py"]].into_iter().filter(|script| is_there(script[0])) {
        let nowhere = tempfile::tempdir().unwrap();
        let mut agent = example(nowhere.path(), &script);
        let agent = Terminal::new(agent.env("FOLKMOOT_URL", &server.url).env("FOLKMOOT_TOKEN", ROBOT));
        let question = asked(&server, "BLOCKING");
        assert_eq!(question["asked_by"], "robot");
        say(&server, &["deny", id(&question), "--reason", "no"]);
        assert_eq!(agent.finish().code, 3, "{script:?}");
    }
}

/// Halts the agent while it waits for an answer, releases it, and approves.
fn deploys(script: &[&str; 2]) {
    if !is_there(script[0]) {
        return;
    }
    let server = Server::start();
    let mut agent = Terminal::new(&mut example(server.data.path(), script));
    let mut lines = agent.lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("builder: reading the code"));
    let question = asked(&server, "BLOCKING");
    let halt = say(&server, &["halt", "all", "--reason", "the disk is full"]);
    say(&server, &["answer", id(&question), "blue"]);
    lines.by_ref().find(|line| line == "builder: halted").expect("it is halted");
    assert!(!agent.has_ended());
    say(&server, &["lift", &halt]);
    lines.by_ref().find(|line| line == "builder: released").expect("it is released");
    assert_eq!(lines.next().as_deref(), Some("builder: painting it blue"));
    say(&server, &["answer", id(&asked(&server, "APPROVAL")), "approve"]);
    assert_eq!(lines.last().as_deref(), Some("builder: deploying"));
    let ended = agent.finish();
    assert_eq!(ended.code, 0, "{ended:?}");
}

fn denied(script: &[&str; 2]) -> Option<Ended> {
    if !is_there(script[0]) {
        return None;
    }
    let server = Server::start();
    let agent = Terminal::new(&mut example(server.data.path(), script));
    say(&server, &["answer", id(&asked(&server, "BLOCKING")), "red"]);
    say(&server, &["deny", id(&asked(&server, "APPROVAL")), "--reason", "not on a Friday"]);
    let ended = agent.finish();
    // It has heard the denial, so that holds it no longer.
    assert_eq!(say(&server, &["clear", "builder", "--session", "nightly"]), "clear");
    Some(ended)
}

fn is_there(interpreter: &str) -> bool {
    let there = Command::new(interpreter).args(["-c", ""]).status().is_ok_and(|status| status.success());
    if !there {
        eprintln!("skipped: there is no {interpreter} here");
    }
    there
}

pub(super) fn example(data: &Path, [interpreter, script]: &[&str; 2]) -> Command {
    let executable = PathBuf::from(env!("CARGO_BIN_EXE_folkmoot"));
    let known = std::env::var_os("PATH").unwrap_or_default();
    let folders = executable.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&known));
    let mut command = Command::new(interpreter);
    clean(&mut command, data)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(script))
        .env("PATH", std::env::join_paths(folders).expect("folders have no colon"))
        .env("PACE", "0");
    command
}

/// The question of this type that waits, once it does.
fn asked(server: &Server, question_type: &str) -> Value {
    eventually("it asks", || {
        let list: Value = serde_json::from_str(&say(server, &["--json", "questions"])).ok()?;
        let questions = list["questions"].as_array()?;
        questions.iter().find(|question| question["type"] == question_type).cloned()
    })
}

fn say(server: &Server, arguments: &[&str]) -> String {
    let ended = run(&mut folkmoot_with(server.data.path(), arguments));
    assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    ended.stdout.trim_end().to_owned()
}

fn id(question: &Value) -> &str {
    question["id"].as_str().expect("an id")
}

fn last(ended: &Ended) -> &str {
    ended.stdout.lines().last().unwrap_or_default()
}
