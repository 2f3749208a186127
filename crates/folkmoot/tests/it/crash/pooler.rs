//! PgBouncer between the server and PostgreSQL, giving each transaction another session.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use folkmoot_api::{
    core::{GateStatus, gate::Choice},
    wire::{OpenGate, Verdict},
};
use futures_util::future::join_all;

use super::{
    cluster::{Cluster, Stop},
    eventually,
    process::{Home, Process},
};
use crate::server::{ALICE, ROBOT};

/// Ended when it is dropped.
struct Pooler {
    child: Child,
    database: String,
}

impl Pooler {
    /// Begins to pool connections to the cluster.
    async fn start(program: &std::path::Path, cluster: &Cluster, mode: &str, port: u16) -> Self {
        let (mut command, folder) = cluster.other(program);
        let settings = folder.join(format!("{mode}.ini"));
        let place = folder.display();
        let carries = if carries_statements(program) { "max_prepared_statements = 200" } else { "" };
        let text = format!(
            "[databases]\npostgres = host={place} dbname=postgres user=folkmoot\n[pgbouncer]\nlisten_addr =\n\
             unix_socket_dir = {place}\nlisten_port = {port}\nauth_type = any\npool_mode = {mode}\n{carries}\n"
        );
        std::fs::write(&settings, text).expect("a file");
        let child = command.arg(&settings).stderr(Stdio::null()).spawn().expect("pgbouncer starts");
        let pooler = Self { child, database: format!("host={place} port={port} user=folkmoot dbname=postgres") };
        let connects = async || tokio_postgres::connect(&pooler.database, tokio_postgres::NoTls).await.is_ok();
        eventually(async || connects().await.then_some(())).await;
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where PgBouncer is; `None` where it is not installed, which is said.
fn pgbouncer() -> Option<PathBuf> {
    let named = std::env::var_os("FOLKMOOT_TEST_PGBOUNCER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = named.or_else(|| folders.map(|folder| folder.join("pgbouncer")).find(|program| program.exists()));
    if found.is_none() {
        super::skipped("no PgBouncer; on Debian, `cargo xtask test` installs it for root");
    }
    found
}

/// Since 1.21 it carries prepared statements from session to session.
fn carries_statements(program: &std::path::Path) -> bool {
    let output = Command::new(program).arg("--version").output().expect("it has a version");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(1).expect("PgBouncer 1.…").to_owned();
    let minor = version.split('.').nth(1).expect("a minor version").parse::<u32>().expect("a number");
    minor >= 21
}

/// Approves so many gates, eight at a time; returns once all are acknowledged.
async fn approve(server: &Process, rounds: usize) -> Vec<folkmoot_api::core::GateId> {
    let (robot, alice) = (server.client(ROBOT), server.client(ALICE));
    let mut approved = Vec::new();
    for _ in 0..rounds {
        let decided = join_all((0..8).map(|_| async {
            let open = OpenGate { summary: "Deploy".to_owned(), ..OpenGate::default() };
            let gate = robot.open_gate(&open, None).await.expect("it opens");
            alice.decide(&gate.id, Choice::Approve, &Verdict::default(), None).await.expect("it is decided").id
        }));
        approved.extend(decided.await);
    }
    approved
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_made_through_a_pooler_survive_a_crash_of_a_database_that_commits_late_by_default() {
    let Some(program) = pgbouncer() else { return };
    let Some(mut cluster) = Cluster::start().await else { return };
    cluster.set("synchronous_commit", "off").await;
    let mode = if carries_statements(&program) { "transaction" } else { "session" };
    for _ in 0..3 {
        let pooler = Pooler::start(&program, &cluster, mode, 6432).await;
        let server = Home::on(&pooler.database).start().await;
        let approved = approve(&server, 5).await;
        cluster.stop(Stop::Immediate);
        server.kill();
        drop(pooler);
        cluster.resume();
        let server = Home::on(&cluster.database()).start().await;
        for id in approved {
            let gate = server.client(ALICE).gate(&id).await.expect("it was acknowledged");
            assert_eq!(gate.status, GateStatus::Approved, "{id} was acknowledged and is lost");
        }
    }
    println!("three crashes behind PgBouncer in {mode} mode");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_leaves_prepared_statements_behind_is_refused_at_the_start_with_the_reason() {
    let Some(program) = pgbouncer() else { return };
    if carries_statements(&program) {
        return super::skipped("this PgBouncer carries prepared statements along; the test is for those before 1.21");
    }
    let Some(cluster) = Cluster::start().await else { return };
    let pooler = Pooler::start(&program, &cluster, "transaction", 6432).await;
    let begun = Instant::now();
    let said = Home::on(&pooler.database).does_not_start().await;
    assert!(begun.elapsed() < Duration::from_secs(30), "it took {:?} to say so", begun.elapsed());
    assert!(said.contains("prepared statements") && said.contains("session mode"), "{said}");
    // The other mode is what it says to use.
    let pooler = Pooler::start(&program, &cluster, "session", 6433).await;
    assert_eq!(approve(&Home::on(&pooler.database).start().await, 1).await.len(), 8);
}
