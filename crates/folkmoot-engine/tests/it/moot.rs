//! An engine to test.

use std::{sync::Arc, time::Duration};

use folkmoot_core::{
    Principal, Role, Timeout, Timestamp,
    gate::{Choice, Gate, Kind, Opening, Policy, Risk, Verdict},
};
use folkmoot_engine::{Engine, Error, Request, TokioHost};
use folkmoot_store::{AnyStore, ManualClock, Sqlite};
use tempfile::TempDir;

pub struct Moot {
    pub engine: Engine,
    pub clock: Arc<ManualClock>,
    _data: TempDir,
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

impl Moot {
    pub async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
        let store = Sqlite::open(&data.path().join("folkmoot.db"), clock.clone()).unwrap();
        let engine = Engine::start(
            AnyStore::Sqlite(store),
            Policy::default(),
            folkmoot_core::question::Policy::default(),
            Arc::new(TokioHost),
        )
        .await
        .unwrap();
        Self { engine, clock, _data: data }
    }

    pub fn request(&self, phase: &str, timeout: Option<Duration>) -> Request {
        let phase = phase.parse().unwrap();
        let opening = Opening {
            id: self.engine.new_gate_id(None, &phase),
            run_id: None,
            session_id: None,
            title: None,
            summary: "may I?".to_owned(),
            phase,
            kind: Kind::Custom,
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
        Request { opening, artifacts: Vec::new() }
    }

    pub async fn open(&self, timeout: Option<Duration>) -> Gate {
        self.engine.open(agent().into(), self.request("merge", timeout)).await.unwrap().gate
    }

    pub async fn approve(&self, gate: &Gate) -> Result<Gate, Error> {
        let verdict = Verdict {
            gate: gate.id.clone(),
            choice: Choice::Approve,
            reason: String::new(),
            feedback: None,
            edited: None,
            digest: None,
            force: false,
            reviewer: None,
        };
        self.engine.decide(alice().into(), verdict).await
    }
}
