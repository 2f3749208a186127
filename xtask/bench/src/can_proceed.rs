//! The cost of a clearance check inside one process.

use std::{hint::black_box, path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use folkmoot_core::{
    Principal, Role,
    question::{NewQuestion, QuestionType},
};
use folkmoot_engine::{Engine, EngineSettings, TokioHost};
use folkmoot_store::{AnyStore, Sqlite, SystemClock};

/// Concurrent questions, so that they share commits.
const AT_ONCE: usize = 256;

/// Nanoseconds per check with this many open halting questions in a real engine: the slower of an
/// agent that may work and one that may not.
pub(crate) fn measure(folder: &Path, questions: usize) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let store = AnyStore::Sqlite(Sqlite::open(&folder.join("folkmoot.db"), Arc::new(SystemClock))?);
        let engine = Engine::start(store, EngineSettings::default(), Arc::new(TokioHost)).await?;
        for first in (0..questions).step_by(AT_ONCE) {
            let asked = (first..questions.min(first + AT_ONCE)).map(|n| ask(&engine, n));
            futures_util::future::try_join_all(asked).await?;
        }
        ensure!(engine.holds() == questions, "{} of {questions} questions hold somebody", engine.holds());
        ensure!(engine.can_proceed("free", Some("free")) && !engine.can_proceed("agent-7", None), "the wrong answer");
        let free = time(|| engine.can_proceed(black_box("free"), black_box(Some("free"))));
        let held = time(|| engine.can_proceed(black_box("agent-7"), black_box(Some("free"))));
        engine.close().await;
        Ok(free.max(held))
    })
}

async fn ask(engine: &Engine, number: usize) -> Result<()> {
    let asker = Principal::new("bench".parse()?, Role::Agent);
    let new_question = NewQuestion {
        id: engine.new_question_id(),
        agent_id: Some(format!("agent-{number}").parse()?),
        run_id: None,
        session_id: Some(format!("session-{}", number % 1000).parse()?),
        question_type: QuestionType::Approval,
        text: "May I?".to_owned(),
        options: Vec::new(),
        default: None,
        timeout: None,
        halts: None,
        priority: None,
    };
    engine.ask(asker.into(), new_question).await?;
    Ok(())
}

fn time(look: impl Fn() -> bool) -> f64 {
    const CALLS: u32 = 10_000;
    const ROUNDS: u32 = 100;
    // The fastest round was not interrupted.
    (0..ROUNDS)
        .map(|_| {
            let since = Instant::now();
            for _ in 0..CALLS {
                black_box(look());
            }
            since.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}
