//! What is asked of runs, gates and questions again and again is found by an index, however many
//! there are.

use std::path::Path;

use folkmoot_core::{
    GateStatus, RecordQuery,
    question::QuestionStatus,
    record::RecordOrder,
    run::{RunKind, SummaryStatus},
};
use rusqlite::{Connection, OpenFlags};

use super::{connect, migrate, writer};
use crate::{GateQuery, QuestionQuery, RunSummaryQuery, query};

/// Ten thousand runs. One in a hundred is new, one waits, one waits for clearance, and one is
/// worked on.
fn many_runs() -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = connect(Path::new(":memory:"), flags).unwrap();
    migrate(&connection).unwrap();
    connection
        .execute_batch(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
             INSERT INTO runs (id, kind, session_id, initiator, started_at, workflow, parent, status, node, parked_wakes, held,
               title, role, limits, state, epoch, steps, begun, journal_bytes, active_micros, moved_at, seq)
             SELECT 'run-' || n, 'custom', 's' || n, 'bot', n, 'draft@1', 'run-' || (n / 10),
               CASE n % 100 WHEN 0 THEN 'pending' WHEN 1 THEN 'parked' WHEN 2 THEN 'parked' WHEN 3 THEN 'running'
               ELSE 'completed' END,
               CASE n % 100 WHEN 3 THEN 'n1' END,
               CASE n % 100 WHEN 0 THEN -1 WHEN 1 THEN 0 WHEN 2 THEN 0 END,
               CASE n % 100 WHEN 2 THEN 'a' || n END, '', 'agent', '{}', '', 0, 0, 0, 0, 0, n, 1
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
fn what_somebody_asks_is_found_by_its_indexes() {
    let connection = many_runs();
    let gates = |who: &str, status| GateQuery { status, requester: Some(who.parse().unwrap()), ..GateQuery::default() };
    let questions =
        |who: &str, status| QuestionQuery { status, asked_by: Some(who.parse().unwrap()), ..QuestionQuery::default() };
    let (pending, open) = (Some(GateStatus::Pending), Some(QuestionStatus::Pending));
    let workflow = "workflow:plan@1";
    for (sql, expected) in [
        (gates("bot", None).sql().unwrap().0, "SEARCH gates USING INDEX gates_by_asker (asker=?)"),
        (gates("bot", pending).sql().unwrap().0, "SEARCH gates USING INDEX gates_inbox_of (asker=?)"),
        (gates(workflow, None).sql().unwrap().0, "SEARCH gates USING INDEX gates_by_workflow (requested_by=?)"),
        (
            gates(workflow, pending).sql().unwrap().0,
            "SEARCH gates USING INDEX gates_inbox_of_workflow (requested_by=?)",
        ),
    ] {
        let steps = plan(&connection, &sql);
        assert_eq!(steps[0], expected, "{sql}: {steps:#?}");
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{sql}: {steps:#?}");
    }
    for (sql, expected) in [
        (questions("bot", None).sql().unwrap().0, "questions_by_asker (asker=?)"),
        (questions("bot", open).sql().unwrap().0, "questions_open_of (asker=?)"),
        (questions(workflow, None).sql().unwrap().0, "questions_by_workflow (asked_by=?)"),
        (questions(workflow, open).sql().unwrap().0, "questions_open_of_workflow (asked_by=?)"),
    ] {
        let steps = plan(&connection, &sql);
        assert_eq!(steps[0], format!("SEARCH questions USING INDEX {expected}"), "{sql}: {steps:#?}");
    }
    for (sql, index) in [(query::REQUESTERS, "gates_inbox_of"), (query::ASKERS, "questions_open_of")] {
        let steps = plan(&connection, sql);
        let next = format!("USING INDEX {index} (asker>?)");
        assert!(steps.iter().any(|step| step.starts_with("SEARCH") && step.ends_with(&next)), "{steps:#?}");
    }
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

#[test]
fn records_and_summaries_are_found_by_their_indexes() {
    let connection = many_runs();
    let of_run = RecordQuery {
        collection: "attempts".to_owned(),
        runs: vec!["run-7".parse().unwrap()],
        ..RecordQuery::default()
    };
    let newest = RecordQuery { runs: Vec::new(), order: RecordOrder::Newest, ..of_run.clone() };
    let one = RecordQuery { runs: Vec::new(), ids: vec!["1".to_owned()], ..of_run.clone() };
    let by_id = RecordQuery { order: RecordOrder::Id { after: Some("1".to_owned()) }, ..of_run.clone() };
    let kind = Some(RunKind::Debate);
    let all = RunSummaryQuery { kind, limit: 9, ..RunSummaryQuery::default() };
    let paused = RunSummaryQuery { status: Some(SummaryStatus::Paused), ..all.clone() };
    for (sql, expected) in [
        (query::records::sql(&of_run).0, "SEARCH records USING INDEX records_by_place (run_id=? AND collection=?)"),
        (query::records::sql(&newest).0, "SEARCH records USING INDEX records_by_age (collection=?)"),
        (query::records::sql(&one).0, "SEARCH records USING INDEX records_by_id (collection=? AND id=?)"),
        (
            query::records::sql(&by_id).0,
            "SEARCH records USING INDEX sqlite_autoindex_records_1 (run_id=? AND collection=? AND id>?)",
        ),
        (all.sql().unwrap().0, "SEARCH runs USING INDEX runs_by_kind (kind=?)"),
        (paused.sql().unwrap().0, "SEARCH runs USING INDEX runs_open_by_kind (kind=?)"),
    ] {
        let steps = plan(&connection, &sql);
        assert_eq!(steps[0], expected, "{sql}: {steps:#?}");
    }
}
