//! Simulates a workflow, with a virtual clock, simulated people, and a crash at any point.
//!
//! Everything runs in one thread on a database in memory, and a seed determines what happens next.
//! So a simulation is deterministic, and a failure can be reproduced. A crash drops the whole
//! engine. What was committed stays, and another engine continues with it.
//!
//! ```
//! use folkmoot_engine::{
//!     Ctx, Failure, GateSpec, Workflows,
//!     sim::{self, Scenario, SimulatedEffects},
//! };
//!
//! fn publishing() -> Scenario {
//!     let effects = SimulatedEffects::default();
//!     let printing = effects.clone();
//!     let workflows = Workflows::new().with("publish@1", move |ctx: Ctx, draft: String| {
//!         let printing = printing.clone();
//!         async move {
//!             let decided = ctx.gate("publish", GateSpec::new(draft)).await?;
//!             if decided.may_proceed() {
//!                 ctx.step("print", move || printing.happen("print")).once().await?;
//!             }
//!             Ok::<_, Failure>(decided.may_proceed())
//!         }
//!     });
//!     Scenario::new(workflows, "publish@1", "A draft").effects(effects)
//! }
//!
//! sim::crash_everywhere(publishing);
//! ```

mod crash;
mod world;

use std::{
    collections::BTreeMap,
    fmt,
    future::Ready,
    sync::{Arc, Mutex},
    time::Duration,
};

use folkmoot_core::{
    Digest, Gate, Principal, Question, RecordQuery, RecordView, Role, RunId,
    gate::{Choice, Review},
    journal::{EntryKind, EntryState, Waits},
    question::{Close, Reply},
    run::{NewRun, RunOutcome, RunState},
};
use folkmoot_store::{AnyStore, Error, GateQuery, JournalLine, JournalQuery, QuestionQuery, Sqlite, Store};
use serde::Serialize;
use serde_json::Value;

pub use crash::Crash;
use crash::Tripwire;
use world::World;

use crate::{Engine, EngineSettings, Failure, Host, Workflows, ctx::step_asked_about, lock::lock};

/// How often the simulated people check what waits for them.
const PEOPLE_LOOK: Duration = Duration::from_secs(5);
/// A simulation that takes longer, by its own clock, makes no progress.
const SIMULATION_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);

/// How the simulated people decide on a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedDecision {
    pub choice: Choice,
    /// For an adjustment: what should change.
    pub feedback: Option<String>,
    /// For an adjustment: the replacement text.
    pub edited: Option<String>,
}

impl From<Choice> for SimulatedDecision {
    fn from(choice: Choice) -> Self {
        Self { choice, feedback: None, edited: None }
    }
}

type DecideFn = dyn Fn(&Gate) -> Option<SimulatedDecision> + Send + Sync;
type ReplyFn = dyn Fn(&Question) -> Option<Value> + Send + Sync;

/// A workflow to simulate, and how people behave.
#[derive(Clone)]
pub struct Scenario {
    workflows: Workflows,
    workflow: String,
    input: Value,
    seed: u64,
    effects: SimulatedEffects,
    /// By default people approve. Asked whether a step was done, they check its effect first.
    decide: Option<Arc<DecideFn>>,
    answer: Arc<ReplyFn>,
    /// How often the people resume the run if it stops.
    resumes: u32,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario").field("workflow", &self.workflow).field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Scenario {
    /// One run of this workflow. People approve every gate and answer every question with its first
    /// option. Asked whether a step was done, they check whether its effect has happened.
    pub fn new(workflows: Workflows, workflow: &str, input: impl Serialize) -> Self {
        Self {
            workflows,
            workflow: workflow.to_owned(),
            input: serde_json::to_value(input).expect("an input is JSON"),
            seed: 1,
            effects: SimulatedEffects::default(),
            decide: None,
            answer: Arc::new(|question| {
                Some(question.options.first().cloned().unwrap_or_else(|| "yes".to_owned()).into())
            }),
            resumes: 0,
        }
    }

    /// The seed that determines what happens next.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The effects that the workflow's steps report to.
    #[must_use]
    pub fn effects(mut self, effects: SimulatedEffects) -> Self {
        self.effects = effects;
        self
    }

    /// How the people decide on a gate; `None` leaves it undecided for now.
    #[must_use]
    pub fn decide(mut self, decide: impl Fn(&Gate) -> Option<SimulatedDecision> + Send + Sync + 'static) -> Self {
        self.decide = Some(Arc::new(decide));
        self
    }

    /// How often the people resume the run if it stops. After that a stop is the end of the
    /// simulation.
    #[must_use]
    pub fn resume(mut self, times: u32) -> Self {
        self.resumes = times;
        self
    }

