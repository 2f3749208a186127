//! What the doctor says of the server and its data.

use std::{os::unix::fs::PermissionsExt, path::Path, time::SystemTime};

use serde_json::Value;

use super::{Desk, run};
use crate::server::{Server, folkmoot};

/// What it found, by name: whether it is well, and in which words.
fn findings(data: &Path) -> impl Fn(&str) -> (bool, String) + use<> {
    let ended = run(folkmoot(data).args(["--json", "doctor"]).env("OLLAMA_HOST", "127.0.0.1:1"));
    assert_eq!(ended.code, 0, "{ended:?}");
    let told: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    move |name| {
        let ours = |finding: &&Value| matches!(finding["area"].as_str(), Some("server" | "data"));
        let found =
            told["findings"].as_array().expect("a list").iter().filter(ours).find(|finding| finding["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{name}: {told}"));
        (found["ok"].as_bool().expect("yes or no"), found["detail"].as_str().expect("a text").to_owned())
    }
}

#[test]
fn a_folder_that_is_not_there_is_no_fault() {
    let desk = Desk::new();
    let folder = desk.path().join("new");
    let found = findings(&folder);
    for name in ["running", "server.key", "clock", "folder", "disk", "database"] {
        assert!(found(name).0, "{name}: {}", found(name).1);
    }
    assert!(!folder.exists(), "it was made");
}

#[test]
fn it_works_beside_a_running_server() {
    let server = Server::start();
    let found = findings(server.data.path());
    assert!(found("running").1.contains(&server.url), "{:?}", found("running"));
    for name in ["running", "server.key", "clock", "folder", "disk", "database", "integrity", "write-ahead log", "log"]
    {
        assert!(found(name).0, "{name}: {}", found(name).1);
    }
    assert!(found("database").1.contains("schema ") && found("log").1.contains("ends at "), "{:?}", found("log"));
    let data = server.kill();
    let found = findings(data.path());
    assert!(!found("running").0 && found("running").1.contains("start it again"), "{:?}", found("running"));
    assert!(found("integrity").0, "{:?}", found("integrity"));
}

#[test]
fn webhooks_whose_secret_is_of_another_key_are_found() {
    let desk = Desk::new();
    desk.say(&["webhook", "add", "https://example.org/", "--name", "builder"]);
    let (ok, detail) = findings(desk.path())("webhooks");
    assert!(ok && detail.contains("builder"), "{detail}");
    std::fs::remove_file(desk.path().join("server.key")).unwrap();
    desk.say(&["gate", "open", "Deploy"]);
    let (ok, detail) = findings(desk.path())("webhooks");
    assert!(!ok && detail.contains("folkmoot webhook rotate builder"), "{detail}");
    desk.say(&["webhook", "rotate", "builder"]);
    let (ok, detail) = findings(desk.path())("webhooks");
    assert!(ok, "{detail}");
}

#[test]
fn it_changes_nothing() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    let state = || {
        let files = std::fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<(_, Vec<u8>, SystemTime)> = files
            .map(|path| {
                let changed = path.metadata().unwrap().modified().unwrap();
                (path.clone(), std::fs::read(path).unwrap(), changed)
            })
            .collect();
        files.sort();
        files
    };
    let before = state();
    assert!(findings(desk.path())("log").1.contains("ends at 4"));
    assert!(before == state(), "something was changed");
}

#[test]
fn what_is_wrong_is_found() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    let chmod = |name: &str, mode| {
        let path = if name.is_empty() { desk.path().to_owned() } else { desk.path().join(name) };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let wrong = |name: &str, expected: &str| {
        let (ok, detail) = findings(desk.path())(name);
        assert!(!ok && detail.contains(expected), "{name}: {detail}");
    };
    chmod("server.key", 0o644);
    wrong("server.key", "chmod 600");
    chmod("server.key", 0o600);
    chmod("tokens.json", 0o640);
    wrong("folder", "chmod 600");
    chmod("tokens.json", 0o600);
    chmod("", 0o755);
    wrong("folder", "chmod 700");
    chmod("", 0o700);
    std::fs::write(desk.path().join("server.key"), "no key").unwrap();
    wrong("server.key", "64 hexadecimal digits");
    // An event from tomorrow.
    let file = desk.path().join("folkmoot.db");
    let change = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    change("UPDATE events SET at = at + 86400000000 WHERE position = 4");
    wrong("clock", "before the last event");
    change("UPDATE events SET at = at - 86400000000 WHERE position = 4");
    assert!(findings(desk.path())("clock").0);
    change("INSERT INTO migrations VALUES (99, 'later', 'sha256:00')");
    wrong("database", "made by a newer Folkmoot");
    change("DELETE FROM migrations WHERE version = 99");
    // A page in the middle that is another's.
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0x5a);
    std::fs::write(&file, bytes).unwrap();
    wrong("integrity", "restore the last backup");
}
