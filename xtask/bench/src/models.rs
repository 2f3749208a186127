//! The cost of a model call without the model: the layers around it, its record as a step, and the
//! wire.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use folkmoot_core::{Principal, Role, run::RunStatus};
use folkmoot_engine::{Ctx, Engine, EngineSettings, Failure, TokioHost, Workflows};
use folkmoot_llm::{
    Finish, Hear, Model, ModelAnswer, ModelCallRecord, ModelRequest, RecordedModel, TokenUsage,
    budget::{Budget, BudgetedModel, SharedBudget},
    guard::{Guard, GuardedModel, RetryPolicy},
    outbound::tls,
    price::Price,
    provider::{Endpoint, OpenAi},
    record::{CallOutcome, Recorder},
};
use folkmoot_store::{AnyStore, Sqlite, SystemClock};
use folkmoot_workflows::{ModelCall, OnExceeded, RunBudget};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{bare, figures::Figures, load::sqlite, report::median};

const BENCH_TIMEOUT: Duration = Duration::from_secs(600);
/// The kinds alternate in turns of this many calls, so that all see the same load.
const TURNS: u32 = 10;
/// Calls in a run that write more than SQLite lets its log grow to.
const WARM_UP: u32 = 500;

/// One measurement, in a process of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// So many calls in this process, with our layers around the model and without.
    Layers { calls: u32 },
    /// So many calls in a run, as many plain steps, and as many raw commits to the same disk.
    Steps { folder: PathBuf, calls: u32 },
    /// So many calls to the server at this address, which answers at once.
    Wire { address: String, calls: u32 },
}

pub(crate) async fn measure(job: Job) -> Result<Figures> {
    match job {
        Job::Layers { calls } => layers(calls).await,
        Job::Steps { folder, calls } => steps(&folder, calls).await,
        Job::Wire { address, calls } => wire(&address, calls).await,
    }
}

async fn layers(calls: u32) -> Result<Figures> {
    let bare: Arc<dyn Model> = Arc::new(AtOnce);
    let guard = Guard::new("bench", RetryPolicy::default());
    let guarded =
        GuardedModel { model: Arc::clone(&bare), name: "at-once".to_owned(), guard, price: Some(Price::NOTHING) };
    let budgeted =
        BudgetedModel { model: Arc::new(guarded), shared_budget: shared_budget(), price: Some(Price::NOTHING) };
    let layered: Arc<dyn Model> = Arc::new(RecordedModel { model: Arc::new(budgeted), recorder: Arc::new(Nowhere) });
    let mut times = Times::default();
    for _ in 0..TURNS {
        for (name, model) in [("bare model call", &bare), ("layered model call", &layered)] {
            times.of(name, calls, ask(model.as_ref(), calls)).await?;
        }
    }
    Ok(times.medians())
}

async fn ask(model: &dyn Model, calls: u32) -> Result<()> {
    let request = request();
    for _ in 0..calls {
        let answer = model.ask(&request, &mut ()).await?;
        ensure!(!answer.text.is_empty(), "the model said nothing");
    }
    Ok(())
}

async fn steps(folder: &Path, calls: u32) -> Result<Figures> {
    let store = Sqlite::open(&folder.join("folkmoot.db"), Arc::new(SystemClock))?;
    let settings = EngineSettings { workflows: workflows(), ..EngineSettings::default() };
    let engine = Engine::start(AnyStore::Sqlite(store), settings, Arc::new(TokioHost)).await?;
    let sorts = [("plain step", "steps@1"), ("model step", "calls@1")];
    // A growing write-ahead log makes each sync also write its length, so both are grown first.
    for (_, workflow) in sorts {
        to_the_end(&engine, workflow, WARM_UP).await?;
    }
    let raw = sqlite::open(folder)?;
    raw.execute("insert into raw (body) values (zeroblob(8 * 1024 * 1024))", [])?;
    let mut times = Times::default();
    for _ in 0..TURNS {
        times.of("raw commit", calls, async { (0..calls).try_for_each(|_| sqlite::commit(&raw)) }).await?;
        for (name, workflow) in sorts {
            times.of(name, calls, to_the_end(&engine, workflow, calls)).await?;
        }
    }
    engine.close().await;
    Ok(times.medians())
}

fn workflows() -> Workflows {
    async fn plain(ctx: Ctx, steps: u32) -> Result<u32, Failure> {
        for n in 0..steps {
            ctx.step(format!("step-{n}"), move || std::future::ready(Ok(n % 7))).await?;
        }
        Ok(steps)
    }
    async fn calls(ctx: Ctx, calls: u32) -> Result<u32, Failure> {
        let spending = RunBudget::new(shared_budget(), OnExceeded::Fail);
        let agent: folkmoot_core::Name = "proposer-1".parse().expect("a good name");
        for n in 0..calls {
            let call = ModelCall {
                key: format!("call-{n}"),
                agent: agent.clone(),
                model: Arc::new(AtOnce),
                price: Some(Price::NOTHING),
                request: request(),
            };
            if let CallOutcome::Failed(failure) = spending.call(&ctx, call).await?.outcome {
                return Err(Failure::new("model", failure.detail));
            }
        }
        Ok(calls)
    }
    Workflows::new().with("steps@1", plain).with("calls@1", calls)
}

