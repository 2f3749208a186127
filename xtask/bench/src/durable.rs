//! Durable runs in an embedded engine: the speed of steps and replay, and the cost of waiting.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use folkmoot_core::{
    GateStatus, Principal, Role, RunId,
    gate::{Choice, Review},
    run::RunStatus,
};
use folkmoot_engine::{Ctx, Engine, EngineSettings, Failure, GateQuery, GateSpec, RunQuery, TokioHost, Workflows};
use folkmoot_store::{AnyStore, Postgres, Sqlite, SystemClock};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::figures::Figures;

/// Concurrent starts or decisions, so that they share commits.
const AT_ONCE: usize = 256;
const BENCH_TIMEOUT: Duration = Duration::from_secs(600);

/// One measurement in a separate process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Concurrent runs with this many steps each, on PostgreSQL or in a folder.
    Steps { database: Option<String>, folder: PathBuf, runs: usize, steps: u32 },
    /// Replays the journal of one run with this many steps.
    Replay { folder: PathBuf, steps: u32 },
    /// Parks this many runs at gates.
    Park { folder: PathBuf, runs: usize },
    /// Starts a node with them, and decides this many at once.
    Wake { folder: PathBuf, runs: usize },
}

pub(crate) async fn measure(job: Job) -> Result<Figures> {
    match job {
        Job::Steps { database, folder, runs, steps } => self::steps(database, &folder, runs, steps).await,
        Job::Replay { folder, steps } => replay(&folder, steps).await,
        Job::Park { folder, runs } => park(&folder, runs).await,
        Job::Wake { folder, runs } => wake(&folder, runs).await,
    }
}

async fn steps(database: Option<String>, folder: &Path, runs: usize, steps: u32) -> Result<Figures> {
    let engine = match database {
        Some(database) => AnyStore::Postgres(Postgres::open(&database, None).await?),
        None => AnyStore::Sqlite(Sqlite::open(&folder.join("folkmoot.db"), Arc::new(SystemClock))?),
    };
    let engine = engine_on(engine, &Arc::default()).await?;
    // The first run pays for the set-up.
    all_end(&engine, &start(&engine, "steps@1", 1, &1).await?).await?;
    let began = Instant::now();
    let ids = start(&engine, "steps@1", runs, &steps).await?;
    all_end(&engine, &ids).await?;
    let per_second = (runs * steps as usize) as f64 / began.elapsed().as_secs_f64();
    engine.close().await;
    Ok([("steps, per s".to_owned(), per_second)].into())
}

async fn replay(folder: &Path, steps: u32) -> Result<Figures> {
    let engine = on_file(folder, &Arc::default()).await?;
    let ids = start(&engine, "replayed@1", 1, &steps).await?;
    until_parked(&engine, &ids[0]).await?;
    engine.close().await;
    let engine = on_file(folder, &Arc::default()).await?;
    let began = Instant::now();
    decide(&engine, 1).await?;
    all_end(&engine, &ids).await?;
    let took = began.elapsed();
    engine.close().await;
    Ok([
        ("replay, ms".to_owned(), took.as_secs_f64() * 1e3),
        ("steps replayed, per s".to_owned(), f64::from(steps) / took.as_secs_f64()),
    ]
    .into())
}

