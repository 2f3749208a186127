//! Whatever shares a batch with what: each command is judged on what those before it left.

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_core::{
    Action, Actor, Command, Deadline, Delivery, Outcome, Scope,
    delivery::{self, DeliveryResult, RetryAdvice},
    gate::{self, Choice},
    halt::{self, NewHalt},
    journal::{EntryState, Waits},
    question::{self, Close, NewQuestion, QuestionType},
    run::{self, NewRun, ParkRequest, RunState},
};
use folkmoot_store::{Clock, RunQuery, Sqlite, Store};

use crate::support::*;

/// The same commands, to one store one after another and to the other many at once: every answer,
/// the whole log, every row and every wake-up are the same.
pub(crate) async fn what_is_sent_at_once_comes_to_what_it_would_in_turn(world: &World<impl Place>) {
    let store = &*world.store;
    let (seed, mut answers) = (20, BTreeMap::new());
    println!("storm with seed {seed}");
    let mut model = Model::new(world, seed);
    for _ in 0..90 {
        let batch: Vec<Command> = model.batch().await;
        let told = at_once(store, batch.iter().cloned()).await;
        for ((command, one_by_one), at_once) in batch.iter().zip(std::mem::take(&mut model.told)).zip(told) {
            assert_eq!(at_once, one_by_one, "{:#?}\nwithin\n{batch:#?}", command.action);
            let word = match at_once {
                Ok(outcome) => word(&outcome).to_owned(),
                Err(error) => error.refusal().unwrap().code().to_owned(),
            };
            *answers.entry(word).or_insert(0) += 1;
        }
        assert_eq!(ready(store).await, ready(&*model.store).await, "after {batch:#?}");
        assert_eq!(orphans(store).await, orphans(&*model.store).await, "after {batch:#?}");
        world.clock.advance(std::time::Duration::from_secs(model.random.below(20) as u64));
    }
    assert_eq!(assert_sound(store).await, all_events(&*model.store).await);
    let all = || RunQuery { limit: 1000, ..RunQuery::default() };
    assert_eq!(deliveries(store).await, deliveries(&*model.store).await);
    assert_eq!(store.runs(all()).await.unwrap(), model.store.runs(all()).await.unwrap());
    let until = world.clock.now().plus(minutes(1000));
    let timers = async |store: &Sqlite| store.due(until, 1000).await.unwrap().len();
    assert_eq!(store.due(until, 1000).await.unwrap().len(), timers(&model.store).await);
    println!("{answers:?}");
    let known = |word: &str| answers.get(word).copied().unwrap_or(0);
    for (word, least) in [
        ("claimed", 40),
        ("parked", 20),
        ("awake", 3),
        ("entry", 30),
        ("ended", 10),
        ("run_not_ready", 10),
        ("lease_lost", 10),
        ("run_ended", 10),
        ("delivery", 40),
        ("lifted", 20),
        ("closed", 20),
    ] {
        assert!(known(word) >= least, "{word} too seldom: {answers:?}");
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Nothing => "nothing",
        Outcome::Gate(_) | Outcome::Existing(_) => "gate",
        Outcome::Question(question) if question.closure().is_some() => "closed",
        Outcome::Question(_) => "asked",
        Outcome::Halt(halt) if halt.lifted.is_some() => "lifted",
        Outcome::Halt(_) => "raised",
        Outcome::Token(_) => "token",
        Outcome::Run(run) => match &run.state {
            RunState::Parked(_) => "parked",
            RunState::Ended(_) => "ended",
            RunState::Pending | RunState::Outside | RunState::Running { .. } | RunState::Stopped { .. } => "run",
        },
        Outcome::ExistingRun(_) => "run",
        Outcome::Claimed(..) => "claimed",
        Outcome::Entry(_) | Outcome::Stands(_) => "entry",
        Outcome::Awake(_) => "awake",
        Outcome::Webhook(_) => "webhook",
        Outcome::Erased(_) => "erased",
        Outcome::Delivery(_) | Outcome::Deliveries(_) => "delivery",
    }
}

