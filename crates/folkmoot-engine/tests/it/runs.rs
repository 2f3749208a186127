//! Durable runs.

mod cancel;
mod changed;
mod child;
mod clearance;
mod crash;
mod debates;
mod erased;
mod fair;
mod killed;
mod limits;
mod orphans;
mod outages;
mod parked;
mod partition;
mod paused;
mod process;
mod replay;
mod spinning;
mod steps;
mod untold;

use std::{sync::Arc, time::Duration};

use folkmoot_core::{
    Run, RunId, Timestamp,
    run::{NewRun, RunLimits, RunState},
};
use folkmoot_engine::{Engine, EngineSettings, Error, TokioHost, Workflows};
use folkmoot_store::{AnyStore, ManualClock, Sqlite};
use serde::Serialize;

use crate::moot::{agent, alice};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// A database in memory, and engines on it one after another.
struct House {
    engine: Engine,
    store: Sqlite,
    clock: Arc<ManualClock>,
}

impl House {
    async fn with(workflows: Workflows) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
        let store = Sqlite::in_memory(clock.clone()).unwrap();
        let engine = engine(&store, workflows).await;
        Self { engine, store, clock }
    }

    /// Another engine on the same data, with this code.
    async fn restart(&mut self, workflows: Workflows) {
        self.engine.close().await;
        self.engine = engine(&self.store, workflows).await;
    }

    async fn start(&self, workflow: &str, input: &impl Serialize) -> RunId {
        self.engine.start_workflow(agent(), workflow, input).await.unwrap().start.id
    }

    async fn start_limited(&self, workflow: &str, limits: RunLimits) -> RunId {
        let new_run = NewRun {
            id: self.engine.new_run_id(),
            workflow: Some(workflow.parse().unwrap()),
            title: String::new(),
            session_id: None,
            input: None,
            limits,
        };
        self.engine.start_run(agent().into(), new_run).await.unwrap().start.id
    }

    async fn run(&self, id: &RunId) -> Run {
        self.engine.run(&alice(), id).await.unwrap()
    }

    /// The run, once it is as it should be.
    async fn until(&self, id: &RunId, is: impl Fn(&Run) -> bool) -> Run {
        for _ in 0..2000 {
            let run = self.run(id).await;
            if is(&run) {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it stays {:?}", self.run(id).await.state);
    }

    async fn parked(&self, id: &RunId) -> Run {
        self.until(id, |run| matches!(run.state, RunState::Parked(_))).await
    }

    async fn stopped(&self, id: &RunId) -> String {
        match self.until(id, |run| matches!(run.state, RunState::Stopped { .. })).await.state {
            RunState::Stopped { code, message } => format!("{code}: {message}"),
            other => panic!("{other:?}"),
        }
    }

    /// What it gave, or failed with.
    async fn outcome(&self, id: &RunId) -> Result<serde_json::Value, String> {
        let run = self.engine.wait_for_end(&alice(), id, LONG).await.unwrap();
        let ending = run.ending().unwrap_or_else(|| panic!("it is not over: {:?}", run.state));
        match self.engine.output(&run).await.unwrap() {
            Some(output) => Ok(serde_json::from_str(&output).unwrap()),
            None => Err(format!("{} {}: {}", ending.outcome, ending.code, ending.reason)),
        }
    }

    /// The one gate that waits.
    async fn gate(&self, id: &RunId) -> folkmoot_core::Gate {
        for _ in 0..2000 {
            let mut gates = self.engine.waiting_at(&self.run(id).await).await.unwrap().gates;
            if let Some(gate) = gates.pop() {
                return gate;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("no gate waits");
    }

    async fn decide(&self, id: &RunId, choice: folkmoot_core::gate::Choice) {
        let gate = self.gate(id).await;
        let review = folkmoot_core::gate::Review::on(&gate, choice, "so");
        self.engine.decide(alice().into(), review).await.unwrap();
    }

    async fn approve(&self, id: &RunId) {
        self.decide(id, folkmoot_core::gate::Choice::Approve).await;
    }
}

async fn engine(store: &Sqlite, workflows: Workflows) -> Engine {
    let settings = EngineSettings { workflows, ..EngineSettings::default() };
    start(store, settings).await
}

async fn start(store: &Sqlite, settings: EngineSettings) -> Engine {
    Engine::start(AnyStore::Sqlite(store.again().unwrap()), settings, Arc::new(TokioHost)).await.unwrap()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    match result {
        Err(Error::Refused(refusal)) => refusal.code(),
        other => panic!("{other:?}"),
    }
}