async fn park(folder: &Path, runs: usize) -> Result<Figures> {
    let engine = on_file(folder, &Arc::default()).await?;
    let began = Instant::now();
    for first in (0..runs).step_by(AT_ONCE) {
        start(&engine, "gated@1", AT_ONCE.min(runs - first), &()).await?;
    }
    while count(&engine, RunStatus::Parked, runs).await? < runs {
        ensure!(began.elapsed() < BENCH_TIMEOUT, "they are not parked after {BENCH_TIMEOUT:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let per_second = runs as f64 / began.elapsed().as_secs_f64();
    engine.close().await;
    Ok([("runs parked, per s".to_owned(), per_second)].into())
}

async fn wake(folder: &Path, runs: usize) -> Result<Figures> {
    let empty = resident_bytes()?;
    let passes = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let engine = on_file(folder, &passes).await?;
    let ready = began.elapsed();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let resident = resident_bytes()?;
    let began = Instant::now();
    let ids = decide(&engine, runs).await?;
    all_end(&engine, &ids).await?;
    let took = began.elapsed();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let passes = passes.load(Ordering::SeqCst);
    ensure!(passes == runs as u64, "{runs} were decided, and {passes} were woken");
    engine.close().await;
    Ok([
        ("ready, ms".to_owned(), ready.as_secs_f64() * 1e3),
        ("resident, MB".to_owned(), (resident - empty) as f64 / 1048576.0),
        ("all woken, ms".to_owned(), took.as_secs_f64() * 1e3),
    ]
    .into())
}

/// The workflows; `passes` counts how often a run was continued.
fn workflows(passes: &Arc<AtomicU64>) -> Workflows {
    async fn work(ctx: &Ctx, steps: u32) -> Result<u32, Failure> {
        let mut sum = 0;
        for n in 0..steps {
            sum += ctx.step(format!("step-{n}"), move || std::future::ready(Ok(n % 7))).await?;
        }
        Ok(sum)
    }
    let passes = passes.clone();
    let gated = move |ctx: Ctx, (): ()| {
        passes.fetch_add(1, Ordering::SeqCst);
        async move { Ok(ctx.gate("go", GateSpec::new("Go on?")).await?.may_proceed()) }
    };
    let replayed = |ctx: Ctx, steps: u32| async move {
        let sum = work(&ctx, steps).await?;
        ctx.gate("go", GateSpec::new("Go on?")).await?;
        Ok(sum)
    };
    Workflows::new()
        .with("steps@1", |ctx: Ctx, steps: u32| async move { work(&ctx, steps).await })
        .with("replayed@1", replayed)
        .with("gated@1", gated)
}

async fn engine_on(store: AnyStore, passes: &Arc<AtomicU64>) -> Result<Engine> {
    let settings = EngineSettings { workflows: workflows(passes), ..EngineSettings::default() };
    Ok(Engine::start(store, settings, Arc::new(TokioHost)).await?)
}

async fn on_file(folder: &Path, passes: &Arc<AtomicU64>) -> Result<Engine> {
    let store = Sqlite::open(&folder.join("folkmoot.db"), Arc::new(SystemClock))?;
    engine_on(AnyStore::Sqlite(store), passes).await
}

fn person(name: &str, role: Role) -> Result<Principal> {
    Ok(Principal::new(name.parse()?, role))
}

async fn start(engine: &Engine, workflow: &str, runs: usize, input: &(impl Serialize + Sync)) -> Result<Vec<RunId>> {
    let bot = person("bot", Role::Agent)?;
    let started = try_join_all((0..runs).map(|_| engine.start_workflow(bot.clone(), workflow, input))).await?;
    Ok(started.into_iter().map(|run| run.start.id).collect())
}

async fn all_end(engine: &Engine, ids: &[RunId]) -> Result<()> {
    let bot = person("bot", Role::Agent)?;
    for id in ids {
        let ended = engine.wait_for_end(&bot, id, BENCH_TIMEOUT).await?;
        ensure!(ended.status() == RunStatus::Completed, "run {id} is {}", ended.status());
    }
    Ok(())
}

async fn until_parked(engine: &Engine, id: &RunId) -> Result<()> {
    let bot = person("bot", Role::Agent)?;
    let began = Instant::now();
    while engine.run(&bot, id).await?.status() != RunStatus::Parked {
        if began.elapsed() > BENCH_TIMEOUT {
            bail!("run {id} is not parked after {BENCH_TIMEOUT:?}");
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

async fn count(engine: &Engine, status: RunStatus, at_most: usize) -> Result<usize> {
    let alice = person("alice", Role::Reviewer)?;
    let query = RunQuery { status: Some(status), limit: u32::try_from(at_most)?, ..RunQuery::default() };
    Ok(engine.runs(&alice, query).await?.items.len())
}

/// Approves this many pending gates at once, and returns their runs.
async fn decide(engine: &Engine, runs: usize) -> Result<Vec<RunId>> {
    let alice = person("alice", Role::Reviewer)?;
    let limit = u32::try_from(runs)?;
    let query = GateQuery { status: Some(GateStatus::Pending), limit, ..GateQuery::default() };
    let gates = engine.gates(&alice, query).await?.items;
    ensure!(gates.len() == runs, "{} gates are pending", gates.len());
    let decide = |gate| engine.decide(alice.clone().into(), Review::on(gate, Choice::Approve, "measured"));
    try_join_all(gates.iter().map(|view| decide(&view.gate))).await?;
    gates.into_iter().map(|view| view.gate.run_id.context("a gate of a run")).collect()
}

fn resident_bytes() -> Result<i64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: i64 = pages.split(' ').nth(1).context("statm has no second number")?.parse()?;
    Ok(pages * 4096)
}
