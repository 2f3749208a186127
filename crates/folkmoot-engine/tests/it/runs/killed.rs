//! Two nodes on one PostgreSQL, one of them killed in the middle of its work.

use std::{collections::BTreeSet, time::Duration};

use folkmoot_core::{
    Action, Actor, Command, Role, RunId,
    gate::{Choice, Review},
    run::{self, NewRun, RunLimits, RunStatus},
};
use folkmoot_engine::{Ctx, Engine, EngineSettings, GateQuery, TokioHost, Workflows};
use folkmoot_store::{AnyStore, Postgres, RunQuery, Store};
use futures_util::future::join_all;

use super::process::{Node, Traces};
use crate::moot::{empty_schema, principal};

const RUNS: usize = 200;
const STEPS: u32 = 6;

/// Six steps one after another, every third of which must not repeat.
pub fn many(traces: Traces) -> Workflows {
    let workflow = move |ctx: Ctx, (): ()| {
        let traces = traces.clone();
        async move {
            for n in 0..STEPS {
                let key = format!("step-{n}");
                let trace = traces.prepare(ctx.run_id().as_str(), &key);
                let step = ctx.step(key, move || {
                    let effect = trace.clone().leave();
                    async move {
                        effect.await?;
                        // So that some are in flight whenever the node is killed.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        Ok(n)
                    }
                });
                if n % 3 == 2 {
                    step.once().await?
                } else {
                    step.await?
                };
            }
            Ok(STEPS)
        }
    };
    Workflows::new().with("many@1", workflow)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_killed_in_the_middle_of_two_hundred_runs_loses_and_doubles_nothing() {
    let Some(database) = empty_schema().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let traces = Traces(folder.path().join("traces"));
    let store = AnyStore::Postgres(Postgres::open(&database, None).await.unwrap());
    let ids = start(&store, 0, RUNS).await;
    // A node without workflows: it decides, and executes nothing.
    let engine = Engine::start(store, EngineSettings::default(), std::sync::Arc::new(TokioHost)).await.unwrap();
    let mut doomed = Node::start(&database, &traces.0, "many", None);
    let _other = Node::start(&database, &traces.0, "many", None);
    let by_doomed = |traces: &Traces, id: u32| traces.read().values().flatten().filter(|by| **by == id).count();
    let in_the_middle = RUNS * STEPS as usize / 4;
    wait_for("work of the node that is to die", || by_doomed(&traces, doomed.id()) > in_the_middle).await;
    doomed.kill();
    let at_kill = traces.read();
    assert!(at_kill.len() < RUNS * STEPS as usize, "it was killed when all was done");
    let asked = all_end(&engine, &traces, RUNS).await;
    let effects = traces.read();
    let all: BTreeSet<_> =
        ids.iter().flat_map(|id| (0..STEPS).map(move |n| (id.to_string(), format!("step-{n}")))).collect();
    assert_eq!(effects.keys().cloned().collect::<BTreeSet<_>>(), all, "every effect happened");
    let repeated: Vec<_> = effects.iter().filter(|(_, by)| by.len() > 1).collect();
    for ((run, key), by) in &repeated {
        assert_eq!(by.len(), 2, "{key} of {run}");
        assert_eq!(by[0], doomed.id(), "{key} of {run} was in flight at the kill");
        assert!(key != "step-2" && key != "step-5", "{key} of {run} must not repeat");
    }
    let in_flight = |key: &(String, String)| at_kill.contains_key(key);
    assert!(repeated.iter().all(|(key, _)| in_flight(key)));
    let told: Vec<_> = effects.values().flatten().filter(|by| **by == doomed.id()).collect();
    eprintln!("{} effects by the killed node, {} repeated, {asked} asked about", told.len(), repeated.len());
    assert!(engine.verify(&alice()).await.unwrap().problems.is_empty());
}

pub async fn start(store: &AnyStore, from: usize, to: usize) -> Vec<RunId> {
    let start = |n: usize| async move {
        let id: RunId = format!("run-{n}").parse().unwrap();
        let new_run = NewRun {
            id: id.clone(),
            workflow: Some("many@1".parse().unwrap()),
            title: String::new(),
            session_id: None,
            input: None,
            limits: RunLimits::default(),
        };
        let by = Actor::Principal(principal("bot", Role::Agent));
        let action = Action::Run(run::Action::Start(Box::new(new_run)));
        let command_id = format!("cmd-{n}").parse().unwrap();
        let command = Command {
            id: command_id,
            by,
            token: None,
            claims: None,
            idempotency: None,
            action,
            quota: Default::default(),
            subscriptions: Default::default(),
        };
        store.execute(command).await.unwrap();
        id
    };
    join_all((from..to).map(start)).await
}

pub fn alice() -> folkmoot_core::Principal {
    principal("alice", Role::Reviewer)
}

/// Decides until all runs have ended; returns how often a person had to look.
pub async fn all_end(engine: &Engine, traces: &Traces, runs: usize) -> usize {
    let mut asked = 0;
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            asked += decide(engine, traces).await;
            let query = RunQuery { status: Some(RunStatus::Completed), limit: 1000, ..RunQuery::default() };
            if engine.runs(&alice(), query).await.unwrap().items.len() == runs {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    if ended.await.is_err() {
        let query = RunQuery { limit: 1000, ..RunQuery::default() };
        let left = engine.runs(&alice(), query).await.unwrap().items.into_iter().map(|run| (run.start.id, run.state));
        panic!(
            "they do not end: {:?}",
            left.filter(|(_, state)| !format!("{state:?}").contains("Completed")).collect::<Vec<_>>()
        );
    }
    asked
}

/// Says of every step of unknown fate whether it was done, and returns how many there were.
pub async fn decide(engine: &Engine, traces: &Traces) -> usize {
    let query = GateQuery { status: Some(folkmoot_core::GateStatus::Pending), limit: 1000, ..GateQuery::default() };
    let gates = engine.gates(&alice(), query).await.unwrap().items;
    for view in &gates {
        let gate = &view.gate;
        let key = gate.content.title.strip_prefix("Was ").unwrap().strip_suffix(" done?").unwrap();
        let place = (gate.run_id.as_ref().unwrap().to_string(), key.to_owned());
        let review = match traces.read().contains_key(&place) {
            true => {
                let edited = Some(key.strip_prefix("step-").unwrap().to_owned());
                Review { edited, ..Review::on(gate, Choice::Adjust, "I looked") }
            }
            false => Review::on(gate, Choice::Approve, "I looked"),
        };
        engine.decide(alice().into(), review).await.unwrap();
    }
    gates.len()
}

pub async fn wait_for(what: &str, is: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain for {what}");
}
