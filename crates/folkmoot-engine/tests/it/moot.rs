//! An engine to test.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Principal, Role, Timeout, Timestamp,
    gate::{Choice, Gate, GateKind, NewGate, Review, Risk},
};
use folkmoot_engine::{Engine, EngineSettings, Error, OpenRequest, TokioHost};
use folkmoot_store::{AnyStore, ManualClock, Postgres, Sqlite};
use tempfile::TempDir;

pub struct Moot {
    pub engine: Engine,
    pub clock: Arc<ManualClock>,
    data: TempDir,
}

pub fn principal(name: &str, role: Role) -> Principal {
    Principal::new(name.parse().unwrap(), role)
}

pub fn agent() -> Principal {
    principal("bot", Role::Agent)
}

pub fn alice() -> Principal {
    principal("alice", Role::Reviewer)
}

async fn engine(store: AnyStore, settings: EngineSettings) -> Engine {
    Engine::start(store, settings, Arc::new(TokioHost)).await.unwrap()
}

/// Two nodes on an empty schema of the PostgreSQL that `cargo xtask test` starts; `None` where
/// FOLKMOOT_SKIP_POSTGRES allows to skip the test.
pub async fn two_nodes() -> Option<[Engine; 2]> {
    let database = empty_schema().await?;
    let node = async || {
        engine(AnyStore::Postgres(Postgres::open(&database, None).await.unwrap()), EngineSettings::default()).await
    };
    Some([node().await, node().await])
}

/// Where to find an empty schema of the PostgreSQL that `cargo xtask test` starts; `None` where
/// FOLKMOOT_SKIP_POSTGRES allows to skip the test.
pub async fn empty_schema() -> Option<String> {
    static SCHEMAS: AtomicU64 = AtomicU64::new(1);
    let Ok(url) = std::env::var("FOLKMOOT_TEST_POSTGRES") else {
        assert!(
            std::env::var_os("FOLKMOOT_SKIP_POSTGRES").is_some(),
            "this test needs PostgreSQL: run `cargo xtask test`, or set FOLKMOOT_SKIP_POSTGRES to skip it"
        );
        return None;
    };
    let schema = format!("engine_{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
    Some(format!("{url} options='-c search_path={schema}'"))
}

pub fn request(engine: &Engine, phase: &str, timeout: Option<Duration>) -> OpenRequest {
    let phase = phase.parse().unwrap();
    let new_gate = NewGate {
        id: engine.new_gate_id(None, &phase),
        run_id: None,
        session_id: None,
        title: None,
        summary: "may I?".to_owned(),
        phase,
        kind: GateKind::Custom,
        risk: Risk::Medium,
        artifacts: Vec::new(),
        allowed: None,
        timeout: timeout.map(Timeout::After),
        on_timeout: None,
        reviewers: None,
        quorum: None,
        reject_quorum: None,
        self_review: None,
        dedupe_key: None,
        notification_channels: Vec::new(),
        on_behalf_of: None,
    };
    OpenRequest { new_gate, artifacts: Vec::new() }
}

impl Moot {
    pub async fn start() -> Self {
        Self::with(EngineSettings::default()).await
    }

    pub async fn with(settings: EngineSettings) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
        Self::on(tempfile::tempdir().unwrap(), clock, settings).await
    }

    /// The same data under another engine.
    pub async fn restart(self) -> Self {
        self.restart_with(EngineSettings::default()).await
    }

    pub async fn restart_with(self, settings: EngineSettings) -> Self {
        self.engine.close().await;
        Self::on(self.data, self.clock, settings).await
    }

    async fn on(data: TempDir, clock: Arc<ManualClock>, settings: EngineSettings) -> Self {
        let store = Sqlite::open(&data.path().join("folkmoot.db"), clock.clone()).unwrap();
        let engine = engine(AnyStore::Sqlite(store), settings).await;
        Self { engine, clock, data }
    }

    pub fn request(&self, phase: &str, timeout: Option<Duration>) -> OpenRequest {
        request(&self.engine, phase, timeout)
    }

    pub async fn open(&self, timeout: Option<Duration>) -> Gate {
        self.engine.open(agent().into(), self.request("merge", timeout)).await.unwrap().gate
    }

    pub async fn approve(&self, gate: &Gate) -> Result<Gate, Error> {
        let review = Review {
            gate: gate.id.clone(),
            choice: Choice::Approve,
            reason: String::new(),
            feedback: None,
            edited: None,
            digest: Some(gate.digest),
            force: false,
            reviewer: None,
        };
        self.engine.decide(alice().into(), review).await
    }
}
