//! Debates with models that answer at once: one alone, a thousand concurrently, and the cost of the
//! rules.

use std::{
    collections::BTreeSet,
    hint::black_box,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use folkmoot_core::{Name, Principal, Role, RunId, run::RunStatus};
use folkmoot_debate::{
    self as debate, Agent, Consensus, Network, Topology,
    agent::{DebatePhase, Domain, Score, Share, Team, team::AGENTS_MAX},
    consensus::Contribution,
    voting::{Ballot, Fallback, VotingMethod, VotingRules, elect},
};
use folkmoot_engine::{Engine, EngineSettings, Failure, TokioHost, Workflows};
use folkmoot_llm::{Prompts, Rehearsal, budget::Budget, price::Price};
use folkmoot_store::{AnyStore, Sqlite, SystemClock};
use folkmoot_tools::jail::Helper;
use folkmoot_workflows::{
    Equipment, Voice, Voices,
    debate::{DebateOutcome, Debater, Preset, RealEffects},
    equipment::EquipmentSettings,
};
use futures_util::future::{BoxFuture, try_join_all};
use serde::{Deserialize, Serialize};

use crate::{figures::Figures, load::sqlite, server::resident_bytes};

const BENCH_TIMEOUT: Duration = Duration::from_secs(600);
/// Consecutive debates.
const ALONE: u32 = 20;
const RAW_COMMITS: u32 = 200;

/// What to measure.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Concurrent debates on one node, beside one alone.
    Hold { folder: PathBuf, debates: usize },
    /// The cost of the rules, for the smallest usual team and the largest.
    Rules { times: u32 },
}

pub(crate) async fn measure(job: Job) -> Result<Figures> {
    match job {
        Job::Hold { folder, debates } => hold(&folder, debates).await,
        Job::Rules { times } => rules(times),
    }
}

#[derive(Debug)]
struct Players(Arc<Prompts>);

impl Voices for Players {
    fn choose(&self, _: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(std::future::ready(Ok("rehearsal".to_owned())))
    }

    fn voice(&self, _: &str) -> Result<Voice, Failure> {
        Ok(Voice {
            model: Arc::new(Rehearsal),
            price: Some(Price::NOTHING),
            max_tokens: folkmoot_llm::request::MAX_TOKENS,
        })
    }

    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        Ok(Arc::clone(&self.0))
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }
}

fn bot() -> Result<Principal> {
    Ok(Principal::new("bot".parse()?, Role::Agent))
}

