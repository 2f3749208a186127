//! A disk that changes a byte: the server does not start, or says so, or nothing that anybody is
//! told has changed.
//!
//! `FOLKMOOT_FLIPS=2000` for more places than usual; `--nocapture` shows what became of them.

use std::{collections::BTreeMap, path::Path};

use folkmoot_api::Client;
use folkmoot_core::gate::Choice;
use folkmoot_server::{Config, DataFolder, Server};
use rusqlite::{Connection, types::Value as Cell};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::node::{Node, postgres};

/// What is compared with the log, or is it. Not: how often a run was woken, when content was last
/// sent, hashes of tokens.
const AUDITED: [&str; 8] = [
    "SELECT * FROM events ORDER BY position",
    "SELECT * FROM head",
    "SELECT * FROM gates ORDER BY id",
    "SELECT * FROM questions ORDER BY id",
    "SELECT * FROM halts ORDER BY id",
    "SELECT id, kind, session_id, initiator, started_at, title, workflow, role, parent, input, limits, status, state, node,
            parked_wakes, held, epoch, steps, begun, journal_bytes, active_micros, moved_at, seq FROM runs ORDER BY id",
    "SELECT * FROM journal ORDER BY run_id, key",
    "SELECT digest, content FROM artifacts ORDER BY digest",
];