    /// How the people answer a question; `None` leaves it open for now.
    #[must_use]
    pub fn answer(mut self, answer: impl Fn(&Question) -> Option<Value> + Send + Sync + 'static) -> Self {
        self.answer = Arc::new(answer);
        self
    }
}

/// The effects of steps on the outside world, which no crash undoes. Each effect has the key of its
/// step.
#[derive(Clone, Debug, Default)]
pub struct SimulatedEffects(Arc<Mutex<BTreeMap<String, Effect>>>);

#[derive(Clone, Debug, Default)]
struct Effect {
    count: u32,
    /// The last result.
    gave: Value,
}

impl SimulatedEffects {
    /// Counts one more occurrence of the effect.
    pub fn happen(&self, key: impl Into<String>) -> Ready<Result<(), Failure>> {
        self.give(key, ())
    }

    /// Counts one more occurrence of the effect, and returns `result`.
    pub fn give<T: Serialize>(&self, key: impl Into<String>, result: T) -> Ready<Result<T, Failure>> {
        let gave = serde_json::to_value(&result).expect("what a step gives is JSON");
        let mut effects = lock(&self.0);
        let effect = effects.entry(key.into()).or_default();
        *effect = Effect { count: effect.count + 1, gave };
        drop(effects);
        std::future::ready(Ok(result))
    }

    /// How often the effect has happened.
    pub fn count(&self, key: &str) -> u32 {
        lock(&self.0).get(key).map_or(0, |effect| effect.count)
    }

    fn counts(&self) -> BTreeMap<String, u32> {
        lock(&self.0).iter().map(|(key, effect)| (key.clone(), effect.count)).collect()
    }

    /// The decision of a person who checks whether the effect has happened.
    fn tell(&self, gate: &Gate) -> SimulatedDecision {
        let done = step_asked_about(gate).and_then(|key| lock(&self.0).get(key).map(|effect| effect.gave.to_string()));
        match done {
            Some(result) => SimulatedDecision { choice: Choice::Adjust, feedback: None, edited: Some(result) },
            None => Choice::Approve.into(),
        }
    }
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct SimulationReport {
    /// The output of the run, or the failure with which it failed or stopped.
    pub outcome: Result<Value, Failure>,
    /// The number of commands that were written.
    pub appends: u64,
    /// How often each effect happened.
    pub effects: BTreeMap<String, u32>,
    /// The keys of the steps that were in flight at the crash.
    pub in_flight: Vec<String>,
    /// The kind of each step of the run and of its children.
    pub kinds: BTreeMap<String, EntryKind>,
    /// The records of the run and of its children, one line each.
    pub kept: Vec<String>,
    /// The events of the run, its gates and its questions, except for its steps, in order: the type
    /// and payload of each.
    pub told: Vec<(String, String)>,
    /// The hash of the last event of the log. Two simulations with the same hash took the same
    /// course.
    pub head: Digest,
}

/// Simulates a run from its start to its end, with this crash.
pub fn simulate(scenario: &Scenario, crash: Crash) -> SimulationReport {
    let world = World::new(scenario.seed);
    let store = Sqlite::in_memory(world.clock()).expect("a database in memory opens");
    let tripwire = Arc::new(Tripwire::new(crash, world.clone()));
    let next = store.again().expect("it is in memory");
    let mut in_flight = Vec::new();
    let first = life(&world, scenario, store.witnessed(tripwire.clone()));
    let FinishedLife { outcome, kinds, kept, told, head } = match first {
        Life::Ended(lived) => lived,
        Life::Crashed(steps) => {
            in_flight = steps;
            world.restart();
            match life(&world, scenario, next.witnessed(tripwire.clone())) {
                Life::Ended(lived) => lived,
                Life::Crashed(_) => unreachable!("it crashes once"),
            }
        }
    };
    let (appends, effects) = (tripwire.appends(), scenario.effects.counts());
    SimulationReport { outcome, appends, effects, in_flight, kinds, kept, told, head }
}

/// Simulates once without a crash, then with a crash before and after every single append, and
/// compares. The outcome and the records must always be the same. A `once` step must happen exactly
/// as often as without a crash. A repeatable step may happen once more if it was in flight.
///
/// # Panics
///
/// If a simulation differs. The message says where, and with which seed.
pub fn crash_everywhere(scenario: impl Fn() -> Scenario + Sync) -> Vec<SimulationReport> {
    everywhere(scenario, &[Crash::Before, Crash::After])
}

/// Like [`crash_everywhere`], but without a crash: for every single append there is a simulation in
/// which the caller never learns whether it was made.
///
/// # Panics
///
/// If the outcome is not always the same, or something happens more often than otherwise.
pub fn untold_everywhere(scenario: impl Fn() -> Scenario + Sync) -> Vec<SimulationReport> {
    everywhere(scenario, &[Crash::Untold])
}

fn everywhere(scenario: impl Fn() -> Scenario + Sync, crashes: &[fn(u64) -> Crash]) -> Vec<SimulationReport> {
    let calm = simulate(&scenario(), Crash::Never);
    assert!(calm.appends > 0, "nothing was simulated");
    let crashes: Vec<Crash> = (1..=calm.appends).flat_map(|n| crashes.iter().map(move |crash| crash(n))).collect();
    let storm = |crash: &Crash| {
        let scenario = scenario();
        let stormy = simulate(&scenario, *crash);
        compare(&calm, &stormy, &format!("{crash:?}, seed {}", scenario.seed));
        stormy
    };
    // The simulations are independent, so they run in parallel.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let storm = &storm;
        let shares = crashes.chunks(crashes.len().div_ceil(threads));
        let shares: Vec<_> =
            shares.map(|share| scope.spawn(move || share.iter().map(storm).collect::<Vec<_>>())).collect();
        let join = |share: std::thread::ScopedJoinHandle<'_, Vec<SimulationReport>>| {
            share.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        shares.into_iter().flat_map(join).collect()
    })
}

