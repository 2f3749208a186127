//! Runs that a script executes: each step once, looked at, drawn, and ended.

use serde_json::{Value, json};

use super::{Desk, Terminal, run};
use crate::server::{Server, eventually};

#[test]
fn a_run_is_started_stepped_shown_and_ended() {
    let server = Server::start();
    let say = |arguments: &[&str]| {
        let ended = run(&mut crate::server::folkmoot_with(server.data.path(), arguments));
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
        ended.stdout.trim_end().to_owned()
    };
    let id = say(&["start", "Nightly build", "--session", "nightly", "--input", r#"{"branch": "main"}"#]);
    assert!(id.starts_with("run-"), "{id}");
    say(&["step", "begin", &id, "build", "--once"]);
    assert_eq!(say(&["step", "done", &id, "build", "--text", "a.tar"]), "build done");
    assert_eq!(say(&["step", "done", &id, "build", "--text", "a.tar"]), "build done, as before");
    say(&["step", "fail", &id, "test", "--reason", "2 of 7 fail", "--code", "red"]);
    let gate = say(&["gate", "open", "Deploy 1.4.2", "--run", &id]);
    let question = say(&["ask", "Which region?", "--run", &id, "--type", "decision"]);
    let shown = say(&["show", &id[id.len() - 8..]]);
    for part in [
        "Nightly build\nrunning · started by agent ",
        "session    nightly",
        r#"input      {"branch":"main"}"#,
        &format!("gate {}: Deploy 1.4.2", &gate[gate.len() - 8..]),
        &format!("approve {}", &gate[gate.len() - 8..]),
        &format!("question {}: Which region?", &question[question.len() - 8..]),
        "a.tar",
        "red: 2 of 7 fail",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
    assert!(say(&["show", &gate]).contains("Deploy 1.4.2"), "a gate's id shows the gate");
    assert!(say(&["show", &question[question.len() - 8..]]).contains("Which region?"));
    say(&["approve", "-y", &gate]);
    say(&["answer", &question, "eu"]);
    let listed = say(&["runs", "--status", "running", "--session", "nightly"]);
    assert!(listed.contains(&id) && listed.contains("Nightly build"), "{listed}");
    assert_eq!(say(&["end", &id, "--output", r#"{"version": "1.4.2"}"#]), format!("completed Nightly build {id}"));
    let shown: Value = serde_json::from_str(&say(&["--json", "show", &id])).unwrap();
    assert_eq!((&shown["ending"]["output"]["version"], &shown["waiting_at"]), (&json!("1.4.2"), &json!(null)));
    let journal: Value = serde_json::from_str(&say(&["--json", "journal", &id])).unwrap();
    assert_eq!(
        (&journal["entries"][0]["kind"], &journal["entries"][1]["error"]["code"]),
        (&json!("once"), &json!("red"))
    );
    let events: Value = serde_json::from_str(&say(&["--json", "events", &id])).unwrap();
    assert_eq!(events["entries"][0]["type"], "run.started");
    let told = say(&["events", &id]);
    for part in ["external: Nightly build", "once build begun", "once build done", "gate.decided", "run.ended"] {
        assert!(told.contains(part), "{part:?} is missing in\n{told}");
    }
}

#[test]
fn a_timeline_is_eighty_columns_wide_in_a_pipe() {
    let desk = Desk::new();
    let id = desk.say(&["start", "Nightly build"]);
    desk.say(&["step", "done", &id, "checkout"]);
    desk.say(&["gate", "open", "Deploy 1.4.2", "--run", &id]);
    desk.say(&["approve", "-y"]);
    desk.say(&["step", "begin", &id, "deploy", "--once"]);
    let drawn = desk.say(&["show", &id, "--timeline"]);
    for line in drawn.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    let bars: Vec<_> = drawn.lines().skip(3).take(3).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(bars, ["checkout", "Deploy", "deploy"]);
    let last = drawn.lines().nth(5).unwrap();
    assert!(last.contains('▶'), "it goes on: {last}");
    desk.say(&["cancel", &id, "--reason", "enough"]);
    let drawn = desk.say(&["show", &id, "--timeline"]);
    assert!(drawn.starts_with("Nightly build · cancelled · ") && !drawn.contains('▶'), "{drawn}");
}

/// examples/deploy.sh, as docs/runs.md tells of it.
#[test]
fn a_script_that_is_killed_and_started_again_does_nothing_twice_and_guesses_nothing() {
    let server = Server::start();
    let work = tempfile::tempdir().unwrap();
    let shipped = work.path().join("shipped");
    let script = || {
        let mut command = super::examples::example(server.data.path(), &["sh", "deploy.sh"]);
        command.env("PACE", "1").env("SHIPPED", &shipped);
        command
    };
    let say = |arguments: &[&str]| {
        let ended = run(&mut crate::server::folkmoot_with(server.data.path(), arguments));
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
        ended.stdout
    };
    let json = |arguments: &[&str]| serde_json::from_str::<Value>(&say(&[&["--json"], arguments].concat())).unwrap();
    let waits = || eventually("it waits", || Some(json(&["gate", "list"])["gates"].as_array()?.first()?["id"].clone()));

    let first = Terminal::new(&mut script());
    let gate = waits();
    drop(first);
    let mut second = Terminal::new(&mut script());
    second.errors().find(|line| line.as_ref().is_ok_and(|line| line.starts_with("Waiting for"))).unwrap().unwrap();
    assert_eq!(waits(), gate, "it asks once");
    say(&["approve", "-y"]);
    let id = json(&["runs"])["runs"][0]["id"].as_str().unwrap().to_owned();
    eventually("it ships", || json(&["journal", &id])["entries"].as_array()?.get(2).cloned());
    drop(second);
    let unknown = run(&mut script());
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stdout.starts_with("built app-1.4.2.tar\napproved by "), "{unknown:?}");
    assert!(unknown.stderr.starts_with("ship was begun before, and nobody knows"), "{unknown:?}");
    say(&["step", "done", &id, "ship", "--text", "I looked, and it is there"]);
    let done = run(&mut script());
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("I looked") && done.stdout.contains("completed Deploy 1.4.2"), "{done:?}");
    let shipped = std::fs::read_to_string(shipped).unwrap_or_default();
    assert!(shipped.lines().count() <= 1, "it was shipped twice: {shipped}");
}

#[test]
fn a_step_answers_by_its_exit_code() {
    let desk = Desk::new();
    let id = desk.say(&["start", "--id", "my-run"]);
    assert_eq!(id, "my-run");
    let begin = |key: &str, more: &[&str]| {
        let ended = desk.run(&[&["step", "begin", "my-run", key], more].concat());
        (ended.code, ended.stdout)
    };
    let nothing = String::new;
    assert_eq!(begin("a", &[]), (0, nothing()));
    assert_eq!(begin("a", &[]), (0, nothing()), "what may be repeated is to be done again");
    desk.say(&["step", "done", "my-run", "a", "--result", r#"{"n": 1}"#]);
    assert_eq!(begin("a", &[]), (7, "{\"n\":1}\n".to_owned()));
    assert_eq!(begin("b", &["--once"]), (0, nothing()));
    assert_eq!(begin("b", &["--once"]), (8, nothing()));
    desk.say(&["step", "done", "my-run", "b", "--text", "two words"]);
    assert_eq!(begin("b", &["--once"]), (7, "two words\n".to_owned()));
    desk.say(&["step", "fail", "my-run", "c", "--reason", "no"]);
    assert_eq!(begin("c", &[]), (9, nothing()));
    let entry = desk.run(&["--json", "step", "begin", "my-run", "b", "--once"]);
    assert_eq!((entry.code, entry.stderr.as_str()), (7, ""));
    assert_eq!(serde_json::from_str::<Value>(&entry.stdout).unwrap()["result"], "two words");
    let other = desk.run(&["step", "done", "my-run", "a", "--result", "2"]);
    assert_eq!((other.code, other.stderr.contains("results never change")), (1, true), "{other:?}");
    let bad = desk.run(&["step", "done", "my-run", "d", "--result", "two words"]);
    assert_eq!((bad.code, bad.stderr.contains("write JSON")), (2, true), "{bad:?}");
}

#[test]
fn cancel_ends_a_run_a_gate_or_a_question_and_resume_moves_nothing_that_waits() {
    let desk = Desk::new();
    let (one, two) = (desk.say(&["start", "one", "--id", "r-1"]), desk.say(&["start", "two", "--id", "r-10"]));
    let gate = desk.say(&["gate", "open", "Deploy", "--run", &one]);
    let resumed = desk.run(&["resume", &one]);
    assert_eq!((resumed.code, resumed.stderr.contains("executed by somebody else's agent")), (1, true), "{resumed:?}");
    assert_eq!(desk.say(&["cancel", "r-1", "--reason", "enough"]), "cancelled one r-1", "the exact id wins");
    assert_eq!(desk.json(&["show", &gate])["status"], "cancelled");
    assert_eq!(desk.json(&["show", &two])["status"], "running");
    assert!(desk.say(&["runs"]).contains("one (enough)"));
    let again = desk.run(&["cancel", "r-1"]);
    assert_eq!((again.code, again.stderr.contains("is over")), (1, true), "{again:?}");
    let gate = desk.say(&["gate", "open", "Deploy"]);
    assert_eq!(desk.say(&["cancel", &gate]), format!("cancelled {gate}"));
    let question = desk.say(&["ask", "Why?", "--type", "decision"]);
    assert!(desk.say(&["cancel", &question[question.len() - 8..]]).starts_with("cancelled: Why?"));
    for verb in [&["show", "nobody"][..], &["cancel", "nobody"], &["resume", "nobody"], &["journal", "nobody"]] {
        let ended = desk.run(verb);
        assert_eq!((ended.code, ended.stderr.contains("`folkmoot runs`")), (1, true), "{verb:?}: {ended:?}");
    }
    let unknown = desk.run(&["start", "x", "--workflow", "publish@1"]);
    assert_eq!(
        (unknown.code, unknown.stderr.contains("is not known here; use one of debate@1, plan@1")),
        (1, true),
        "{unknown:?}"
    );
    assert!(desk.say(&["show"]).starts_with("two\nrunning"), "the only one that is under way");
}

#[test]
fn a_run_is_meant_by_the_end_of_its_id_and_whoever_is_halted_begins_nothing() {
    let desk = Desk::new();
    let id = desk.say(&["start", "Nightly build"]);
    let short = &id[id.len() - 8..];
    let gate = desk.say(&["gate", "open", "Deploy", "--run", short]);
    assert!(gate.starts_with(&format!("gate-{id}-")), "{gate}");
    desk.say(&["ask", "Which?", "--type", "alert", "--run", short]);
    assert_eq!(desk.say(&["runs"]).lines().count(), 2, "no other run was started");
    desk.say(&["halt", "all", "--reason", "smoke"]);
    let halted = desk.run(&["step", "begin", &id, "build"]);
    assert_eq!(halted.code, 6, "{halted:?}");
    assert!(halted.stderr.contains("halted"), "{halted:?}");
}

#[test]
fn a_script_gets_exactly_what_was_recorded() {
    let desk = Desk::new();
    let id = desk.say(&["start", "Nightly build", "--id", "nightly"]);
    assert_eq!(desk.say(&["start", "Nightly build", "--id", "nightly"]), id, "the same id is the same run");
    desk.say(&["step", "done", &id, "red", "--text", "\u{1b}[31mred"]);
    desk.say(&["step", "done", &id, "none"]);
    let red = desk.run(&["step", "begin", &id, "red"]);
    assert_eq!((red.code, red.stdout.as_str()), (7, "\u{1b}[31mred\n"));
    let none = desk.run(&["step", "begin", &id, "none"]);
    assert_eq!((none.code, none.stdout.as_str()), (7, ""));
}
