//! T18: somebody who can write into the database changes what happened, on SQLite and on
//! PostgreSQL.

use std::path::PathBuf;

use folkmoot_api::wire::AuditEntry;
use folkmoot_engine::core::{Head, chain};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

use crate::{
    cli::{Ended, run},
    crash::postgres,
    server::{Server, folkmoot_with},
};

/// What is done, and who notices.
struct Trick {
    name: &'static str,
    sql: &'static [&'static str],
    /// Then every hash is computed anew, so that the log agrees with itself.
    restamped: bool,
    /// The chain alone notices.
    alone: bool,
    /// What is said by whoever has a checkpoint.
    told: &'static str,
}

const EDIT: &str =
    "UPDATE events SET payload = replace(payload, 'looked at it', 'never saw it') WHERE type = 'gate.decided'";

const TRICKS: [Trick; 7] = [
    Trick { name: "edited", sql: &[EDIT], restamped: false, alone: true, told: "its content does not give its hash" },
    Trick {
        name: "blamed on another token",
        sql: &["UPDATE events SET token_id = 'tok-0123456789abcdef' WHERE type = 'gate.decided'"],
        restamped: false,
        alone: true,
        told: "its content does not give its hash",
    },
    Trick {
        name: "without its token",
        sql: &["UPDATE events SET token_id = NULL WHERE token_id IS NOT NULL AND type = 'gate.decided'"],
        restamped: false,
        alone: true,
        told: "its content does not give its hash",
    },
    Trick {
        name: "deleted",
        sql: &["DELETE FROM events WHERE position = 4"],
        restamped: false,
        alone: true,
        told: "event 4 is missing",
    },
    Trick {
        name: "reordered",
        sql: &[
            "UPDATE events SET position = -position WHERE position IN (3, 5)",
            "UPDATE events SET position = CASE position WHEN -3 THEN 5 ELSE 3 END WHERE position < 0",
        ],
        restamped: false,
        alone: true,
        told: "problem",
    },
    // The last decision never was: its event is gone, the head is the one before, the gate waits
    // again.
    Trick {
        name: "cut off",
        sql: &[
            "UPDATE gates SET status = 'pending', decision = NULL, seq = seq - 1 WHERE status = 'rejected'",
            "DELETE FROM events WHERE position = (SELECT max(position) FROM events)",
            "UPDATE head SET position = position - 1, hash = (SELECT hash FROM events ORDER BY position DESC LIMIT 1)",
        ],
        restamped: false,
        alone: false,
        told: "the end is missing",
    },
    // The decisions were others, and always have been.
    Trick {
        name: "rewritten",
        sql: &[
            EDIT,
            "UPDATE gates SET decision = replace(decision, 'looked at it', 'never saw it') WHERE decision IS NOT NULL",
        ],
        restamped: true,
        alone: false,
        told: "the past was rewritten",
    },
];

#[test]
fn of_seven_ways_to_tamper_with_a_log_a_checkpoint_finds_all() {
    seven_ways(Database::Sqlite);
}

#[test]
fn on_postgresql_too_a_checkpoint_finds_all_of_seven_ways() {
    let runtime = Runtime::new().expect("a runtime");
    if let Some(url) = runtime.block_on(postgres::schema()) {
        seven_ways(Database::Postgres { url, runtime });
    }
}

fn seven_ways(database: Database) {
    let mut past = Past::new(database);
    let (plain, with) = past.verified();
    assert_eq!((plain.code, with.code), (0, 0), "unchanged: {plain:?} {with:?}");
    assert!(with.stdout.contains("is the one of"), "{with:?}");
    for Trick { name, sql, restamped, alone, told } in &TRICKS {
        past.restore();
        for sql in *sql {
            past.change(sql);
        }
        if *restamped {
            past.restamp();
        }
        let (plain, with) = past.verified();
        assert_eq!(plain.code, i32::from(*alone), "{name}: {plain:?}");
        assert_eq!((with.code, with.stdout.contains(told)), (1, true), "{name}: {with:?}");
    }
    past.restore();
    assert_eq!(past.verified().1.code, 0, "what was undone is as it was");
}

/// What a debate keeps must have a run in the log that says so.
fn a_turn_that_nobody_said(database: Database) {
    let mut past = Past::new(database);
    assert_eq!(past.verified().0.code, 0);
    past.change(
        "INSERT INTO records (run_id, collection, id, place, fields, texts, created_at, expires_at)
         VALUES ('ghost', 'debate_turns', 'x', 1, '{}', '{}', 1, 9223372036854775807)",
    );
    let plain = past.verified().0;
    let told = plain.stdout.contains("run:ghost") && plain.stdout.contains("there is no such run");
    assert_eq!((plain.code, told), (1, true), "{plain:?}");
}

#[test]
fn a_turn_that_nobody_said_is_found() {
    a_turn_that_nobody_said(Database::Sqlite);
}

