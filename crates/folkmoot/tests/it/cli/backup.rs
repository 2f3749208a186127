//! `backup` and `restore`, as somebody types them.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Desk, run};
use crate::server::{ALICE, Server, folkmoot, folkmoot_with};

#[test]
fn a_backup_is_one_file_for_its_owner_and_restores_to_the_same_head() {
    let desk = Desk::new();
    let id = desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let file = desk.path().join("backup.db");
    let told = desk.json(&["backup", file.to_str().unwrap()]);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(told["backup"]["position"], json!(4));
    assert_eq!(told["backup"]["rows"]["gates"], json!(1));
    assert_eq!(told["backup"]["bytes"], json!(std::fs::metadata(&file).unwrap().len()));
    let verified = desk.json(&["audit", "verify"]);
    assert_eq!(verified["head_hash"], told["backup"]["head_hash"]);

    let other = Desk::empty();
    let read = other.say(&["restore", file.to_str().unwrap()]);
    assert!(read.contains("Restored into") && read.contains("1 gate,") && read.contains("every row agrees"), "{read}");
    assert!(read.contains(verified["head_hash"].as_str().unwrap()), "{read}");
    assert_eq!(other.json(&["gate", "list"])["gates"][0]["id"], json!(id));
    // The owner of the new folder decides there, with tokens of their own.
    other.say(&["approve", &id]);
    let tokens = |desk: &Desk| std::fs::read_to_string(desk.path().join("tokens.json")).unwrap();
    assert_ne!(tokens(&desk), tokens(&other));
}

#[test]
fn a_restore_says_which_tokens_work_again_and_revokes_them_if_asked() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let carol = desk.json(&["token", "create", "carol", "--role", "reviewer"]);
    let (id, secret) = (carol["id"].as_str().unwrap(), carol["token"].as_str().unwrap());
    let file = desk.path().join("backup.db");
    let file = file.to_str().unwrap();
    desk.say(&["backup", file]);
    desk.say(&["token", "revoke", id]);
    let works = |desk: &Desk| desk.run(&["--token", secret, "gate", "list"]).code == 0;
    assert!(!works(&desk), "it was revoked");

    // A backup cannot know what was revoked since. So it is said.
    let kept = Desk::empty();
    let told = kept.run(&["restore", file]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.stderr.contains("also those that were revoked after it was made") && told.stderr.contains(id),
        "{told:?}"
    );
    assert!(told.stderr.contains("--revoke-tokens"), "{told:?}");

    let safe = Desk::empty();
    let told = safe.json(&["restore", file, "--revoke-tokens"]);
    assert_eq!(told["restored"]["valid_tokens"], json!([]));
    let revoked = told["restored"]["revoked_tokens"].as_array().unwrap();
    assert!(revoked.iter().any(|token| token["id"] == json!(id)) && revoked.len() == 4, "{told}");
    // The token that these tests give to scripts was in the backup too: without it, the owner of
    // the folder has new ones.
    let without_it = |arguments: &[&str]| run(folkmoot_with(safe.path(), arguments).env_remove("FOLKMOOT_TOKEN"));
    assert_ne!(without_it(&["--token", secret, "gate", "list"]).code, 0, "it was revoked, and stays so");
    let verified = without_it(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let listed = without_it(&["--json", "gate", "list"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["gates"].as_array().unwrap().len(), 1);

    // The same where it is restored into PostgreSQL.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let Some(database) = runtime.block_on(crate::crash::postgres::schema()) else { return };
    let told = Desk::empty().json(&["restore", file, "--revoke-tokens", "--database", &database]);
    assert_eq!(told["restored"]["valid_tokens"], json!([]));
    assert_eq!(told["restored"]["revoked_tokens"].as_array().unwrap().len(), 4, "{told}");
}

#[test]
fn a_backup_holds_no_secret() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let minted = desk.json(&["token", "create", "carol", "--role", "reviewer"]);
    let file = desk.path().join("backup.db");
    desk.say(&["backup", file.to_str().unwrap()]);
    let held = std::fs::read(&file).unwrap();
    let tokens: Value = serde_json::from_slice(&std::fs::read(desk.path().join("tokens.json")).unwrap()).unwrap();
    let key = std::fs::read_to_string(desk.path().join("server.key")).unwrap();
    let secrets = [&tokens["you"]["token"], &tokens["agent"]["token"], &minted["token"]].map(|it| it.as_str().unwrap());
    let holds = |text: &str| held.windows(text.len()).any(|window| window == text.as_bytes());
    for secret in secrets.iter().chain([&key.trim()]) {
        assert!(secret.len() > 20 && !holds(secret), "{secret} is in the backup");
    }
    assert!(holds("carol") && holds("Deploy 1.4.2"), "what is no secret is there");
}

