//! A fail-over to a standby that lagged behind: the database comes back without the end of its log.
//! A node that outlives it must not go on with what it remembers.

use std::time::Duration;

use folkmoot_api::{
    client::Error,
    core::{Role, Scope},
    wire::{ClearanceFor, GateListParams, NewToken, OpenGate, RaiseHalt},
};
use futures_util::StreamExt;
use tokio::time::timeout;

use super::{
    eventually, postgres,
    process::Home,
    proxy::{Proxy, Way},
};
use crate::server::{ALICE, ROBOT};

const ADMIN: &str = "root-token-0123456789";
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// All tables of the schema, as they were at one moment.
struct Saved {
    client: tokio_postgres::Client,
    tables: Vec<String>,
}

impl Saved {
    async fn now(database: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(database, tokio_postgres::NoTls).await.expect("it answers");
        tokio::spawn(connection);
        let sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()";
        let tables: Vec<String> = client.query(sql, &[]).await.expect("tables").iter().map(|row| row.get(0)).collect();
        let copies = tables.iter().map(|table| format!("CREATE TEMP TABLE saved_{table} AS SELECT * FROM {table};"));
        client.batch_execute(&copies.collect::<String>()).await.expect("they are copied");
        Self { client, tables }
    }

    /// Makes the schema what it was.
    async fn restore(&self) {
        let restore =
            |table: &String| format!("DELETE FROM {table}; {};", postgres::copy_rows(&format!("saved_{table}"), table));
        let all: String = self.tables.iter().map(restore).collect();
        let sql = format!("BEGIN; SET LOCAL session_replication_role = replica; {all} COMMIT");
        self.client.batch_execute(&sql).await.expect("they are restored");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_database_has_lost_the_end_of_its_log_knows_and_tells_only_what_is_left() {
    let Some(database) = postgres::schema().await else { return };
    let proxy = Proxy::before(&database);
    let home = Home::on(&proxy.database(&database));
    let far = home.start().await;
    let (robot, alice, admin) = (far.client(ROBOT), far.client(ALICE), far.client(ADMIN));
    let open = |title: &str| OpenGate { summary: title.to_owned(), ..OpenGate::default() };
    let agent = ClearanceFor { agent_id: Some("a1".parse().expect("a name")), ..ClearanceFor::default() };
    let (agent_id, reason) = (agent.agent_id.clone(), "Stop".to_owned());
    let halt = RaiseHalt { scope: Scope::Agent, agent_id, session_id: None, reason };
    let halt = admin.raise_halt(&halt, None).await.expect("it is raised");
    let saved = Saved::now(&database).await;

    // All of this is acknowledged, and lost.
    admin.lift_halt(&halt.id).await.expect("it is lifted");
    assert!(robot.clearance(&agent).await.expect("an answer").can_proceed);
    let mallory = NewToken {
        name: "mallory".parse().expect("a name"),
        role: Role::Reviewer,
        capabilities: Vec::new(),
        kind: Default::default(),
    };
    let minted = admin.create_token(&mallory).await.expect("it is made").token.expect("a secret");
    far.client(&minted).gates(&GateListParams::default()).await.expect("it is valid");
    let mut lost = Vec::new();
    for n in 0..10 {
        lost.push(robot.open_gate(&open(&format!("lost {n}")), None).await.expect("it opens").id);
    }
    let mut feed = alice.events(Some(0)).await.expect("a feed");
    let mut known = Vec::new();
    while known.last().is_none_or(|event: &folkmoot_api::wire::Event| event.stream != lost[9].to_string()) {
        known.push(timeout(TEST_TIMEOUT, feed.next()).await.expect("no hang").expect("no end").expect("an event"));
    }
    let last = known[known.len() - 1].position;
    let waiting = {
        let (robot, id) = (robot.clone(), lost[0].clone());
        tokio::spawn(async move { robot.wait_gate(&id, TEST_TIMEOUT).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;

    proxy.way.send_replace(Way::Cut);
    tokio::time::sleep(Duration::from_millis(300)).await;
    saved.restore().await;
    let near = Home::on(&database).start().await;
    let mut others = Vec::new();
    for n in 0..3 {
        others.push(near.client(ROBOT).open_gate(&open(&format!("other {n}")), None).await.expect("it opens").id);
    }
    proxy.way.send_replace(Way::Open);

    // Nobody who is halted is cleared, from the first answer on that it gives of its own knowledge.
    let found = eventually(async || {
        let found = robot.clearance(&agent).await.expect("an answer");
        (!found.out_of_touch && !found.can_proceed).then_some(found)
    });
    assert_eq!(found.await.blocked_by[0].id.as_str(), halt.id.as_str());
    // Whoever followed the feed is told, and given nothing of the log that came in its place.
    let end = timeout(TEST_TIMEOUT, feed.next()).await.expect("the feed hangs");
    match end {
        Some(Err(Error::Problem(problem))) => assert_eq!(problem.code, "log_lost"),
        other => panic!("the feed goes on: {other:?}"),
    }
    // Whoever waited for what is gone is told.
    let waited = timeout(TEST_TIMEOUT, waiting).await.expect("no hang").expect("no panic");
    assert_eq!(waited.expect_err("it is gone").code(), Some("unknown_gate"));
    for id in &lost {
        assert_eq!(robot.gate(id).await.expect_err("it is gone").code(), Some("unknown_gate"));
    }
    let unknown = far.client(&minted).gates(&GateListParams::default()).await.expect_err("the token is gone");
    assert_eq!(unknown.code(), Some("unauthenticated"));
    // Whoever comes back with a position that the log has not reached is told.
    let beyond = alice.events(Some(last)).await.expect_err("the log ends before it");
    assert_eq!(beyond.code(), Some("bad_position"), "{beyond:?}");

    // Both nodes tell the same from now on.
    others.push(robot.open_gate(&open("after"), None).await.expect("it opens").id);
    let (ours, theirs) = (alice.audit(0, 1000).await.expect("the log"), near.client(ALICE).audit(0, 1000).await);
    let theirs = theirs.expect("the log");
    let ids = |page: &folkmoot_api::wire::AuditPage| {
        page.entries.iter().map(|event| (event.position, event.stream.clone())).collect::<Vec<_>>()
    };
    assert_eq!(ids(&ours), ids(&theirs));
    let mut feed = alice.events(Some(0)).await.expect("a feed");
    for expected in ids(&ours) {
        let event = timeout(TEST_TIMEOUT, feed.next()).await.expect("no hang").expect("no end").expect("an event");
        assert_eq!((event.position, event.stream.clone()), expected);
    }
    assert!(far.said().contains("has lost the end of its log"), "{}", far.said());
    let verified = alice.verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
}
