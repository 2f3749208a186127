//! A node that stands still for longer than its lease (SIGSTOP, a suspended machine) and goes on as
//! if nothing had been. What it had begun is another's by then: it writes nothing for it, and does
//! not do what must not happen twice.

use std::{
    collections::BTreeSet,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_engine::{Ctx, Engine, EngineSettings, Host, HostTask, TokioHost, Workflows};
use folkmoot_store::{AnyStore, JournalQuery, ManualClock, Postgres};

use super::{
    House,
    killed::{alice, all_end, decide, start, wait_for},
    process::{LEASE, Node, Traces},
};
use crate::moot::empty_schema;

const RUNS: usize = 60;
const STEPS: u32 = 12;

/// None of its steps may repeat, and most of their time goes into writing that they begin and end.
pub fn careful(traces: Traces) -> Workflows {
    let workflow = move |ctx: Ctx, (): ()| {
        let traces = traces.clone();
        async move {
            for n in 0..STEPS {
                let key = format!("step-{n}");
                let trace = traces.prepare(ctx.run_id().as_str(), &key);
                ctx.step(key, move || {
                    let effect = trace.clone().leave();
                    async move {
                        effect.await?;
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        Ok(n)
                    }
                })
                .once()
                .await?;
            }
            Ok(STEPS)
        }
    };
    Workflows::new().with("many@1", workflow)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stood_still_does_nothing_twice() {
    let Some(database) = empty_schema().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let traces = Traces(folder.path().join("traces"));
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let stop = number("FOLKMOOT_STOP_SECONDS").map_or(LEASE, Duration::from_secs);
    let rounds = number("FOLKMOOT_STOPS").unwrap_or(1) as usize;
    let store = AnyStore::Postgres(Postgres::open(&database, None).await.unwrap());
    let engine = Engine::start(store, EngineSettings::default(), Arc::new(TokioHost)).await.unwrap();
    let other_store = AnyStore::Postgres(Postgres::open(&database, None).await.unwrap());
    let mut asked = 0;
    let (one, other) =
        (Node::start(&database, &traces.0, "careful", None), Node::start(&database, &traces.0, "careful", None));
    for round in 0..rounds {
        let by_one = |traces: &Traces| traces.read().values().flatten().filter(|by| **by == one.id()).count();
        let had = by_one(&traces);
        start(&other_store, RUNS * round, RUNS * (round + 1)).await;
        wait_for("work of the node that is to stand still", || by_one(&traces) > had + 30).await;
        one.signal("STOP");
        let stood = tokio::time::Instant::now();
        // Until the other has taken its runs, and a while longer. Somebody looks at once, and says
        // what they see.
        let before = asked;
        while stood.elapsed() < stop || asked == before {
            asked += decide(&engine, &traces).await;
            assert!(stood.elapsed() < stop + Duration::from_secs(60), "nobody takes its runs");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        one.signal("CONT");
        asked += all_end(&engine, &traces, RUNS * (round + 1)).await;
    }
    let effects = traces.read();
    let all: BTreeSet<_> =
        (0..RUNS * rounds).flat_map(|id| (0..STEPS).map(move |n| (format!("run-{id}"), format!("step-{n}")))).collect();
    assert_eq!(effects.keys().cloned().collect::<BTreeSet<_>>(), all, "every effect happened");
    let twice: Vec<_> = effects.iter().filter(|(_, by)| by.len() > 1).collect();
    assert!(twice.is_empty(), "done twice, by {} and {}: {twice:?}", one.id(), other.id());
    eprintln!("{} effects, none twice; {asked} were asked about", effects.len());
    assert!(engine.verify(&alice()).await.unwrap().problems.is_empty());
}

/// A host on which a minute passes before the task that is spawned next begins.
#[derive(Debug, Default)]
struct Suspended {
    clock: OnceLock<Arc<ManualClock>>,
    next: AtomicBool,
}

#[derive(Debug)]
struct Laptop(Arc<Suspended>);

impl Host for Laptop {
    fn spawn(&self, task: HostTask) {
        if self.0.next.swap(false, Ordering::SeqCst) {
            self.0.clock.get().unwrap().advance(Duration::from_secs(60));
        }
        TokioHost.spawn(task);
    }

    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        TokioHost.sleep(span)
    }

    fn random(&self) -> u128 {
        TokioHost.random()
    }
}

#[tokio::test]
async fn a_node_that_stands_still_between_the_intent_and_the_effect_writes_the_intent_again() {
    let (suspended, effects) = (Arc::new(Suspended::default()), Arc::new(AtomicU32::new(0)));
    let workflow = {
        let (suspended, effects) = (suspended.clone(), effects.clone());
        move |ctx: Ctx, (): ()| {
            suspended.next.store(true, Ordering::SeqCst);
            let effects = effects.clone();
            async move {
                let pay = move || {
                    let effects = effects.clone();
                    async move { Ok(effects.fetch_add(1, Ordering::SeqCst)) }
                };
                ctx.step("pay", pay).once().await
            }
        }
    };
    let mut house = House::with(Workflows::new()).await;
    house.engine.close().await;
    suspended.clock.set(house.clock.clone()).unwrap();
    let settings = EngineSettings { workflows: Workflows::new().with("pays@1", workflow), ..EngineSettings::default() };
    let store = AnyStore::Sqlite(house.store.again().unwrap());
    house.engine = Engine::start(store, settings, Arc::new(Laptop(suspended))).await.unwrap();
    let id = house.start("pays@1", &()).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 0);
    assert_eq!(effects.load(Ordering::SeqCst), 1);
    let query = JournalQuery { run: id, after: None, limit: 10, key: None, results: false };
    let journal = house.engine.journal(&alice(), query).await.unwrap();
    assert_eq!(journal[0].entry.attempts, 2, "{journal:?}");
}
