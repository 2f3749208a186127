//! A server to which the operating system gives few open files: one agent cannot use them up.

use std::{
    io::Write,
    net::TcpStream,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    http,
    server::{ALICE, ROBOT, Server},
};

const ROOT: &str = "root-token-0123456789";

/// The same command with at most so many open files, which it cannot raise.
fn with_open_files(command: &mut Command, most: u32) {
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={most}:{most}")).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    *command = limited;
}

#[test]
fn people_list_decide_and_halt_while_one_agent_takes_every_open_file_it_can() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        println!("NOT TESTED: there is no prlimit here");
        return;
    }
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start_with(data, |command| with_open_files(command, 192));
    let bearer = |token: &str| format!("Bearer {token}");
    let send = |token: &str, method: &str, path: &str, body: &str| {
        http::send(&server.url, method, path, &[("authorization", &bearer(token))], body)
    };
    let opened = send(ROBOT, "POST", "/v1/gates", r#"{"summary": "Deploy"}"#);
    let id = opened.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a gate").to_owned();
    let mut open = Vec::new();
    for n in 0..300 {
        let head = match n % 3 {
            0 => format!("GET /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ROBOT}\r\n\r\n"),
            1 => "GET /v1/gates HTTP/1.1\r\nhost: localhost\r\nx-half".to_owned(),
            _ => String::new(),
        };
        let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("it listens");
        // One that made room for another is closed.
        let _ = stream.write_all(head.as_bytes());
        open.push(stream);
    }
    let begun = Instant::now();
    let listed = send(ALICE, "GET", "/v1/gates", "");
    assert!(listed.starts_with("HTTP/1.1 200"), "{listed}");
    let decided = send(ALICE, "POST", &format!("/v1/gates/{id}/approve"), "{}");
    assert!(decided.starts_with("HTTP/1.1 200"), "{decided}");
    let halted = send(ROOT, "POST", "/v1/halts", r#"{"scope": "all", "reason": "enough"}"#);
    assert!(halted.starts_with("HTTP/1.1 201"), "{halted}");
    // A half-sent head may take 30 seconds.
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    drop(open);
    assert_eq!(server.terminate(), Some(0));
}