fn compare(calm: &SimulationReport, stormy: &SimulationReport, place: &str) {
    assert_eq!(stormy.outcome, calm.outcome, "{place}");
    assert_eq!(stormy.kept, calm.kept, "{place}");
    for (key, happened) in &stormy.effects {
        let usual = calm.effects.get(key).copied().unwrap_or_default();
        let repeatable = stormy.kinds.get(key) != Some(&EntryKind::Once);
        let again = u32::from(repeatable && stormy.in_flight.contains(key));
        assert!((usual..=usual + again).contains(happened), "{key} happened {happened} times: {place}");
    }
    assert_eq!(stormy.effects.len(), calm.effects.len(), "an effect is missing: {place}");
}

/// How one simulated process ended.
enum Life {
    Ended(FinishedLife),
    Crashed(Vec<String>),
}

/// The results of a process that did not crash.
struct FinishedLife {
    outcome: Result<Value, Failure>,
    kinds: BTreeMap<String, EntryKind>,
    kept: Vec<String>,
    told: Vec<(String, String)>,
    head: Digest,
}

fn life(world: &Arc<World>, scenario: &Scenario, store: Sqlite) -> Life {
    let engine: Arc<Mutex<Option<Engine>>> = Arc::default();
    let (host, scenario, known) = (world.clone(), scenario.clone(), engine.clone());
    let main = async move {
        let settings = EngineSettings { workflows: scenario.workflows.clone(), ..EngineSettings::default() };
        let started = Engine::start(AnyStore::Sqlite(store), settings, Arc::new(host.clone())).await;
        let engine = started.expect("an engine starts on a database in memory");
        *lock(&known) = Some(engine.clone());
        host.spawn(Box::pin(people(engine.clone(), scenario.clone())));
        Life::Ended(live_through(&engine, &scenario).await.expect("a database in memory answers"))
    };
    let autopsy = || {
        let in_flight = lock(&engine).as_ref().map(Engine::steps_in_flight).unwrap_or_default();
        Life::Crashed(in_flight.into_iter().map(|(_, key)| key).collect())
    };
    world.run(main, autopsy)
}