/// A store that is told everything first, one command after another, and of which the next commands
/// are made.
struct Model {
    store: Arc<Sqlite>,
    random: Random,
    told: Vec<Result<Outcome, folkmoot_store::Error>>,
    runs: Vec<String>,
    gates: Vec<String>,
    taken: Vec<Delivery>,
    questions: Vec<String>,
    halts: Vec<String>,
    /// The wake-ups of which each run's worker knows.
    wakes: BTreeMap<String, u64>,
}

impl Model {
    fn new(world: &World<impl Place>, seed: u64) -> Self {
        let store = Arc::new(Sqlite::in_memory(world.clock.clone()).unwrap());
        let (told, wakes) = (Vec::new(), BTreeMap::new());
        let [runs, gates, questions, halts] = [const { Vec::new() }; 4];
        Self {
            store,
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            told,
            runs,
            gates,
            questions,
            halts,
            wakes,
            taken: Vec::new(),
        }
    }

    async fn batch(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        for _ in 0..1 + self.random.below(24) {
            let command = heard_by(self.next().await, &[("all", "*"), ("gates", "gate.*")]);
            let answer = self.store.execute(command.clone()).await;
            self.learn(&command.action, &answer);
            self.told.push(answer);
            commands.push(command);
        }
        commands
    }

    /// Takes note of what there is now to be talked about.
    fn learn(&mut self, action: &Action, answer: &Result<Outcome, folkmoot_store::Error>) {
        match (answer, action) {
            (Err(_), _) => {}
            (Ok(Outcome::Deliveries(taken)), Action::Delivery(delivery::Action::Take { .. })) => {
                self.taken.extend(taken.iter().cloned())
            }
            (Ok(Outcome::Claimed(run, wakes)), _) => drop(self.wakes.insert(run.start.id.to_string(), *wakes)),
            (Ok(Outcome::Awake(wakes)), Action::Run(run::Action::Park(ParkRequest { run, .. }))) => {
                self.wakes.insert(run.to_string(), *wakes);
            }
            (Ok(_), Action::Run(run::Action::Start(new_run))) => self.runs.push(new_run.id.to_string()),
            (Ok(_), Action::Question(question::Action::Ask { new_question, .. })) => {
                self.questions.push(new_question.id.to_string())
            }
            (Ok(_), Action::Halt(halt::Action::Raise(new_halt))) => self.halts.push(new_halt.id.to_string()),
            (Ok(Outcome::Entry(entry) | Outcome::Stands(entry)), Action::Run(run::Action::Record(_))) => {
                match &entry.state {
                    EntryState::Waiting(Waits::Gate(id)) => self.gates.push(id.to_string()),
                    EntryState::Waiting(Waits::Question(id)) => self.questions.push(id.to_string()),
                    EntryState::Waiting(Waits::Run(id)) => self.runs.push(id.to_string()),
                    _ => {}
                }
            }
            (Ok(_), _) => {}
        }
    }

    /// One of the newest few, so that many commands meet.
    fn newest(random: &mut Random, all: &[String]) -> String {
        let among = all.len().min(4);
        if among == 0 { "nobody".to_owned() } else { all[all.len() - 1 - random.below(among)].clone() }
    }