#[test]
fn nothing_is_overwritten() {
    let desk = Desk::empty();
    let file = desk.path().join("backup.db");
    let file = file.to_str().unwrap();
    let nothing = desk.run(&["backup", file]);
    assert!(nothing.code == 1 && nothing.stderr.contains("has no database"), "{nothing:?}");
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    desk.say(&["backup", file]);
    let before = std::fs::read(file).unwrap();
    let again = desk.run(&["backup", file]);
    assert!(again.code == 1 && again.stderr.contains("nothing is overwritten"), "{again:?}");
    assert_eq!(std::fs::read(file).unwrap(), before);
    let into = desk.run(&["restore", file]);
    assert!(into.code == 1 && into.stderr.contains("holds a database with 3 events"), "{into:?}");
    // What a database left behind that is gone would be added to the one that is restored.
    let other = Desk::empty();
    std::fs::write(other.path().join("folkmoot.db-wal"), "what is left").unwrap();
    let into = other.run(&["restore", file]);
    assert!(into.code == 1 && into.stderr.contains("what is left of a database"), "{into:?}");
    assert!(!other.path().join("folkmoot.db").exists());
    // An empty database makes room; somebody else's does not.
    std::fs::remove_file(other.path().join("folkmoot.db-wal")).unwrap();
    let foreign = rusqlite::Connection::open(other.path().join("folkmoot.db")).unwrap();
    foreign.execute_batch("CREATE TABLE mine (x)").unwrap();
    let into = other.run(&["restore", file]);
    assert!(into.code == 1 && into.stderr.contains("no data of Folkmoot"), "{into:?}");
    foreign.execute_batch("DROP TABLE mine").unwrap();
    drop(foreign);
    other.say(&["restore", file]);
    // A running server keeps its folder.
    let server = Server::start();
    let into = run(folkmoot(server.data.path()).args(["restore", file]));
    assert!(into.code == 1 && into.stderr.contains("already has a server"), "{into:?}");
    // A server elsewhere has nothing to do with it.
    let far = desk.run(&["--url", &server.url, "--token", ALICE, "backup", "far.db"]);
    assert!(far.code == 1 && far.stderr.contains("not through a server"), "{far:?}");
}

#[test]
fn what_is_no_backup_restores_nothing() {
    let (desk, other) = (Desk::new(), Desk::empty());
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let file = desk.path().join("backup.db");
    let file = file.to_str().unwrap();
    let refused = |other: &Desk, expected: &str| {
        let ended = other.run(&["restore", file]);
        assert!(ended.code == 1 && ended.stderr.contains(expected), "{expected}: {ended:?}");
        assert!(!other.path().join("folkmoot.db").exists());
    };
    refused(&other, "No such file");
    std::fs::write(file, "no database").unwrap();
    refused(&other, "not a database");
    std::fs::remove_file(file).unwrap();
    desk.say(&["backup", file]);
    let change = |sql: &str| rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    // Changed by hand: it is not restored, and kept to be looked at.
    change("UPDATE gates SET title = 'Harmless'");
    refused(&other, "does not agree with itself: gate-");
    assert!(other.path().join("folkmoot.db.unverified").exists());
    change("UPDATE gates SET title = 'Deploy 1.4.2'");
    other.say(&["restore", file]);
    // From the future.
    change("INSERT INTO migrations VALUES (99, 'later', 'sha256:00')");
    refused(&Desk::empty(), "made by a newer Folkmoot");
}

/// The log of a database that somebody changed is still copied: there is no better copy to be had.
#[test]
fn a_backup_that_does_not_agree_with_itself_says_so_and_is_kept_apart() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let database = rusqlite::Connection::open(desk.path().join("folkmoot.db")).unwrap();
    database.execute_batch("UPDATE events SET payload = replace(payload, '1.4.2', '6.6.6')").unwrap();
    drop(database);
    let file = desk.path().join("backup.db");
    let ended = desk.run(&["backup", file.to_str().unwrap()]);
    assert!(ended.code == 1 && ended.stderr.contains("its content does not give its hash"), "{ended:?}");
    assert!(!file.exists() && desk.path().join("backup.db.unverified").exists());
}

/// Two at once into one file: one of them is told to wait, whichever it is, and the file is whole.
#[test]
fn two_backups_do_not_write_one_file() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let file = desk.path().join("backup.db");
    let both = [(); 2].map(|()| desk.spawn(&["backup", file.to_str().unwrap()]));
    let ended = both.map(super::Terminal::finish);
    assert!(ended.iter().any(|ended| ended.code == 0), "{ended:?}");
    for ended in ended.iter().filter(|ended| ended.code != 0) {
        assert!(ended.stderr.contains("is there already") || ended.stderr.contains("another process"), "{ended:?}");
    }
    Desk::empty().say(&["restore", file.to_str().unwrap()]);
}