async fn to_the_end(engine: &Engine, workflow: &str, steps: u32) -> Result<()> {
    let bot = Principal::new("bot".parse()?, Role::Agent);
    let id = engine.start_workflow(bot.clone(), workflow, &steps).await?.start.id;
    let ended = engine.wait_for_end(&bot, &id, BENCH_TIMEOUT).await?;
    ensure!(ended.status() == RunStatus::Completed, "run {id} is {}", ended.status());
    Ok(())
}

async fn wire(address: &str, calls: u32) -> Result<Figures> {
    let base_url = format!("http://{address}/v1");
    let provider = OpenAi::new(Endpoint::new("bench", base_url.clone()), Some("bare".to_owned()))?;
    let client = |kept| {
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(&base_url))
            .pool_max_idle_per_host(kept)
            .build()
    };
    let (kept, new) = (client(1)?, client(0)?);
    let url = format!("{base_url}/chat/completions");
    let mut times = Times::default();
    for _ in 0..TURNS {
        times.of("reqwest call on a kept connection", calls, post(&kept, &url, calls)).await?;
        times.of("reqwest call on a new connection", calls, post(&new, &url, calls)).await?;
        times.of("OpenAI provider call", calls, ask(&provider, calls)).await?;
    }
    Ok(times.medians())
}

/// Sends as much as the provider does, and reads the whole answer.
async fn post(client: &reqwest::Client, url: &str, calls: u32) -> Result<()> {
    let request = request();
    for _ in 0..calls {
        let body = json!({
            "model": "bare",
            "messages": [{ "role": "system", "content": request.system }, { "role": "user", "content": request.messages[0].text }],
            "max_tokens": request.max_tokens,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        let mut response = client.post(url).json(&body).send().await?.error_for_status()?;
        let mut bytes = 0;
        while let Some(piece) = response.chunk().await? {
            bytes += piece.len();
        }
        ensure!(bytes > 32 * bare::PIECES, "the answer has only {bytes} bytes");
    }
    Ok(())
}

/// Microseconds for each call, by its sort, of each turn.
#[derive(Default)]
struct Times(std::collections::BTreeMap<&'static str, Vec<f64>>);

impl Times {
    async fn of(&mut self, name: &'static str, calls: u32, work: impl Future<Output = Result<()>>) -> Result<()> {
        let began = Instant::now();
        work.await.context(name)?;
        self.0.entry(name).or_default().push(began.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
        Ok(())
    }

    fn medians(&self) -> Figures {
        let medians = self.0.iter().map(|(name, times)| (format!("{name}, µs"), median(times).unwrap_or(f64::NAN)));
        medians.collect()
    }
}

/// About the size of an agent's request: a role of two thousand bytes, a turn of four thousand.
fn request() -> ModelRequest {
    const SENTENCE: &str = "Say what you would do, what speaks against it, and how one would notice. ";
    let system = Some(SENTENCE.repeat(2000 / SENTENCE.len()));
    ModelRequest { system, max_tokens: 400, ..ModelRequest::new(SENTENCE.repeat(4000 / SENTENCE.len())) }
}

/// Large enough for everything, but still counted.
fn shared_budget() -> Arc<SharedBudget> {
    SharedBudget::new(Budget { tokens: Some(u64::MAX / 2), usd_micros: Some(u64::MAX / 2) })
}

/// A model with a prepared answer of a thousand bytes.
#[derive(Debug)]
struct AtOnce;

impl Model for AtOnce {
    fn ask<'a>(
        &'a self,
        _: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        const SENTENCE: &str = "I would do the simplest thing that can be undone. ";
        let text = SENTENCE.repeat(1000 / SENTENCE.len());
        hear.piece(&text);
        let usage = TokenUsage { input_tokens: 1500, cached_tokens: 0, output_tokens: 250, estimated: false };
        Box::pin(std::future::ready(Ok(ModelAnswer {
            text,
            finish: Finish::Stop,
            usage,
            provider: "bench".to_owned(),
            model: "at-once".to_owned(),
            version: None,
            latency_ms: 0,
            cost_usd_micros: None,
            sent: String::new(),
            failed: Vec::new(),
        })))
    }
}

/// Creates recordings and discards them; storing them is measured with the steps of a run.
#[derive(Debug)]
struct Nowhere;

impl Recorder for Nowhere {
    fn keep(&self, recording: ModelCallRecord) -> std::io::Result<()> {
        std::hint::black_box(recording);
        Ok(())
    }
}
