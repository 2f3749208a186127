//! What was written although nobody was told so.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Action, Command, Timestamp,
    gate::{Choice, Review},
    journal::Write,
    run,
};
use folkmoot_engine::{Ctx, Engine, EngineSettings, Failure, Retry, TokioHost, Workflows};
use folkmoot_store::{AnyStore, JournalQuery, ManualClock, Sqlite, Witness};

use super::House;
use crate::moot::{agent, alice};

/// Does not tell what became of the first command of a sort.
#[derive(Debug)]
struct Untold {
    which: fn(&Action) -> bool,
    told: AtomicBool,
}

impl Witness for Untold {
    fn before(&self, _: &Command) -> bool {
        true
    }

    fn after(&self, _: &Command) -> bool {
        true
    }

    fn tells(&self, command: &Command) -> bool {
        !(self.which)(&command.action) || self.told.swap(true, Ordering::SeqCst)
    }
}

async fn house(workflows: Workflows, which: fn(&Action) -> bool) -> House {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let untold = Arc::new(Untold { which, told: AtomicBool::new(false) });
    let witnessed = AnyStore::Sqlite(store.again().unwrap().witnessed(untold));
    let settings = EngineSettings { workflows, ..EngineSettings::default() };
    let engine = Engine::start(witnessed, settings, Arc::new(TokioHost)).await.unwrap();
    House { engine, store, clock }
}

fn writes(action: &Action, is: fn(&Write) -> bool) -> bool {
    matches!(action, Action::Run(run::Action::Record(journal_write)) if is(&journal_write.write))
}

#[tokio::test]
async fn a_step_whose_beginning_was_untold_is_asked_about_once() {
    async fn slow(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        ctx.step("pay", std::future::pending).once().timeout(Duration::from_millis(20)).await
    }
    let begins = |action: &Action| writes(action, |write| matches!(write, Write::Begin));
    let house = house(Workflows::new().with("slow@1", slow), begins).await;
    let id = house.start("slow@1", &()).await;
    house.parked(&id).await;
    let gate = house.gate(&id).await;
    let review = Review { edited: Some("7".to_owned()), ..Review::on(&gate, Choice::Adjust, "I looked") };
    house.engine.decide(alice().into(), review).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), 7, "what a person said counts");
}

#[tokio::test]
async fn a_failure_that_was_untold_is_one_attempt() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let counted = counted.clone();
        async move {
            let flaky = ctx.step("flaky", move || match counted.fetch_add(1, Ordering::SeqCst) {
                0 => std::future::ready(Err(Failure::new("busy", "later"))),
                n => std::future::ready(Ok(n)),
            });
            flaky.retry(Retry { backoff: Duration::from_secs(3600), ..Retry::times(2) }).await
        }
    };
    let fails = |action: &Action| writes(action, |write| matches!(write, Write::Failing(..)));
    let house = house(Workflows::new().with("flaky@1", workflow), fails).await;
    let id = house.start("flaky@1", &()).await;
    house.parked(&id).await;
    house.clock.advance(Duration::from_secs(3601));
    assert_eq!(house.outcome(&id).await.unwrap(), 1);
    let query = JournalQuery { run: id, after: None, limit: 10, key: None, results: true };
    assert_eq!(house.engine.journal(&agent(), query).await.unwrap()[0].entry.attempts, 2);
}

#[tokio::test]
async fn a_claim_that_was_untold_is_made_again() {
    async fn quick(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        ctx.step("work", || async { Ok(1) }).await
    }
    let claims = |action: &Action| matches!(action, Action::Run(run::Action::Claim { .. }));
    let house = house(Workflows::new().with("quick@1", quick), claims).await;
    let id = house.start("quick@1", &()).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 1);
}
