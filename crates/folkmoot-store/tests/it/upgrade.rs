//! What older versions wrote is opened, migrated, and reads as they read it. `fixtures/make.py`
//! made the fixtures.

use std::sync::Arc;

use folkmoot_core::{GateId, GateStatus, QuestionId};
use folkmoot_store::{GateQuery, ManualClock, QuestionQuery, RunQuery, Store};
use serde_json::Value;

use crate::support::*;

macro_rules! fixture {
    ($schema:literal) => {
        Fixture {
            schema: $schema,
            sql: include_str!(concat!("../fixtures/schema_", $schema, ".sql")),
            read: include_str!(concat!("../fixtures/schema_", $schema, ".json")),
        }
    };
}

const FIXTURES: [Fixture; 4] = [fixture!(1), fixture!(2), fixture!(3), fixture!(6)];

struct Fixture {
    schema: usize,
    /// A dump of what was written.
    sql: &'static str,
    /// What that version itself read there.
    read: &'static str,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_older_versions_wrote_reads_as_before_in_a_file() {
    for fixture in FIXTURES {
        let place = InSqlite::new().await.unwrap();
        rusqlite::Connection::open(place.path()).unwrap().execute_batch(fixture.sql).unwrap();
        reads_as_before(&fixture, &place).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_older_versions_wrote_reads_as_before_in_postgres() {
    for fixture in FIXTURES {
        let Some(place) = InPostgres::new().await else { return };
        let client = connect(&place.url).await;
        for sql in old_schema(fixture.schema) {
            client.batch_execute(&postgres(&sql)).await.unwrap();
        }
        client.batch_execute("DELETE FROM migrations; DELETE FROM head").await.unwrap();
        for line in fixture.sql.lines().filter(|line| line.starts_with("INSERT INTO")) {
            // The one difference in how the two write rows.
            client.batch_execute(&line.replace("X'", r"'\x")).await.unwrap_or_else(|error| panic!("{line}: {error:?}"));
        }
        reads_as_before(&fixture, &place).await;
    }
}

async fn reads_as_before(fixture: &Fixture, place: &impl Place) {
    let read: Value = serde_json::from_str(fixture.read).unwrap();
    let list = |name: &str| read[name].as_array().unwrap().clone();
    assert_eq!(read["verified"]["ok"], true);
    let schema = place.sql("SELECT max(version) FROM migrations").await;
    assert_eq!(schema[0][0], fixture.schema.to_string(), "the fixture is what it says");
    let clock = Arc::new(ManualClock::at(noon()));
    let store = place.open(clock.clone()).await.unwrap();
    let newest = place.sql("SELECT max(version) FROM migrations").await[0][0].parse::<usize>().unwrap();
    assert!(newest >= 7, "it is migrated");
    assert_eq!(place.sql("SELECT count(*) FROM debate_sessions").await, [["0"]], "none of its runs was a debate");
    assert_eq!(assert_sound(&store).await.len(), read["verified"]["events"].as_u64().unwrap() as usize);
    assert_eq!(store.head().await.unwrap().hash.hex(), read["verified"]["head_hash"].as_str().unwrap());
    let gates = list("gates");
    for gate in &gates {
        let id: GateId = gate["id"].as_str().unwrap().parse().unwrap();
        let found = store.gate(&id).await.unwrap().unwrap_or_else(|| panic!("{id} is gone"));
        let decision = match &found.gate.state {
            folkmoot_core::gate::GateState::Closed(decision) => serde_json::to_value(decision).unwrap(),
            _ => Value::Null,
        };
        for field in ["reviewer", "reason", "at", "decided_at"] {
            assert_eq!(
                decision.get(field).or(Some(&Value::Null)),
                gate["decision"].get(field).or(Some(&Value::Null)),
                "{id} {field}"
            );
        }
        let now = (
            found.gate.status().word(),
            found.gate.content.title.as_str(),
            found.gate.revision,
            found.gate.digest.to_string(),
        );
        let then = (
            gate["status"].as_str().unwrap(),
            gate["title"].as_str().unwrap(),
            gate["revision"].as_u64().unwrap(),
            gate["digest"].as_str().unwrap().to_owned(),
        );
        assert_eq!((now.0, now.1, u64::from(now.2), now.3), then, "{id}");
        assert_eq!(found.summary.as_deref(), gate["summary"].as_str(), "{id}");
    }
    let all = GateQuery { limit: 1000, ..GateQuery::default() };
    assert_eq!(store.gates(all).await.unwrap().items.len(), gates.len());
    assert!(gates.len() >= 12);
    for question in list("questions") {
        let id: QuestionId = question["id"].as_str().unwrap().parse().unwrap();
        let found = store.question(&id).await.unwrap().unwrap_or_else(|| panic!("{id} is gone"));
        assert_eq!(found.question.status().word(), question["status"].as_str().unwrap(), "{id}");
    }
    let all = QuestionQuery { limit: 1000, ..QuestionQuery::default() };
    assert_eq!(store.questions(all).await.unwrap().items.len(), list("questions").len());
    for run in list("runs") {
        let found = store.run(&run_id(run["id"].as_str().unwrap())).await.unwrap().unwrap();
        let now = (found.status().word(), found.start.title.as_str(), u64::from(found.steps));
        assert_eq!(
            now,
            (run["status"].as_str().unwrap(), run["title"].as_str().unwrap(), run["steps"].as_u64().unwrap())
        );
    }
    let all = RunQuery { limit: 1000, ..RunQuery::default() };
    assert_eq!(store.runs(all).await.unwrap().items.len(), list("runs").len());
    assert_eq!(store.tokens().await.unwrap().len(), 6);
    // And it goes on: what waited can be decided, and is timed as it was.
    let waiting = gates.iter().find(|gate| gate["status"] == "pending" && gate["quorum"] == 1).unwrap();
    let decided = gate_of(store.execute(approve(&waiting["id"].as_str().unwrap().parse().unwrap(), "alice")).await);
    assert_eq!(decided.status(), GateStatus::Approved);
    an_open_gate(&store).await;
    a_debate(&store, "d1").await;
    assert_eq!(store.turns(turns_of("d1")).await.unwrap().len(), 1);
    assert_sound(&store).await;
}