    async fn next(&mut self) -> Command {
        let random = &mut self.random;
        let (run, n) = (Self::newest(random, &self.runs), unique());
        let found = self.store.run(&run_id(&run)).await.unwrap();
        // Now and then somebody writes under a claim that is none, or no longer.
        let epoch = found.as_ref().map_or(1, |run| run.epoch) + u64::from(random.below(20) == 0);
        let wakes = self.wakes.get(&run).copied().unwrap_or(0);
        let session = ["s1", "s2"][random.below(2)];
        let who = ["a1", "a2", "a3"][random.below(3)];
        let node = ["n1", "n2"][random.below(2)];
        let kind = [QuestionType::Blocking, QuestionType::Approval, QuestionType::Emergency, QuestionType::Clarifying]
            [random.below(4)];
        let idle = found.as_ref().is_some_and(|run| !matches!(run.state, RunState::Running { .. }));
        match random.below(46) {
            // Mostly somebody takes what waits, and works on what was taken.
            10..=22 if idle && random.below(3) > 0 => claim(&run, node),
            0..=1 => {
                let id = format!("run-{n}");
                start(NewRun { session_id: Some(session.parse().unwrap()), ..new_run(&id) })
            }
            2..=4 => claim(&run, node),
            5..=9 => approve_or_reject(random, &self.gates),
            10..=11 => {
                let id = format!("gate-{n}");
                record(&run, epoch, &format!("gate {}", random.below(50)), opens(&id))
            }
            12..=14 => {
                let id = format!("question-{n}");
                let agent_id = (random.below(2) == 0).then(|| name(who));
                let id = id.parse().unwrap();
                let new_question = NewQuestion { id, agent_id, session_id: None, ..new_question(kind) };
                record(&run, epoch, &format!("question {n}"), asks_as(new_question))
            }
            15 => {
                let id = format!("question-{n}");
                let session_id = Some(session.parse().unwrap());
                ask(NewQuestion {
                    id: id.parse().unwrap(),
                    agent_id: Some(name(who)),
                    session_id,
                    ..new_question(kind)
                })
            }
            16 => record(&run, epoch, &format!("step {}", random.below(5)), done("1")),
            17 => {
                let id = format!("run-{n}");
                record(&run, epoch, &format!("run {n}"), starts(&id))
            }
            18..=22 => {
                let session_id = found.map_or("s1".parse().unwrap(), |run| run.start.session_id);
                let held = match random.below(4) {
                    0 => vec![],
                    1 => vec![name(who)],
                    2 => vec![name("a1"), name("a2")],
                    _ => vec![name(&run)],
                };
                let soon = self.store.now().plus(std::time::Duration::from_secs(30));
                let due = if random.below(3) == 0 { Deadline::At(soon) } else { Deadline::Never };
                let wakes = wakes + u64::from(random.below(20) == 0);
                park(ParkRequest { held, due, session_id, ..park_request(&run, epoch, wakes) })
            }
            23..=24 => wake(&run),
            25..=28 => {
                let question = Self::newest(random, &self.questions).parse().unwrap();
                match random.below(4) {
                    0 => close(&question, reviewer("alice"), Close::Deny),
                    1 => close(&question, reviewer("alice"), Close::Cancel),
                    2 => fetch(&question),
                    _ => close(&question, reviewer("alice"), Close::Answer("approve".into())),
                }
            }
            29..=30 => {
                let id = format!("halt-{n}");
                let scope = [Scope::Agent, Scope::Session, Scope::All][random.below(3)];
                let (agent_id, session_id) = match scope {
                    Scope::Agent => (Some(name(who)), None),
                    Scope::Session => (None, Some(session.parse().unwrap())),
                    Scope::All => (None, None),
                };
                let id = id.parse().unwrap();
                let new_halt = NewHalt { id, scope, agent_id, session_id, reason: "smoke".to_owned() };
                command(admin("root"), halt::Action::Raise(new_halt))
            }
            31..=32 => lift(&Self::newest(random, &self.halts).parse().unwrap()),
            33 if random.below(2) == 0 => end(&run, epoch, "42"),
            34 if random.below(2) == 0 => cancel_run(&run),
            35 => stop(&run, epoch),
            36 => resume_run(&run),
            37..=38 => beat(node, std::time::Duration::from_secs(random.below(40) as u64)),
            39..=41 => take(["all", "gates"][random.below(2)], 1 + random.below(4) as u32),
            42..=43 if !self.taken.is_empty() => {
                let taken = &self.taken[self.taken.len().saturating_sub(1 + random.below(8))];
                let again = [RetryAdvice::Later, RetryAdvice::Never][random.below(2)];
                settle(taken, if random.below(2) == 0 { DeliveryResult::Delivered } else { fails("no", again) })
            }
            44 if !self.taken.is_empty() => redeliver(&self.taken[random.below(self.taken.len())].id),
            45 if random.below(4) == 0 => abandon("gates"),
            _ => match random.below(2) {
                0 => leave(node),
                _ => command(
                    Actor::System,
                    gate::Action::TimerDue { gate: Self::newest(random, &self.gates).parse().unwrap() },
                ),
            },
        }
    }
}

fn approve_or_reject(random: &mut Random, gates: &[String]) -> Command {
    let choice = [Choice::Approve, Choice::Reject][random.below(2)];
    decide(&Model::newest(random, gates).parse().unwrap(), reviewer("alice"), choice)
}
