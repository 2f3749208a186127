//! The log can be checked, here and elsewhere.

mod tampered;

use std::path::{Path, PathBuf};

use super::Desk;
use crate::server::{Server, signal};

/// A log with a decision in it, exported.
fn exported() -> (Desk, Vec<String>) {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    desk.say(&["approve", "--comment", "tested"]);
    let lines = desk.say(&["audit", "export"]).lines().map(str::to_owned).collect();
    (desk, lines)
}

/// What `audit verify --file` says of these lines.
fn verify(desk: &Desk, lines: &[String]) -> (i32, String) {
    let file = desk.path().join("export.jsonl");
    std::fs::write(&file, lines.join("\n")).expect("a file");
    let ended = desk.run(&["audit", "verify", "--file", file.to_str().expect("a path of text")]);
    (ended.code, ended.stdout)
}

#[test]
fn the_log_is_verified_where_it_is() {
    let (desk, lines) = exported();
    let said = desk.say(&["audit", "verify"]);
    assert!(said.starts_with(&format!("ok {} events and 1 row agrees", lines.len())), "{said}");
}

#[test]
fn an_export_is_verified_alone_and_has_the_same_head() {
    let (desk, lines) = exported();
    let (code, said) = verify(&desk, &lines);
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.lines().last(), desk.say(&["audit", "verify"]).lines().last());
}

#[test]
fn a_part_of_the_log_is_verified_as_a_part() {
    let (desk, lines) = exported();
    let part = desk.say(&["audit", "export", "--after", "2"]);
    assert_eq!(part.lines().collect::<Vec<_>>(), lines[2..]);
    let (code, said) = verify(&desk, &lines[2..]);
    assert_eq!((code, said.contains("what came before event 3 is not in this file")), (0, true), "{said}");
}

#[test]
fn every_tampering_with_an_export_is_found() {
    let (desk, lines) = exported();
    let tampered = |change: fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        verify(&desk, &lines)
    };
    let changed = tampered(|lines| lines[4] = lines[4].replace("approved", "rejected"));
    assert_eq!(
        (changed.0, changed.1.contains("problem 5: its content does not give its hash")),
        (1, true),
        "{changed:?}"
    );
    let removed = tampered(|lines| drop(lines.remove(1)));
    assert_eq!((removed.0, removed.1.contains("problem 2: event 2 is missing")), (1, true), "{removed:?}");
    let swapped = tampered(|lines| lines.swap(2, 3));
    assert_eq!(swapped.0, 1, "{swapped:?}");
    let garbage = tampered(|lines| lines[2] = "{}".to_owned());
    assert_eq!((garbage.0, garbage.1.contains("problem line 3: is no event")), (1, true), "{garbage:?}");
}

