//! What the server writes on stderr.

use std::fs::File;

use serde_json::{Value, json};

use crate::{
    http,
    server::{ALICE, ROBOT, Server},
};

/// A server that was asked a few things and ended, and what it said.
fn said(arguments: &[&str], log: Option<&str>) -> String {
    let data = tempfile::tempdir().expect("a temporary folder");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let server = Server::start_with(data, |command| {
        command.args(arguments).envs(log.map(|log| ("FOLKMOOT_LOG", log)));
        command.stderr(File::options().append(true).open(file.path()).expect("a log"));
    });
    let (robot, alice) = (format!("Bearer {ROBOT}"), format!("Bearer {ALICE}"));
    let opened = http::send(
        &server.url,
        "POST",
        "/v1/gates",
        &[("authorization", &robot), ("x-request-id", "first-1")],
        r#"{"summary":"the words of the summary"}"#,
    );
    let gate: Value = serde_json::from_str(opened.split("\r\n\r\n").nth(1).expect("a body")).expect("a gate");
    let path = format!("/v1/gates/{}", gate["id"].as_str().expect("an id"));
    http::send(&server.url, "GET", &format!("{path}?nothing=query-text"), &[("authorization", &alice)], "");
    http::send(
        &server.url,
        "POST",
        &format!("{path}/approve"),
        &[("authorization", &robot), ("x-request-id", "second-2")],
        "{}",
    );
    http::send(
        &server.url,
        "POST",
        &format!("{path}/approve"),
        &[("authorization", &alice), ("x-request-id", "third-3")],
        r#"{"reason":"the words of the reason"}"#,
    );
    http::send(&server.url, "GET", "/nowhere/at-all", &[], "");
    assert_eq!(server.terminate(), Some(0));
    let said = std::fs::read_to_string(file.path()).expect("a log");
    for word in ["the words", "query-text", "at-all", ROBOT, ALICE] {
        assert!(!said.contains(word), "{word:?} is in the log: {said}");
    }
    said
}

fn requests(said: &str) -> Vec<Value> {
    let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    lines.filter(|line| line["target"] == "folkmoot::request").collect()
}

#[test]
fn as_json_every_request_is_a_line_that_says_who_asked_for_what_and_what_came_of_it() {
    let lines = requests(&said(&["--log-json"], None));
    let line = |id: &str| {
        let found = lines.iter().find(|line| line["request_id"] == id);
        found.unwrap_or_else(|| panic!("no line has the id {id}: {lines:?}"))
    };
    let first = line("first-1");
    let gate = &first["gate"];
    assert!(gate.as_str().is_some_and(|gate| gate.starts_with("gate-")), "{first}");
    assert!(first["ms"].as_f64().is_some_and(|ms| ms > 0.0 && ms < 20_000.0), "{first}");
    for (id, method, route, status, code, principal) in [
        ("first-1", "POST", "/v1/gates", 201, Value::Null, "robot"),
        ("second-2", "POST", "/v1/gates/{id}/approve", 403, json!("role_may_not"), "robot"),
        ("third-3", "POST", "/v1/gates/{id}/approve", 200, Value::Null, "alice"),
    ] {
        let line = line(id);
        let found = json!([
            line["level"],
            line["method"],
            line["route"],
            line["status"],
            line["code"],
            line["principal"],
            line["gate"]
        ]);
        assert_eq!(found, json!(["INFO", method, route, status, code, principal, gate]), "{line}");
    }
    let lost = lines.iter().find(|line| line["route"] == "none").expect("a line for what is not there");
    assert_eq!(
        (&lost["status"], &lost["code"], &lost["principal"]),
        (&json!(404), &json!("unknown_address"), &Value::Null)
    );
}

#[test]
fn when_debugging_each_command_is_told_inside_its_request() {
    let said = said(&["--log-json"], Some("folkmoot=debug"));
    let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    let commands: Vec<_> = lines.filter(|line| line["target"] == "folkmoot::command").collect();
    let of = |request: &str| {
        let inside = |line: &&Value| {
            line["spans"].as_array().is_some_and(|spans| {
                spans.iter().any(|span| span["name"] == "request" && span["request_id"] == request)
            })
        };
        commands.iter().find(inside).unwrap_or_else(|| panic!("no command of {request}: {commands:?}"))
    };
    let opened = of("first-1");
    assert_eq!((&opened["message"], &opened["span"]["otel.name"]), (&json!("done"), &json!("gate.open")), "{opened}");
    assert!(opened["span"]["command"].as_str().is_some_and(|id| id.starts_with("cmd-")), "{opened}");
    assert!(opened["span"]["position"].as_u64().is_some_and(|position| position > 0), "{opened}");
    let refused = of("second-2");
    assert_eq!((&refused["message"], &refused["span"]["refused"]), (&json!("refused"), &json!("role_may_not")));
}

#[test]
fn on_a_terminal_requests_that_went_well_are_not_told() {
    let said = said(&[], None);
    assert!(!said.contains("answered") && !said.contains("/v1/gates"), "{said}");
}
