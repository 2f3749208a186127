//! Two terminals on one data folder just work.

use serde_json::json;

use super::{Desk, run};
use crate::server::{self, Server, eventually, folkmoot};

#[test]
fn a_short_verb_needs_no_server() {
    let desk = Desk::new();
    let gate = desk.say(&["gate", "open", "Deploy 1.4.2"]);
    assert!(gate.starts_with("gate-") && gate.lines().count() == 1, "{gate}");
    assert_eq!(desk.pending(1)[0]["id"], gate.as_str());
    assert!(!desk.path().join("server.json").exists(), "it went with the verb");
}

#[test]
fn whoever_waits_is_the_server_of_the_other_terminals() {
    let desk = Desk::new();
    let waiter = desk.spawn(&["gate", "open", "Deploy 1.4.2", "--wait"]);
    eventually("it says where it listens", || desk.path().join("server.json").exists().then_some(()));
    desk.pending(1);
    desk.say(&["approve"]);
    let ended = waiter.finish();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.starts_with("approved by "), "{ended:?}");
}

#[test]
fn when_the_host_ends_another_waiter_takes_its_place() {
    let desk = Desk::new();
    let first = desk.spawn(&["gate", "open", "first", "--wait"]);
    desk.pending(1);
    let second = desk.spawn(&["gate", "open", "second", "--wait"]);
    let gates = desk.pending(2);
    let id = |title: &str| gates.iter().find(|gate| gate["title"] == title).unwrap()["id"].as_str().unwrap().to_owned();
    desk.say(&["approve", &id("first")]);
    assert_eq!(first.finish().code, 0);
    let rejected = desk.say(&["reject", &id("second"), "--reason", "not yet"]);
    assert!(rejected.starts_with("rejected second"), "{rejected}");
    let ended = second.finish();
    assert_eq!(ended.code, 3, "{ended:?}");
}

#[test]
fn a_file_that_a_dead_server_left_behind_harms_nobody() {
    let server = Server::start();
    let data = server.kill();
    let desk = Desk { data };
    assert!(desk.path().join("server.json").exists());
    let gate = desk.say(&["gate", "open", "still works"]);
    assert_eq!(desk.pending(1)[0]["id"], gate.as_str());
}

#[test]
fn a_dead_servers_file_never_sends_a_token_to_whoever_has_its_port_now() {
    let desk = Desk::new();
    desk.say(&["status"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let file = json!({ "url": url, "pid": 1, "started_at": "2026-01-31T09:00:00Z" });
    std::fs::write(desk.path().join("server.json"), file.to_string()).unwrap();
    desk.say(&["status"]);
    assert!(listener.accept().is_err(), "somebody else was spoken to");
}

#[test]
fn a_second_server_is_refused_and_told_of_the_first() {
    let server = Server::start();
    let second = run(folkmoot(server.data.path()).args(["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(second.code, 1, "{second:?}");
    let first = format!("already has a server: process {} at {}", server.pid(), server.url);
    assert!(second.stderr.contains(&first), "{second:?}");
}

#[test]
fn a_server_that_holds_the_folder_but_does_not_answer_is_named() {
    let server = Server::start();
    let pid = server.pid();
    server::signal(pid, "STOP");
    let ended = run(folkmoot(server.data.path()).args(["status"]));
    server::signal(pid, "CONT");
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains(&format!("process {pid} holds")), "{ended:?}");
}

#[test]
fn a_url_needs_a_token_unless_it_is_the_folders_own() {
    let server = Server::start();
    let own = run(folkmoot(server.data.path()).args(["--url", &server.url, "status"]));
    assert_eq!(own.code, 0, "{own:?}");
    let other = Desk::new();
    let ended = other.run(&["--url", &server.url, "status"]);
    assert_eq!((ended.code, ended.stderr.contains("give one with --token")), (1, true), "{ended:?}");
    let ended = other.run(&["--url", &server.url, "--token", server::ALICE, "status"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_unreachable() {
    let desk = Desk::new();
    let gate = "gate-external-custom-1-0123456789abcdef";
    for verb in [&["status"][..], &["gate", "wait", gate], &["watch"], &["gate", "open", "x", "--wait"]] {
        let ended = desk.run(&[&["--url", "http://127.0.0.1:1", "--token", "0123456789abcdef"], verb].concat());
        assert_eq!(ended.code, 1, "{verb:?}: {ended:?}");
        assert!(ended.stderr.starts_with("error: http://127.0.0.1:1 cannot be reached"), "{verb:?}: {ended:?}");
    }
}

#[test]
fn verbs_that_are_each_others_server_for_a_moment_all_succeed() {
    let desk = Desk::new();
    let titles: Vec<String> = (0..8).map(|n| format!("gate {n}")).collect();
    let opening: Vec<_> = titles.iter().map(|title| desk.spawn(&["gate", "open", title])).collect();
    let looking: Vec<_> = (0..8).map(|_| desk.spawn(&["gate", "list"])).collect();
    for verb in opening.into_iter().chain(looking) {
        let ended = verb.finish();
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    desk.pending(8);
}

/// An agent whose `ask --wait` serves the folder must not keep a server out that was restarted.
#[test]
fn whoever_waits_lets_a_server_have_the_folder_and_goes_on_there() {
    let desk = Desk::new();
    let mut asking = desk.spawn(&["ask", "Which colour?", "--wait"]);
    asking.errors().next().expect("it waits").expect("text");
    let mut waiting = desk.spawn(&["clear", "agent", "--wait"]);
    waiting.errors().next().expect("it waits").expect("text");
    let serving = folkmoot(desk.path())
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut serving = Serving(serving.expect("it starts"));
    eventually("the server has the folder", || {
        let file = std::fs::read(desk.path().join("server.json")).ok()?;
        let server: serde_json::Value = serde_json::from_slice(&file).ok()?;
        (server["pid"] == serving.0.id()).then_some(())
    });
    assert!(!asking.has_ended() && !waiting.has_ended(), "both still wait");
    desk.say(&["answer", "question-", "blue"]);
    assert_eq!(asking.finish().stdout.trim(), "blue");
    assert_eq!(waiting.finish().code, 0);
    server::signal(serving.0.id(), "TERM");
    assert!(serving.0.wait().expect("it ends").success());
    assert!(!desk.path().join("wanted").exists(), "nothing is left behind");
}

/// Killed when dropped, also where the test has failed.
struct Serving(std::process::Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