async fn hold(folder: &Path, debates: usize) -> Result<Figures> {
    let raw = sqlite::open(folder)?;
    let began = Instant::now();
    (0..RAW_COMMITS).try_for_each(|_| sqlite::commit(&raw))?;
    let commit = began.elapsed().as_secs_f64() / f64::from(RAW_COMMITS);
    let equipment = Equipment::new(EquipmentSettings::default(), |_| None, Helper::this_program())
        .map_err(|why| anyhow::anyhow!(why))?;
    let voices = Arc::new(Players(Arc::new(Prompts::embedded())));
    let debater = Debater { voices, effects: Arc::new(RealEffects::new(Arc::new(equipment))) };
    let store = Sqlite::open(&folder.join("folkmoot.db"), Arc::new(SystemClock))?;
    let settings = EngineSettings { workflows: debater.join(Workflows::new()), ..EngineSettings::default() };
    let engine = Engine::start(AnyStore::Sqlite(store), settings, Arc::new(TokioHost)).await?;

    let began = Instant::now();
    let (mut rounds, mut turns) = (0, 0);
    for number in 0..ALONE {
        let debated =
            finish(&engine, start(&engine, &format!("alone{number}")).await?, &format!("alone{number}")).await?;
        rounds += debated.verdict.rounds;
        turns += debated.verdict.turns.answered;
    }
    let alone = began.elapsed();

    let before = resident_bytes(std::process::id())?;
    let began = Instant::now();
    let words: Vec<String> = (0..debates).map(|number| format!("marker{number}x")).collect();
    let runs = try_join_all(words.iter().map(|word| start(&engine, word))).await?;
    let mut most = before;
    let watched = async {
        loop {
            most = most.max(resident_bytes(std::process::id())?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = try_join_all(runs.into_iter().zip(&words).map(|(run, word)| finish(&engine, run, word)));
    let ended = tokio::select! {
        ended = ended => ended?,
        failed = watched => return failed,
    };
    let together = began.elapsed();
    ensure!(ended.len() == debates, "{} of {debates} debates ended", ended.len());
    let spoken: u32 = ended.iter().map(|debated| debated.verdict.turns.answered).sum();
    engine.close().await;

    let count = |number: u32| f64::from(number.max(1));
    let each = alone.as_secs_f64() / f64::from(ALONE);
    let share = together.as_secs_f64() / debates as f64;
    Ok(Figures::from([
        ("one debate alone, ms".to_owned(), each * 1e3),
        ("a round of it, ms".to_owned(), alone.as_secs_f64() * 1e3 / count(rounds)),
        ("a raw commit beside it, ms".to_owned(), commit * 1e3),
        ("turns of one debate, count".to_owned(), count(turns) / f64::from(ALONE)),
        ("turns of it, per s".to_owned(), count(turns) / alone.as_secs_f64()),
        ("turns of all at once, per s".to_owned(), count(spoken) / together.as_secs_f64()),
        ("debates at once, count".to_owned(), debates as f64),
        ("debates at once until all ended, s".to_owned(), together.as_secs_f64()),
        ("a debate among them, ms".to_owned(), share * 1e3),
        ("memory per debate among them, KB".to_owned(), most.saturating_sub(before) as f64 / 1024.0 / debates as f64),
    ]))
}

async fn start(engine: &Engine, word: &str) -> Result<RunId> {
    let topic = format!("Should the word {word} be used?");
    let team = Team::build(Preset::Full.agents(), Domain::General, &[])?;
    let debating = Preset::Full.debate(topic, team);
    Ok(engine.start_workflow(bot()?, debate::WORKFLOW, &debating).await?.start.id)
}

/// Waits for its end, and checks that it mentions its own topic and no other.
async fn finish(engine: &Engine, run: RunId, word: &str) -> Result<DebateOutcome> {
    let ended = engine.wait_for_end(&bot()?, &run, BENCH_TIMEOUT).await?;
    ensure!(ended.status() == RunStatus::Completed, "debate {run} is {}", ended.status());
    let output = engine.output(&ended).await?.unwrap_or_default();
    let debated: DebateOutcome = serde_json::from_str(&output)?;
    // A tie is a valid end.
    if debated.verdict.winner.is_none() {
        ensure!(debated.verdict.no_decision.is_some(), "debate {run} neither decided nor says why not");
        return Ok(debated);
    }
    let other =
        debated.answer.split(|c: char| !c.is_alphanumeric()).any(|said| said.starts_with("marker") && said != word);
    ensure!(debated.answer.contains(word) && !other, "debate {run} on {word} came to: {}", debated.answer);
    Ok(debated)
}

fn rules(times: u32) -> Result<Figures> {
    let mut figures = Figures::new();
    for size in [5, AGENTS_MAX] {
        let team = Team::build(size, Domain::Code, &[])?;
        let agents = team.agents();
        let names: Vec<Name> = agents.iter().map(|agent| agent.id.clone()).collect();
        let ballots: Vec<Ballot> = agents.iter().enumerate().map(|(at, agent)| ballot(agent, at, &names)).collect();
        for method in VotingMethod::ALL {
            let rules = VotingRules { method: *method, fallback: Fallback::Schulze, tie_break: None, minimum_votes: 1 };
            let took = time(times, || elect(black_box(&names), black_box(&ballots), rules));
            figures.insert(format!("{method}, {size} agents, µs"), took);
        }
        let texts: Vec<String> =
            names.iter().map(|name| format!("{name} says that this is a question of taste")).collect();
        let said: Vec<Contribution<'_>> =
            texts.iter().map(|text| Contribution::Answer { text, confidence: Some(Share::CONFIDENCE) }).collect();
        figures.insert(
            format!("consensus, {size} agents, µs"),
            time(times, || Consensus::of(black_box(&said), black_box(&names))),
        );
        for topology in Topology::ALL {
            figures.insert(
                format!("{topology} set up, {size} agents, µs"),
                time(times, || Network::new(*topology, black_box(agents), 8)),
            );
            let network = Network::new(*topology, agents, 8);
            let groups: BTreeSet<Name> = network.groups(DebatePhase::Critique).into_iter().flatten().collect();
            ensure!(groups.len() == size, "{topology} lost an agent");
            let all: Vec<(&Name, &Name)> = names
                .iter()
                .flat_map(|from| names.iter().filter(move |to| *to != from).map(move |to| (from, to)))
                .collect();
            let once =
                time(times.div_ceil(10), || all.iter().filter(|(from, to)| network.route(from, to).is_ok()).count());
            figures
                .insert(format!("messages routed, {topology}, {size} agents, per s"), all.len() as f64 / (once / 1e6));
        }
    }
    Ok(figures)
}

/// Ranks all others, each agent in another order.
fn ballot(agent: &Agent, at: usize, names: &[Name]) -> Ballot {
    let mut ranking: Vec<Name> = names.to_vec();
    ranking.rotate_left(at);
    ranking.retain(|name| *name != agent.id);
    Ballot {
        voter: agent.id.clone(),
        ranking,
        recused: Vec::new(),
        weight: 100,
        confidence: Share::CONFIDENCE,
        score: Score::default(),
    }
}

/// Microseconds per call.
fn time<T>(times: u32, mut work: impl FnMut() -> T) -> f64 {
    let began = Instant::now();
    for _ in 0..times {
        black_box(work());
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(times)
}