async fn live_through(engine: &Engine, scenario: &Scenario) -> Result<FinishedLife, Error> {
    let starter = person("simulator", Role::Agent);
    let id: RunId = "run-of-the-simulation".parse().expect("plain words are an id");
    let new_run = NewRun {
        id: id.clone(),
        workflow: Some(scenario.workflow.parse().expect("a scenario names a workflow")),
        title: "simulation".to_owned(),
        session_id: None,
        input: Some(scenario.input.to_string()),
        limits: folkmoot_core::run::RunLimits::default(),
    };
    match engine.start_run(starter.clone().into(), new_run).await {
        Ok(_) | Err(Error::OutcomeUnknown | Error::Refused(folkmoot_core::Refusal::RunExists { .. })) => {}
        Err(error) => return Err(error),
    }
    let mut resumes = scenario.resumes;
    let run = loop {
        let run = engine.wait_for_end(&starter, &id, PEOPLE_LOOK).await?;
        let stopped = matches!(run.state, RunState::Stopped { .. });
        if stopped && resumes > 0 {
            resumes -= 1;
            match engine.resume_run(starter.clone().into(), id.clone()).await {
                Ok(_) | Err(Error::OutcomeUnknown) => continue,
                Err(error) => return Err(error),
            }
        }
        if stopped || run.ending().is_some() {
            break run;
        }
    };
    let outcome = match &run.state {
        RunState::Ended(ending) if ending.outcome == RunOutcome::Completed => {
            let output = engine.output(&run).await?.unwrap_or_else(|| "null".to_owned());
            Ok(serde_json::from_str(&output).expect("what a run gives is JSON"))
        }
        RunState::Ended(ending) if ending.outcome == RunOutcome::Failed => {
            Err(Failure::new(&ending.code, &ending.reason))
        }
        RunState::Ended(ending) => Err(Failure::new("cancelled", &ending.reason)),
        RunState::Stopped { code, message } => Err(Failure::new(code, message)),
        RunState::Pending | RunState::Outside | RunState::Running { .. } | RunState::Parked(_) => {
            unreachable!("it was waited for until it was over")
        }
    };
    let (mut kinds, mut kept) = (BTreeMap::new(), Vec::new());
    let events = engine.0.store.events_of_run(&id, 0, u32::MAX).await?.into_iter().map(|event| event.fact);
    let told = events.filter(|fact| fact.kind != "step.recorded").map(|fact| (fact.kind.into_owned(), fact.payload));
    let told = told.collect();
    let mut runs = vec![id];
    while let Some(run) = runs.pop() {
        kept.extend(kept_by(engine, &run).await?);
        let query = JournalQuery { run, after: None, limit: u32::MAX, key: None, results: false };
        for JournalLine { entry, .. } in engine.journal(&starter, query).await? {
            match (entry.kind, &entry.state) {
                (_, EntryState::Waiting(Waits::Run(child))) => runs.push(child.clone()),
                // If children have a step with the same key, `once` takes precedence.
                (EntryKind::Once, _) => drop(kinds.insert(entry.key.to_string(), EntryKind::Once)),
                (EntryKind::Step, _) => drop(kinds.entry(entry.key.to_string()).or_insert(EntryKind::Step)),
                _ => {}
            }
        }
    }
    let head = engine.0.store.head().await?.hash;
    Ok(FinishedLife { outcome, kinds, kept, told, head })
}

/// The records of a run, without times and durations. Also checks that they agree with the log.
async fn kept_by(engine: &Engine, run: &RunId) -> Result<Vec<String>, Error> {
    let store = &engine.0.store;
    let query = RecordQuery { runs: vec![run.clone()], limit: u32::MAX, ..RecordQuery::default() };
    let shown = |RecordView { record, texts }: RecordView| {
        let mut fields = serde_json::Value::Object(record.fields);
        remove_durations(&mut fields);
        format!("{} {fields} {texts:?}", record.collection)
    };
    let mut kept: Vec<String> = store.records(query).await?.into_iter().map(shown).collect();
    if !kept.is_empty() {
        assert_eq!(crate::verify(store).await?.problems, [], "what {run} has kept is not what the log says");
    }
    // Branches write in any order.
    kept.sort();
    Ok(kept)
}

/// Removes durations, which the real clock measures, also from JSON that a field holds as text.
fn remove_durations(fields: &mut serde_json::Value) {
    match fields {
        serde_json::Value::Object(fields) => {
            fields.retain(|name, _| !name.ends_with("_ms"));
            fields.values_mut().for_each(remove_durations);
        }
        serde_json::Value::String(text) if text.starts_with('{') => {
            if let Ok(mut inner) = serde_json::from_str(text) {
                remove_durations(&mut inner);
                *text = inner.to_string();
            }
        }
        _ => {}
    }
}

/// The simulated people: decide on gates and answer questions as the scenario says.
async fn people(engine: Engine, scenario: Scenario) {
    let alice = person("alice", Role::Admin);
    loop {
        let query = GateQuery { status: Some(folkmoot_core::GateStatus::Pending), limit: 1000, ..GateQuery::default() };
        for view in engine.gates(&alice, query).await.map(|page| page.items).unwrap_or_default() {
            let said = match &scenario.decide {
                Some(decide) => decide(&view.gate),
                None => Some(scenario.effects.tell(&view.gate)),
            };
            let Some(SimulatedDecision { choice, feedback, edited }) = said else { continue };
            let review = Review { feedback, edited, ..Review::on(&view.gate, choice, "simulated") };
            // The gate may have been decided or timed out since.
            let _ = engine.decide(alice.clone().into(), review).await;
        }
        let status = Some(folkmoot_core::question::QuestionStatus::Pending);
        let query = QuestionQuery { status, limit: 1000, ..QuestionQuery::default() };
        for view in engine.questions(&alice, query).await.map(|page| page.items).unwrap_or_default() {
            let Some(answer) = (scenario.answer)(&view.question) else { continue };
            let reply =
                Reply { question: view.question.id, close: Close::Answer(answer), reason: "simulated".to_owned() };
            let _ = engine.close_question(alice.clone().into(), reply).await;
        }
        engine.0.host.sleep(PEOPLE_LOOK).await;
    }
}

fn person(name: &str, role: Role) -> Principal {
    Principal::new(name.parse().expect("a plain word is a name"), role)
}
