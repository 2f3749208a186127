//! What is asked of runs again and again is found by an index, however many there are.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{connect, migrate, writer};
use crate::query;

/// Ten thousand runs. One in a hundred is new, one waits, one waits for clearance, and one is
/// worked on.
fn many_runs() -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = connect(Path::new(":memory:"), flags).unwrap();
    migrate(&connection).unwrap();
    connection
        .execute_batch(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
             INSERT INTO runs (id, kind, session_id, initiator, started_at, workflow, parent, status, node, parked_wakes, held)
             SELECT 'run-' || n, 'custom', 's' || n, 'bot', n, 'draft@1', 'run-' || (n / 10),
               CASE n % 100 WHEN 0 THEN 'pending' WHEN 1 THEN 'parked' WHEN 2 THEN 'parked' WHEN 3 THEN 'running'
               ELSE 'completed' END,
               CASE n % 100 WHEN 3 THEN 'n1' END,
               CASE n % 100 WHEN 0 THEN -1 WHEN 1 THEN 0 WHEN 2 THEN 0 END,
               CASE n % 100 WHEN 2 THEN 'a' || n END
             FROM numbers",
        )
        .unwrap();
    connection
}

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    explained.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap()
}

#[test]
fn runs_are_found_by_their_indexes() {
    let connection = many_runs();
    for (sql, expected) in [
        (query::ready(2), "SCAN runs USING INDEX runs_ready"),
        (writer::WAKE.to_owned(), "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)"),
        (writer::WAKE_CHILDREN.to_owned(), "SEARCH runs USING INDEX runs_by_parent (parent=?)"),
        (writer::WAKE_AGENT.to_owned(), "SEARCH runs USING INDEX runs_held (held=?)"),
        (writer::WAKE_SESSION.to_owned(), "SEARCH runs USING INDEX runs_held_by_session (session_id=?)"),
        (writer::WAKE_EVERYONE.to_owned(), "SEARCH runs USING INDEX runs_held (held>?)"),
        (query::of_run(), "SEARCH events USING INDEX events_by_stream (stream=?)"),
    ] {
        let steps = plan(&connection, &sql);
        assert_eq!(steps[0], expected, "{sql}: {steps:#?}");
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!sorts || sql == query::of_run(), "{sql}: {steps:#?}");
    }
    let steps = plan(&connection, &query::orphans(2));
    let of_runs: Vec<_> = steps.iter().filter(|step| step.contains(" runs ")).collect();
    let both = ["SEARCH runs USING INDEX runs_claimed (node>?)", "SEARCH runs USING INDEX runs_by_status (status=?)"];
    assert_eq!(of_runs, both, "{steps:#?}");
    assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:#?}");
}

#[test]
fn a_wake_up_touches_only_those_that_it_wakes() {
    let connection = many_runs();
    let woken = |sql: &str, arguments: &[&str]| connection.execute(sql, rusqlite::params_from_iter(arguments)).unwrap();
    assert_eq!(woken(writer::WAKE, &["run-1"]), 1);
    assert_eq!(woken(writer::WAKE, &["nobody"]), 0);
    assert_eq!(woken(writer::WAKE_CHILDREN, &["run-7"]), 10);
    assert_eq!(woken(writer::WAKE_AGENT, &["a102", "\"a102\""]), 1);
    assert_eq!(woken(writer::WAKE_SESSION, &["s202"]), 1);
    assert_eq!(woken(writer::WAKE_SESSION, &["s201"]), 0);
    assert_eq!(woken(writer::WAKE_EVERYONE, &[""]), 100);
}
