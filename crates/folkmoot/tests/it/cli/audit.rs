//! The log can be checked, here and elsewhere.

use std::path::{Path, PathBuf};

use folkmoot_engine::core::{Digest, Event, Fact, Head, Timestamp, chain};
use rusqlite::Connection;

use super::{Desk, Ended};

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
    let changed = tampered(|lines| lines[3] = lines[3].replace("approved", "rejected"));
    assert_eq!(
        (changed.0, changed.1.contains("problem 4: its content does not give its hash")),
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
        let checked = Self { desk: Desk::new(), kept: tempfile::tempdir().expect("a temporary folder") };
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

    /// What `audit verify` says of a log to which this was done, without the checkpoint and with it.
    fn after(&self, trick: impl FnOnce(&Connection)) -> (Ended, Ended) {
        let copy = Desk::new();
        for file in ["folkmoot.db", "tokens.json", "server.key"] {
            std::fs::copy(self.desk.path().join(file), copy.path().join(file)).expect("a copy");
        }
        trick(&Connection::open(copy.path().join("folkmoot.db")).expect("a database"));
        let (checkpoint, key) = (self.path("checkpoint.json"), self.path("key.pem"));
        (copy.run(&["audit", "verify"]), copy.run(&["audit", "verify", "--checkpoint", &checkpoint, "--key", &key]))
    }
}

fn change(connection: &Connection, sql: &str) {
    assert!(connection.execute(sql, []).expect(sql) > 0, "{sql} changed nothing");
}

/// Computes every hash anew, so that the log agrees with itself.
fn restamp(connection: &Connection) {
    let events: Vec<Event> = {
        let mut statement = connection.prepare("SELECT * FROM events ORDER BY position").expect("events");
        let read = |row: &rusqlite::Row<'_>| {
            let text = |n: usize| row.get::<_, String>(n);
            let number = |n: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(n)?.unsigned_abs());
            let maybe = |n: usize| row.get::<_, Option<String>>(n);
            let fact = Fact {
                stream: text(1)?.into(),
                stream_seq: number(2)?,
                kind: text(3)?.into(),
                version: row.get(4)?,
                actor: text(5)?.parse().expect("a name"),
                on_behalf_of: maybe(6)?.map(|name| name.parse().expect("a name")),
                session: maybe(7)?.map(|id| id.parse().expect("an id")),
                command_id: text(8)?.parse().expect("an id"),
                at: Timestamp::from_micros(row.get(9)?),
                payload: text(10)?,
            };
            Ok(Event { position: number(0)?, fact, prev_hash: Digest::ZERO, hash: Digest::ZERO })
        };
        statement.query_map([], read).expect("events").collect::<Result<_, _>>().expect("events")
    };
    let mut head = Head::START;
    for event in events {
        let stamped = chain::append(&mut head, event.fact);
        assert_eq!(stamped.position, event.position, "positions are dense");
        let hashes = (stamped.position as i64, stamped.prev_hash.to_string(), stamped.hash.to_string());
        connection
            .execute("UPDATE events SET prev_hash = ?2, hash = ?3 WHERE position = ?1", hashes)
            .expect("an event");
    }
    let head = (head.position as i64, head.hash.to_string());
    connection.execute("UPDATE head SET position = ?1, hash = ?2", head).expect("the head");
}

/// T18. What a chain alone finds, and what only a checkpoint that was kept elsewhere does.
#[test]
fn of_five_ways_to_tamper_with_a_log_a_checkpoint_finds_all() {
    let checked = Checked::new();
    let (plain, with) = checked.after(|_| {});
    assert_eq!((plain.code, with.code), (0, 0), "unchanged: {plain:?} {with:?}");
    assert!(with.stdout.contains("is the one of"), "{with:?}");

    let (plain, with) = checked.after(|log| {
        change(
            log,
            "UPDATE events SET payload = replace(payload, 'looked at it', 'never saw it') WHERE type = 'gate.decided'",
        );
    });
    assert_eq!((plain.code, with.code), (1, 1), "edited: {plain:?} {with:?}");

    let (plain, with) = checked.after(|log| change(log, "DELETE FROM events WHERE position = 4"));
    assert_eq!((plain.code, with.code), (1, 1), "deleted: {plain:?} {with:?}");

    let (plain, with) = checked.after(|log| {
        change(log, "UPDATE events SET position = -position WHERE position IN (3, 5)");
        change(log, "UPDATE events SET position = CASE position WHEN -3 THEN 5 ELSE 3 END WHERE position < 0");
    });
    assert_eq!((plain.code, with.code), (1, 1), "reordered: {plain:?} {with:?}");

    // The last decision never was: its event is gone, the head is the one before, the gate waits again.
    let (plain, with) = checked.after(|log| {
        change(log, "UPDATE gates SET status = 'pending', decision = NULL, seq = seq - 1 WHERE status = 'rejected'");
        change(log, "DELETE FROM events WHERE position = (SELECT max(position) FROM events)");
        change(
            log,
            "UPDATE head SET position = position - 1, hash = (SELECT hash FROM events ORDER BY position DESC LIMIT 1)",
        );
    });
    assert_eq!(plain.code, 0, "a chain does not notice that its end is missing: {plain:?}");
    assert_eq!((with.code, with.stdout.contains("the end is missing")), (1, true), "{with:?}");

    // The first decision was another, and always has been.
    let (plain, with) = checked.after(|log| {
        for sql in [
            "UPDATE events SET payload = replace(payload, 'looked at it', 'never saw it') WHERE type = 'gate.decided'",
            "UPDATE gates SET decision = replace(decision, 'looked at it', 'never saw it') WHERE decision IS NOT NULL",
        ] {
            change(log, sql);
        }
        restamp(log);
    });
    assert_eq!(plain.code, 0, "a chain does not notice that it was hashed again: {plain:?}");
    assert_eq!((with.code, with.stdout.contains("the past was rewritten")), (1, true), "{with:?}");
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
    let elsewhere = Desk::new();
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
    let other = Checked::new();
    let ended = elsewhere.run(&["audit", "check", &receipt, "--key", &other.path("key.pem")]);
    assert_eq!((ended.code, ended.stdout.contains("signed with another key")), (1, true), "{ended:?}");
    let ended = elsewhere.run(&["audit", "check", &receipt]);
    assert_eq!((ended.code, ended.stderr.contains("--key")), (0, true), "{ended:?}");
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

    std::fs::write(checked.desk.path().join("folkmoot.toml"), "[audit]\ncheckpoints = \"/nowhere/at/all\"\n")
        .expect("a file");
    let ended = checked.desk.run(&["status"]);
    assert_eq!(
        (ended.code, ended.stderr.contains("no checkpoint can be written to /nowhere/at/all")),
        (1, true),
        "{ended:?}"
    );
}
