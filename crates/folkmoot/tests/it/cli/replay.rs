//! `folkmoot replay`: the same verdict without any model, or where it differs; as text, as JSON and
//! as an exit code.

use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, run};
use crate::server::{Server, folkmoot_with};

/// A server that asks the rehearsal.
fn start(data: TempDir) -> Server {
    Server::start_with(data, |command| {
        command.env("FOLKMOOT_PROVIDER", "rehearsal");
    })
}

fn ask(server: &Server, arguments: &[&str]) -> Ended {
    run(&mut folkmoot_with(server.data.path(), arguments))
}

#[test]
fn a_debate_is_replayed_to_the_same_verdict_or_says_where_it_differs() {
    let server = start(tempfile::tempdir().unwrap());
    let held = ask(&server, &["debate", "Shall we write tests first?", "--preset", "quick", "--id", "over"]);
    assert!([0, 10].contains(&held.code), "{held:?}");
    let waiting = ["debate", "Shall we?", "--preset", "quick", "--id", "waits", "--gate", "proposal", "--no-wait"];
    assert_eq!(ask(&server, &waiting).code, 0);

    for arguments in [&["replay", "over"][..], &["debate", "replay", "over"]] {
        let same = ask(&server, arguments);
        assert_eq!(same.code, 0, "{same:?}");
        let last = same.stdout.lines().last().unwrap();
        let calls = last.strip_prefix("the same verdict, ").and_then(|rest| rest.split(' ').next());
        assert!(calls.is_some_and(|calls| calls.parse::<u32>().unwrap() > 10), "{same:?}");
        assert!(last.ends_with(" calls answered from the record"), "{same:?}");
    }
    let json: Value = serde_json::from_str(&ask(&server, &["--json", "replay", "over"]).stdout).unwrap();
    assert_eq!((&json["same"], &json["differs"]), (&Value::Bool(true), &Value::Null));

    let waits = crate::server::eventually("it waits", || {
        let replayed = ask(&server, &["replay", "waits"]);
        replayed.stdout.contains("it waits at gate").then_some(replayed)
    });
    assert_eq!(waits.code, 4, "{waits:?}");
    assert!(waits.stdout.starts_with("paused so far: "), "{waits:?}");
    assert_eq!(ask(&server, &["debate", "cancel", "waits"]).code, 0);
    let cancelled = ask(&server, &["replay", "waits"]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert!(cancelled.stdout.contains("the same as far as it came, "), "{cancelled:?}");
    let unknown = ask(&server, &["replay", "nobody-knows-it"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("nobody-knows-it"), "{unknown:?}");

    let (_, data) = server.terminate_and_keep();
    let turn = include_str!("../../../../folkmoot-llm/prompts/debate/turn.md");
    std::fs::create_dir_all(data.path().join("prompts/debate")).unwrap();
    std::fs::write(data.path().join("prompts/debate/turn.md"), format!("Think twice.\n\n{turn}")).unwrap();
    std::fs::write(data.path().join("folkmoot.toml"), "prompts = \"prompts\"\n").unwrap();
    let server = start(data);
    let differs = ask(&server, &["replay", "over"]);
    assert_eq!(differs.code, 1, "{differs:?}");
    assert!(differs.stdout.starts_with("it differs at 1/proposal/"), "{differs:?}");
    assert!(differs.stdout.contains("(workflow_changed)"), "{differs:?}");
}