#[test]
fn an_export_can_be_written_to_a_file() {
    let (desk, lines) = exported();
    let file = desk.path().join("log.jsonl");
    desk.say(&["audit", "export", "--out", file.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().collect::<Vec<_>>(), lines);
}

/// A log with decisions in it, and a checkpoint and the key, kept elsewhere.
struct Checked {
    desk: Desk,
    kept: tempfile::TempDir,
}

impl Checked {
    fn new() -> Self {
        // Each has a log of its own, from the first event on.
        let (_, data) = Server::start().terminate_and_keep();
        let checked = Self { desk: Desk { data }, kept: tempfile::tempdir().expect("a temporary folder") };
        for (title, verb) in [("Deploy", "approve"), ("Drop the table", "reject")] {
            checked.desk.say(&["gate", "open", title]);
            checked.desk.say(&[verb, "--reason", "looked at it"]);
        }
        checked.desk.say(&["audit", "checkpoint", "--out", &checked.path("checkpoint.json")]);
        std::fs::write(checked.path("key.pem"), checked.desk.say(&["audit", "key"])).expect("a file");
        checked
    }

    fn path(&self, name: &str) -> String {
        self.kept.path().join(name).to_str().expect("a path of text").to_owned()
    }
}

/// What is wrong with the checkpoint itself.
#[test]
fn a_checkpoint_that_is_none_of_ours_is_told_apart() {
    let checked = Checked::new();
    let desk = &checked.desk;
    let (checkpoint, key) = (checked.path("checkpoint.json"), checked.path("key.pem"));
    let verify = |checkpoint: &str, key: &str| desk.run(&["audit", "verify", "--checkpoint", checkpoint, "--key", key]);
    assert_eq!(verify(&checkpoint, &key).code, 0);
    let weaker = desk.run(&["audit", "verify", "--checkpoint", &checkpoint]);
    assert_eq!((weaker.code, weaker.stderr.contains("Keep the key")), (0, true), "{weaker:?}");

    let text = std::fs::read_to_string(&checkpoint).expect("a file");
    let forged = checked.path("forged.json");
    std::fs::write(&forged, text.replace("\"position\": ", "\"position\": 1")).expect("a file");
    let found = verify(&forged, &key);
    assert_eq!((found.code, found.stdout.contains("the signature is bad")), (1, true), "{found:?}");

    let other = Checked::new();
    let found = verify(&other.path("checkpoint.json"), &key);
    assert_eq!((found.code, found.stdout.contains("signed with another key")), (1, true), "{found:?}");
    let found = verify(&other.path("checkpoint.json"), &other.path("key.pem"));
    assert_eq!((found.code, found.stdout.contains("is of another log")), (1, true), "{found:?}");

    // Another line each time; the log has grown since.
    let lines = checked.path("checkpoints");
    desk.say(&["gate", "open", "One more"]);
    let again = desk.say(&["audit", "checkpoint"]);
    let first: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    std::fs::write(&lines, format!("{first}\n{again}\n")).expect("a file");
    let found = verify(&lines, &key);
    assert_eq!((found.code, found.stdout.matches("is the one of").count()), (0, 2), "{found:?}");

    // A line that a crash cut off, perhaps within a letter, is told; what comes before and after it
    // counts.
    let torn = [format!("{first}\n{}", &again[..again.len() / 2]).as_bytes(), b"\xc3\n", again.as_bytes()].concat();
    std::fs::write(&lines, &torn).expect("a file");
    let found = verify(&lines, &key);
    assert_eq!((found.code, found.stdout.matches("is the one of").count()), (0, 2), "{found:?}");
    assert!(found.stderr.contains("line 2 is left out"), "{found:?}");
    let forged_line = text.replace('\n', "").replace("\"position\": ", "\"position\": 1");
    let forged_too = [torn.as_slice(), b"\n", forged_line.as_bytes()];
    std::fs::write(&lines, forged_too.concat()).expect("a file");
    let found = verify(&lines, &key);
    assert_eq!((found.code, found.stdout.contains("line 4: the signature is bad")), (1, true), "{found:?}");
    std::fs::write(&lines, &again[..again.len() / 2]).expect("a file");
    let found = verify(&lines, &key);
    assert_eq!((found.code, found.stderr.contains("holds no checkpoint")), (1, true), "{found:?}");

    let export = checked.path("log.jsonl");
    desk.say(&["audit", "export", "--checkpoint", "--out", &export]);
    let found = desk.run(&["audit", "verify", "--file", &export, "--checkpoint", &checkpoint, "--key", &key]);
    assert_eq!((found.code, found.stdout.matches("is the one of").count()), (0, 2), "{found:?}");
    let whole = std::fs::read_to_string(&export).expect("a file");
    let cut: Vec<&str> = whole.lines().filter(|line| !line.contains("One more")).collect();
    std::fs::write(&export, cut.join("\n")).expect("a file");
    let found = desk.run(&["audit", "verify", "--file", &export, "--key", &key]);
    assert_eq!((found.code, found.stdout.contains("the end is missing")), (1, true), "{found:?}");
}

#[test]
fn a_receipt_is_checked_without_a_server_or_its_data() {
    let checked = Checked::new();
    let (receipt, key) = (checked.path("receipt.json"), checked.path("key.pem"));
    let gates = checked.desk.json(&["gate", "list", "--status", "approved"]);
    let gate = gates["gates"][0]["id"].as_str().expect("a gate").to_owned();
    checked.desk.say(&["audit", "receipt", &gate, "--out", &receipt]);
    let elsewhere = Desk::empty();
    let said = elsewhere.say(&["audit", "check", &receipt, "--key", &key]);
    assert!(said.contains("approved by") && said.contains("on exactly this content"), "{said}");
    assert!(said.contains("looked at it") && said.contains("Deploy"), "{said}");
    assert_eq!(files(elsewhere.path()), Vec::<PathBuf>::new(), "nothing was made there");

    let text = std::fs::read_to_string(&receipt).expect("a file");
    for (from, to, found) in [
        ("looked at it", "never saw it", "the signature is bad"),
        ("\"text\": \"Deploy\"", "\"text\": \"Destroy\"", "this content was changed"),
        ("\"status\": \"approved\"", "\"status\": \"rejected\"", "status: is not what the events make of it"),
    ] {
        let changed = checked.path("changed.json");
        assert!(text.contains(from), "{from} is not in {text}");
        std::fs::write(&changed, text.replace(from, to)).expect("a file");
        let ended = elsewhere.run(&["audit", "check", &changed, "--key", &key]);
        assert_eq!((ended.code, ended.stdout.contains(found)), (1, true), "{found}: {ended:?}");
    }
    // Of a member that is there twice, somebody else's reader may show the one that was not signed.
    for member in ["\"status\": \"approved\"", "\"text\": \"Deploy\""] {
        let twice = checked.path("twice.json");
        std::fs::write(&twice, text.replacen(member, &format!("{member}, {member}"), 1)).expect("a file");
        let ended = elsewhere.run(&["audit", "check", &twice, "--key", &key]);
        assert_eq!((ended.code, ended.stderr.contains("is there twice")), (1, true), "{member}: {ended:?}");
    }
    let other = Checked::new();
    let ended = elsewhere.run(&["audit", "check", &receipt, "--key", &other.path("key.pem")]);
    assert_eq!((ended.code, ended.stdout.contains("signed with another key")), (1, true), "{ended:?}");
    let ended = elsewhere.run(&["audit", "check", &receipt]);
    assert_eq!((ended.code, ended.stderr.contains("--key")), (11, true), "{ended:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect()
}

#[test]
fn a_secret_is_erased_and_nothing_else() {
    let desk = Desk::new();
    let note = desk.path().join("note.txt");
    std::fs::write(&note, "the key is sk-very-secret-1234").expect("a file");
    desk.say(&["gate", "open", "Use it", "--artifact", note.to_str().expect("a path of text")]);
    std::fs::remove_file(&note).expect("it is ours");
    let on_disk = || {
        let holds = |path: &PathBuf| {
            let bytes = std::fs::read(path).expect("a file");
            bytes.windows(15).any(|window| window == b"sk-very-secret-")
        };
        files(desk.path()).iter().any(holds)
    };
    assert!(on_disk(), "it is there to begin with");
    let gate = desk.json(&["gate", "show"]);
    let digest = gate["artifacts"][0]["digest"].as_str().expect("a digest");
    let ended = desk.run(&["erase", digest, "--reason", "a key"]);
    assert_eq!((ended.code, ended.stderr.contains("still needs")), (1, true), "{ended:?}");
    desk.say(&["approve"]);
    assert!(desk.say(&["erase", digest, "--reason", "a key"]).contains(digest));
    assert!(!on_disk(), "it is in no file");
    assert!(desk.say(&["gate", "show", gate["id"].as_str().expect("an id")]).contains("erased"));
    assert!(desk.say(&["audit", "verify"]).starts_with("ok"));
    assert_eq!(desk.say(&["erase", digest, "--reason", "again"]), "It was erased before.");
}

#[test]
fn a_server_writes_checkpoints_without_being_asked() {
    let checked = Checked::new();
    let lines = checked.path("checkpoints");
    std::fs::write(checked.desk.path().join("folkmoot.toml"), format!("[audit]\ncheckpoints = {lines:?}\n"))
        .expect("a file");
    let count = || std::fs::read_to_string(&lines).expect("checkpoints").lines().count();
    checked.desk.say(&["status"]);
    assert_eq!(count(), 1, "the log has not grown since the start");
    checked.desk.say(&["gate", "open", "One more"]);
    assert_eq!(count(), 2);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&lines).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let found = checked.desk.run(&["audit", "verify", "--checkpoint", &lines, "--key", &checked.path("key.pem")]);
    assert_eq!((found.code, found.stdout.matches("is the one of").count()), (0, 2), "{found:?}");

    // Another log takes the folder, with another key, and no checkpoint says that it is the right
    // one: however often it starts.
    let other = Checked::new();
    for file in ["folkmoot.db", "server.key", "tokens.json"] {
        std::fs::copy(other.desk.path().join(file), checked.desk.path().join(file)).expect("a copy");
    }
    for _ in 0..2 {
        let mut serve = checked.desk.spawn(&["serve", "--listen", "127.0.0.1:0"]);
        assert!(serve.lines().next().is_some_and(|line| line.is_ok_and(|line| line.contains("listens on"))));
        signal(serve.pid(), "INT");
        let logged = serve.finish().stderr;
        assert!(logged.contains("the log is not the one of") && logged.contains("line 1"), "{logged}");
        assert!(logged.contains("no more are written there"), "{logged}");
        assert_eq!(count(), 2, "nothing was added");
    }

    std::fs::write(checked.desk.path().join("folkmoot.toml"), "[audit]\ncheckpoints = \"/nowhere/at/all\"\n")
        .expect("a file");
    let ended = checked.desk.run(&["status"]);
    assert_eq!(
        (ended.code, ended.stderr.contains("no checkpoint can be written to /nowhere/at/all")),
        (1, true),
        "{ended:?}"
    );
}

#[test]
fn a_receipt_of_another_server_is_not_ok_unless_its_key_is_given() {
    let (ours, theirs) = (Desk::new(), Desk::new());
    let id = theirs.say(&["gate", "open", "Deploy"]);
    theirs.say(&["approve"]);
    let file = theirs.path().join("receipt.json");
    let path = file.to_str().expect("a path");
    theirs.say(&["audit", "receipt", &id, "--out", path]);
    assert_eq!(theirs.run(&["audit", "check", path]).code, 0, "it is signed with this folder's own key");
    let foreign = ours.run(&["audit", "check", path]);
    assert_eq!(foreign.code, 11, "{foreign:?}");
    assert!(
        !foreign.stdout.contains("ok ") && foreign.stderr.contains("Whose key that is was not shown"),
        "{foreign:?}"
    );
    let json = ours.run(&["--json", "audit", "check", path]);
    assert!(json.stdout.contains("\"ok\":false") && json.stdout.contains("\"key_is_known\":false"), "{json:?}");
    let key = theirs.path().join("key.pem");
    std::fs::write(&key, theirs.say(&["audit", "key"])).unwrap();
    assert_eq!(ours.run(&["audit", "check", path, "--key", key.to_str().expect("a path")]).code, 0);
}