/// What became of the flips.
#[derive(Debug, Default)]
struct Tally {
    refused_to_start: usize,
    flagged: usize,
    /// Nothing that is audited has changed.
    harmless: usize,
    /// How many decisions were refused to be told, over all flips.
    decisions_refused: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_byte_never_changes_what_was_decided() {
    let flips = flips();
    let original = a_past().await;
    let bytes = std::fs::read(original.path().join("folkmoot.db")).unwrap();
    let truth = told(original.path()).await.expect("the original starts");
    assert_eq!(truth.problems, Some(Vec::new()), "the original is sound");
    assert!(truth.decisions.values().filter(|decision| decision.is_some()).count() >= 4);
    let stored = audited(original.path()).expect("the original can be read");

    let mut random = 0x5eed_u64;
    let anywhere = (0..flips).map(|_| next(&mut random) as usize % bytes.len()).collect::<Vec<_>>();
    let inside = facts(original.path(), &bytes);
    let inside = (0..flips).map(|_| inside[next(&mut random) as usize % inside.len()]).collect::<Vec<_>>();
    for (name, places) in [("anywhere", anywhere), ("in what was said and decided", inside)] {
        let mut tally = Tally::default();
        for place in places {
            let mask = 1 << (next(&mut random) % 8);
            let copy = copy_of(original.path());
            let mut flipped = bytes.clone();
            flipped[place] ^= mask;
            std::fs::write(copy.path().join("folkmoot.db"), flipped).unwrap();
            let same = audited(copy.path()) == Some(stored.clone());
            let Some(found) = told(copy.path()).await else {
                tally.refused_to_start += 1;
                continue;
            };
            for (gate, decision) in &truth.decisions {
                match found.decisions.get(gate) {
                    Some(told) => assert_eq!(told, decision, "byte {place} ^ {mask} changed what is told of {gate}"),
                    None => tally.decisions_refused += 1,
                }
            }
            match found.problems {
                Some(problems) if problems.is_empty() => {
                    assert!(same, "byte {place} ^ {mask} changed what is kept, and nothing was found");
                    assert_eq!(found.decisions, truth.decisions);
                    tally.harmless += 1;
                }
                _ => tally.flagged += 1,
            }
        }
        println!("{flips} bytes {name} of {}: {tally:?}", bytes.len());
        if name != "anywhere" {
            assert_eq!(tally.harmless, 0, "whatever changes what was said is found");
        }
    }
}

/// On PostgreSQL, whose files have checksums of their own, by whoever may write into the tables:
/// one character of what was said and decided, of who did it, of a hash. Somebody may have asked
/// before, so it is one server that is asked again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_character_in_postgresql_never_changes_what_was_decided() {
    let Some(setting) = postgres().await else { return };
    let database = setting.database.clone().unwrap();
    let node = Node::with(setting).await;
    happened(&node).await;
    let (database, connection) = tokio_postgres::connect(&database, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let sql = TEXTS.map(|(table, key, column)| {
        let text = if column == "content" { "convert_from(content, 'UTF8')" } else { column };
        format!("SELECT '{table}', '{key}', {key}::text, '{column}', {text} FROM {table} WHERE length({column}) > 0")
    });
    let texts = database.query(&sql.join(" UNION ALL "), &[]).await.unwrap();
    let client = node.client("vera");
    let ids = ids(&node).await;
    let truth = decisions(&client, &ids).await;
    assert!(truth.values().filter(|decision| decision.is_some()).count() >= 4);

    let mut random = 0x5eed_u64;
    let (mut flagged, mut decisions_refused) = (0, 0);
    for _ in 0..flips() {
        let row = &texts[next(&mut random) as usize % texts.len()];
        let [table, key, id, column, text] = [0, 1, 2, 3, 4].map(|n| row.get::<_, &str>(n));
        let place = next(&mut random) as usize % text.chars().count();
        let other = |c: char| if c == 'x' { 'y' } else { 'x' };
        let flipped: String = text.chars().enumerate().map(|(n, c)| if n == place { other(c) } else { c }).collect();
        let value = if column == "content" { "convert_to($1, 'UTF8')" } else { "$1" };
        let set = format!("UPDATE {table} SET {column} = {value} WHERE {key}::text = $2");
        assert_eq!(database.execute(&set, &[&flipped, &id]).await.unwrap(), 1);
        let told = decisions(&client, &ids).await;
        for (gate, decision) in &truth {
            match told.get(gate) {
                Some(told) => assert_eq!(told, decision, "{table}.{column} of {id}: {flipped}"),
                None => decisions_refused += 1,
            }
        }
        // That it cannot be read is also said.
        let sound = client.verify().await.is_ok_and(|found| found.ok);
        assert!(!sound, "{table}.{column} of {id} is {flipped}, and nothing was found");
        flagged += 1;
        assert_eq!(database.execute(&set, &[&text, &id]).await.unwrap(), 1);
    }
    println!("{} characters in PostgreSQL: {flagged} flagged, {decisions_refused} decisions refused", flips());
    node.verifies().await;
    assert_eq!(decisions(&client, &ids).await, truth, "it was the flips, and nothing else");
    connection.abort();
}

/// Tables, their keys, and what of them is changed.
const TEXTS: [(&str, &str, &str); 9] = [
    ("events", "position", "payload"),
    ("events", "position", "actor"),
    ("events", "position", "type"),
    ("events", "position", "stream"),
    ("events", "position", "hash"),
    ("events", "position", "token_id"),
    ("gates", "id", "decision"),
    ("questions", "id", "closure"),
    ("artifacts", "digest", "content"),
];

fn flips() -> usize {
    std::env::var("FOLKMOOT_FLIPS").ok().and_then(|flips| flips.parse().ok()).unwrap_or(6)
}

async fn a_past() -> TempDir {
    let node = Node::start().await;
    happened(&node).await;
    let ids = ids(&node).await;
    let data = node.stop().await;
    std::fs::write(data.path().join("ids"), ids.join("\n")).unwrap();
    data
}

/// Gates with every sort of end, questions, a halt and a run.
async fn happened(node: &Node) {
    for n in 0..6 {
        let note = json!({"name": "note", "media_type": "text/plain", "content": "n".repeat(n * 700)});
        let gate = node.opened(json!({"summary": format!("gate {n}"), "artifacts": [note]})).await;
        let gate = node.client("vera").gate(&gate["id"].as_str().unwrap().parse().unwrap()).await.unwrap();
        match n % 3 {
            0 => drop(node.say("alice", &gate, Choice::Approve).await.unwrap()),
            1 => drop(node.say("bob", &gate, Choice::Reject).await.unwrap()),
            _ => {}
        }
    }
    node.asks("a1", "s1", "APPROVAL").await;
    let answered = node.asks("a2", "s2", "APPROVAL").await;
    node.answers(&answered, "approve").await;
    node.halts(json!({"scope": "session", "session_id": "s3"})).await;
    let run = node.starts_own().await;
    let step = json!({"key": "build", "kind": "once", "state": "done", "result": {"artifact": "a.tar"}});
    assert_eq!(node.records(&run, step).await.status, 201);
    node.verifies().await;
}

async fn ids(node: &Node) -> Vec<String> {
    let gates = node.get("vera", "/v1/gates").await.json()["gates"].clone();
    gates.as_array().unwrap().iter().map(|gate| gate["id"].as_str().unwrap().to_owned()).collect()
}

/// What is told of these gates; those are left out of which nothing is.
async fn decisions(client: &Client, ids: &[String]) -> BTreeMap<String, Option<Value>> {
    let mut decisions = BTreeMap::new();
    for id in ids {
        if let Ok(gate) = client.gate(&id.parse().unwrap()).await {
            decisions.insert(id.to_owned(), gate.decision.map(|decision| serde_json::to_value(decision).unwrap()));
        }
    }
    decisions
}

/// What a server on this folder tells.
struct Told {
    /// Of each gate; those are left out of which it refuses to tell anything.
    decisions: BTreeMap<String, Option<Value>>,
    /// `None` where the log cannot even be read.
    problems: Option<Vec<String>>,
}

/// Starts a server and asks it everything; `None` where it does not start.
async fn told(data: &Path) -> Option<Told> {
    let mut config = Config::new(DataFolder::at(data));
    config.listen = ([127, 0, 0, 1], 0).into();
    let server = Server::start(config).await.ok()?;
    let url = server.url().to_owned();
    let shutdown = CancellationToken::new();
    let you = server.tokens().you.token.clone();
    let serving = tokio::spawn(server.serve(shutdown.clone()));
    let client = Client::new(&url, &you).unwrap();
    let ids: Vec<_> =
        std::fs::read_to_string(data.join("ids")).unwrap_or_default().lines().map(str::to_owned).collect();
    let decisions = decisions(&client, &ids).await;
    let verified = client.verify().await.ok();
    let problems = verified.map(|found| found.problems.into_iter().map(|problem| problem.problem).collect());
    shutdown.cancel();
    // A store that has stopped says so; that is no panic.
    let _ = serving.await.expect("no panic");
    Some(Told { decisions, problems })
}

/// All rows that the audit covers, read without our code; `None` where SQLite cannot.
fn audited(data: &Path) -> Option<Vec<Vec<Cell>>> {
    let database = Connection::open(data.join("folkmoot.db")).ok()?;
    let mut all = Vec::new();
    for sql in AUDITED {
        let mut statement = database.prepare(sql).ok()?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).ok()?;
        while let Some(row) = rows.next().ok()? {
            all.push((0..columns).map(|n| row.get(n)).collect::<Result<Vec<Cell>, _>>().ok()?);
        }
    }
    Some(all)
}

/// Where in the file payloads of events and decisions stand.
fn facts(data: &Path, bytes: &[u8]) -> Vec<usize> {
    let database = Connection::open(data.join("folkmoot.db")).unwrap();
    let mut statement = database
        .prepare(
            "SELECT payload FROM events UNION ALL SELECT decision FROM gates WHERE decision IS NOT NULL
                  UNION ALL SELECT closure FROM questions WHERE closure IS NOT NULL",
        )
        .unwrap();
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut places = Vec::new();
    for text in texts {
        // The beginning is enough to find it; what does not fit on its page goes on elsewhere.
        let text = text.unwrap();
        let head = &text.as_bytes()[..text.len().min(300)];
        let found = bytes.windows(head.len()).position(|window| window == head);
        places.extend(found.into_iter().flat_map(|start| start..start + head.len()));
    }
    assert!(places.len() > 1000, "there is something to flip");
    places
}

fn copy_of(data: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["folkmoot.db", "server.key", "tokens.json", "ids"] {
        std::fs::copy(data.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

/// xorshift, so that a failure can be repeated.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