#[test]
fn on_postgresql_too_a_turn_that_nobody_said_is_found() {
    let runtime = Runtime::new().expect("a runtime");
    if let Some(url) = runtime.block_on(postgres::schema()) {
        a_turn_that_nobody_said(Database::Postgres { url, runtime });
    }
}

/// A log with decisions in it, and a checkpoint and the key, kept elsewhere.
struct Past {
    data: Option<TempDir>,
    kept: TempDir,
    database: Database,
}

enum Database {
    Sqlite,
    Postgres { url: String, runtime: Runtime },
}

impl Past {
    fn new(database: Database) -> Self {
        let folder = || tempfile::tempdir().expect("a temporary folder");
        let mut past = Self { data: Some(folder()), kept: folder(), database };
        let (checkpoint, key) = (past.path("checkpoint.json"), past.path("key.pem"));
        past.served(|verb| {
            for (title, decision) in [("Deploy", "approve"), ("Drop the table", "reject")] {
                verb(&["gate", "open", title]);
                verb(&[decision, "--reason", "looked at it"]);
            }
            verb(&["audit", "checkpoint", "--out", &checkpoint]);
            std::fs::write(&key, verb(&["audit", "key"]).stdout).expect("a file");
        });
        match &past.database {
            Database::Sqlite => drop(std::fs::copy(past.file(), past.path("folkmoot.db")).expect("a copy")),
            Database::Postgres { .. } => {
                for table in TABLES {
                    past.execute(&format!("CREATE TABLE kept_{table} AS TABLE {table}"));
                }
            }
        }
        past
    }

    fn path(&self, name: &str) -> String {
        self.kept.path().join(name).to_str().expect("a path of text").to_owned()
    }

    /// Where SQLite has it.
    fn file(&self) -> PathBuf {
        self.data.as_ref().expect("nobody serves it").path().join("folkmoot.db")
    }

    /// Does something with the verbs while a server serves this, which has ended when this returns.
    fn served<T>(&mut self, talk: impl FnOnce(&dyn Fn(&[&str]) -> Ended) -> T) -> T {
        let server = Server::start_with(self.data.take().expect("nobody serves it"), |command| {
            if let Database::Postgres { url, .. } = &self.database {
                command.args(["--database", url]);
            }
        });
        let done = talk(&|arguments| run(&mut folkmoot_with(server.data.path(), arguments)));
        let (code, data) = server.terminate_and_keep();
        assert_eq!(code, Some(0));
        self.data = Some(data);
        done
    }

    /// What `audit verify` says without the checkpoint, and with it.
    fn verified(&mut self) -> (Ended, Ended) {
        let (checkpoint, key) = (self.path("checkpoint.json"), self.path("key.pem"));
        self.served(|verb| {
            let with = verb(&["audit", "verify", "--checkpoint", &checkpoint, "--key", &key]);
            (verb(&["audit", "verify"]), with)
        })
    }

    /// Undoes every trick.
    fn restore(&self) {
        match &self.database {
            Database::Sqlite => drop(std::fs::copy(self.path("folkmoot.db"), self.file()).expect("a copy")),
            Database::Postgres { .. } => {
                for table in TABLES {
                    self.execute(&format!("DELETE FROM {table}"));
                    self.execute(&postgres::copy_rows(&format!("kept_{table}"), table));
                }
            }
        }
    }

    fn change(&self, sql: &str) {
        assert!(self.execute(sql) > 0, "{sql} changed nothing");
    }

    fn execute(&self, sql: &str) -> u64 {
        match &self.database {
            Database::Sqlite => {
                let database = rusqlite::Connection::open(self.file()).expect("a database");
                database.execute(sql, []).expect(sql).try_into().expect("a number of rows")
            }
            Database::Postgres { url, runtime } => runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers");
                let connection = tokio::spawn(connection);
                let changed = client.execute(sql, &[]).await.expect(sql);
                connection.abort();
                changed
            }),
        }
    }

    /// Computes every hash anew.
    fn restamp(&mut self) {
        let exported = self.served(|verb| verb(&["audit", "export"]).stdout);
        let mut head = Head::START;
        for line in exported.lines() {
            let entry: AuditEntry = serde_json::from_str(line).expect("an entry");
            let event = entry.event().expect("an event");
            let stamped = chain::append(&mut head, event.fact);
            assert_eq!(stamped.position, event.position, "positions are dense");
            self.change(&format!(
                "UPDATE events SET prev_hash = '{}', hash = '{}' WHERE position = {}",
                stamped.prev_hash, stamped.hash, stamped.position
            ));
        }
        self.change(&format!("UPDATE head SET hash = '{}'", head.hash));
    }
}

/// What the tricks change.
const TABLES: [&str; 3] = ["events", "head", "gates"];
