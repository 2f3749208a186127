//! A million random steps of gates, each compared with an independent model: who may do what, what
//! follows, and which rule a refusal names. Beside it, after every step: the row is the fold of its
//! events, a timer stands exactly for every deadline, and what was decided never changes.
//!
//! `FOLKMOOT_SEEDS` says how many worlds of 500 steps there are; `FOLKMOOT_SEED` plays one again.

mod model;

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use crate::{
    Action, Actor, Command, Deadline, Digest, Fact, Gate, GateId, Judgement, Loaded, Name, Quota, Row, Run, RunId,
    Subject, Timeout, TimerChange, Timestamp,
    gate::{
        self, Amendment, Choice, Extension, GateEvent, GateKind, GatePolicy, GateState, NewGate, OnTimeout, Review,
        Risk, SelfReview,
    },
    judge, run,
    transcript::{CAST, principal, time},
};
use model::{Asked, Model, NEVER, Rules, Said, Step, View, Wish};

const STEPS: usize = 500;
const SECOND: i64 = 1_000_000;

#[test]
fn a_gate_does_what_an_independent_model_says() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds: Vec<u64> = match number("FOLKMOOT_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("FOLKMOOT_SEEDS").unwrap_or(40)).collect(),
    };
    let halves = seeds.chunks(seeds.len().div_ceil(2));
    let play = |seeds: &[u64]| {
        let mut seen = Seen::new();
        seeds.iter().for_each(|seed| simulate(*seed, &mut seen));
        seen
    };
    let mut seen = Seen::new();
    std::thread::scope(|scope| {
        let played: Vec<_> = halves.map(|seeds| scope.spawn(move || play(seeds))).collect();
        for half in played {
            half.join()
                .expect("the model agrees")
                .into_iter()
                .for_each(|(what, n)| *seen.entry(what).or_default() += n);
        }
    });
    println!("{} worlds of {STEPS} steps: {seen:?}", seeds.len());
    // Everything that can be answered was, and often; else this proves nothing.
    let words = ["approved", "rejected", "adjust_requested", "adjust_strategy", "paused", "timed_out", "override"];
    let rules = [
        "already_voted",
        "deadline_not_later",
        "decision_not_allowed",
        "dedupe_conflict",
        "digest_required",
        "names_person",
        "feedback_required",
        "gate_decided",
        "gate_overdue",
        "invalid",
        "not_a_reviewer",
        "not_requester",
        "not_you",
        "not_your_run",
        "own_gate",
        "reason_required",
        "role_may_not",
        "self_review",
        "stale_digest",
        "unknown_gate",
        "weakens_policy",
    ];
    for what in words.iter().chain(&rules).chain(&["cancelled", "done", "asked once", "escalated"]) {
        let times = seen.get(*what).copied().unwrap_or_default();
        assert!(times as usize >= seeds.len() / 4, "{what} happened only {times} times in {} worlds", seeds.len());
    }
}

type Seen = BTreeMap<&'static str, u64>;

/// Plays one world. It stops at the first step that differs, so what it shows is the shortest
/// beginning that does.
fn simulate(seed: u64, seen: &mut Seen) {
    let mut chance = Chance(seed);
    let mut model = Model::new(chance.rules());
    let mut desk = Desk::new(&model.rules);
    let mut now = time("09:00").as_micros();
    let mut steps: Vec<Step> = Vec::new();
    for n in 0..STEPS {
        let step = chance.step(n, now, &model, &desk);
        now = step.at;
        steps.push(step.clone());
        let pending = |model: &Model| model.gates.values().filter(|gate| gate.view.decision.is_none()).count();
        let (known, stood) = (model.gates.len(), pending(&model));
        let wanted = model.take(&step);
        let got = desk.execute(&step);
        let agree = match (&wanted, &got) {
            (Ok(()), Ok(())) => true,
            (Err(broken), Err(code)) => broken.contains(code),
            (Ok(()), Err(_)) | (Err(_), Ok(())) => false,
        };
        let differs = if agree { desk.differs(&model, &step, n + 1 == STEPS) } else { Some("the answer".to_owned()) };
        if let Some(differs) = differs {
            let shown: Vec<_> = steps.iter().enumerate().map(|(n, step)| format!("{n} {step:?}")).collect();
            panic!(
                "{}\n{:?}\nFOLKMOOT_SEED={seed}, step {n}: {differs}; the model says {wanted:?}, the rules {got:?}",
                shown.join("\n"),
                model.rules
            );
        }
        let gate = model.gates.get(&step.gate);
        *seen.entry(got.err().unwrap_or("done")).or_default() += 1;
        let opens = matches!(step.wish, Wish::Open(_));
        *seen.entry("asked once").or_default() += u64::from(opens && got.is_ok() && model.gates.len() == known);
        if !opens && pending(&model) < stood {
            let word = gate.and_then(|gate| gate.view.decision.as_ref()).map_or("", |decision| &decision.0);
            let word = crate::gate::DecisionWord::ALL.iter().find(|known| known.word() == word);
            *seen.entry(word.expect("a gate was closed by this step").word()).or_default() += 1;
        }
        let escalates = matches!(step.wish, Wish::Expire) && gate.is_some_and(|gate| gate.view.escalated);
        *seen.entry("escalated").or_default() += u64::from(escalates);
    }
}

/// The rules, with a store that is just large enough for gates.
struct Desk {
    policy: GatePolicy,
    gates: HashMap<GateId, Gate>,
    /// What the events alone make of each gate.
    folded: HashMap<GateId, Gate>,
    texts: HashMap<Digest, String>,
    runs: HashMap<RunId, Run>,
    timers: BTreeMap<Subject, Timestamp>,
    digests: HashMap<usize, Vec<Digest>>,
}

impl Desk {
    fn new(rules: &Rules) -> Self {
        let policy = GatePolicy {
            timeout: timeout(rules.wait),
            on_timeout: word(rules.on_timeout),
            reviewers: rules.reviewers.iter().map(|name| word(name)).collect(),
            quorum: rules.quorum,
            reject_quorum: rules.reject_quorum,
            self_review: rules.self_review.map(self_review),
            ..GatePolicy::default()
        };
        policy.check().expect("a policy that can be followed");
        Self {
            policy,
            gates: HashMap::new(),
            folded: HashMap::new(),
            texts: HashMap::new(),
            runs: HashMap::new(),
            timers: BTreeMap::new(),
            digests: HashMap::new(),
        }
    }

    fn execute(&mut self, step: &Step) -> Result<(), &'static str> {
        let by = match step.wish {
            Wish::Expire => Actor::System,
            _ => Actor::Principal(principal(step.who)),
        };
        let command = Command {
            id: word("c"),
            by,
            token: None,
            claims: None,
            idempotency: None,
            action: self.action(step),
            quota: Quota::default(),
            subscriptions: [].into(),
        };
        let loaded = self.load(&command);
        match judge(&command, loaded, Timestamp::from_micros(step.at)) {
            Judgement::Done(commit) => {
                self.write(commit.events, commit.rows, commit.timers);
                Ok(())
            }
            Judgement::Refused(refusal, commit) => {
                let decides = matches!(step.wish, Wish::Decide(_)) && refusal.code() != "unknown_gate";
                let kinds: Vec<_> = commit.events.iter().map(|fact| fact.kind.as_ref()).collect();
                assert_eq!(kinds, if decides { vec!["gate.refused"] } else { vec![] }, "what a refusal leaves");
                self.write(commit.events, commit.rows, commit.timers);
                Err(refusal.code())
            }
        }
    }

    fn action(&self, step: &Step) -> Action {
        let gate: GateId = id(step.gate);
        match &step.wish {
            Wish::Open(asked) => Action::Gate(gate::Action::Open {
                new_gate: Box::new(new_gate(gate, asked)),
                policy: self.policy.clone(),
                contents: Vec::new(),
            }),
            Wish::Amend { title, summary, risk } => Action::Gate(gate::Action::Amend {
                amendment: Amendment {
                    gate,
                    title: title.map(str::to_owned),
                    summary: summary.map(str::to_owned),
                    risk: risk.map(|risk| Risk::ALL[risk]),
                    artifacts: None,
                },
                policy: self.policy.clone(),
                contents: Vec::new(),
            }),
            Wish::Decide(said) => Action::Gate(gate::Action::Decide(Review {
                gate,
                choice: word(said.choice),
                reason: said.reason.to_owned(),
                feedback: said.feedback.map(str::to_owned),
                edited: said.edited.map(str::to_owned),
                digest: said.seen.map(|revision| self.digest(step.gate, revision)),
                force: said.force,
                reviewer: said.claims.map(word),
            })),
            Wish::Extend(wait) => Action::Gate(gate::Action::Extend(Extension { gate, timeout: timeout(*wait) })),
            Wish::Cancel => Action::Gate(gate::Action::Cancel { gate, reason: String::new() }),
            Wish::Expire => Action::Gate(gate::Action::TimerDue { gate }),
        }
    }

    /// The digest that a reviewer of this revision saw.
    fn digest(&self, gate: usize, revision: usize) -> Digest {
        self.digests.get(&gate).and_then(|digests| digests.get(revision - 1)).copied().unwrap_or(Digest::ZERO)
    }

    fn load(&self, command: &Command) -> Loaded {
        let needs = command.needs();
        let gate = needs.gate.id.and_then(|id| self.gates.get(id)).cloned();
        let summary = gate.as_ref().and_then(|gate| self.texts.get(&gate.content.summary)).cloned();
        let pending_duplicate = needs.gate.pending_duplicate.and_then(|(name, key)| {
            let is_pending_duplicate =
                |gate: &&Gate| gate.requested_by == *name && gate.dedupe_key.as_deref() == Some(key);
            self.gates.values().filter(is_pending_duplicate).find(|gate| gate.decision().is_none()).cloned()
        });
        let run = needs.run.id.and_then(|id| self.runs.get(id)).cloned();
        let of_cast = |name: &Name| CAST.contains(&name.as_str()).then(|| principal(name.as_str()));
        let principals = needs.principals.iter().filter_map(of_cast).collect();
        let gate = gate::Loaded { gate, summary, pending_duplicate };
        let run = run::Loaded { run, ..run::Loaded::default() };
        Loaded { gate, run, principals, ..Loaded::default() }
    }

    fn write(&mut self, events: Vec<Fact>, rows: Vec<Row>, timers: Vec<TimerChange>) {
        for fact in events.iter().filter(|fact| fact.kind.starts_with("gate.")) {
            let event = GateEvent::read(fact).expect("an event reads back");
            let seq = match event {
                GateEvent::Opened(gate) => {
                    assert!(!self.folded.contains_key(&gate.id), "{} is opened twice", gate.id);
                    self.folded.insert(gate.id.clone(), *gate);
                    1
                }
                event => {
                    let gate = self.folded.get_mut(fact.stream.as_ref()).expect("it was opened");
                    gate.apply(&event).expect("an event applies");
                    gate.seq
                }
            };
            assert_eq!(fact.stream_seq, seq, "a stream is dense");
        }
        for row in rows {
            match row {
                Row::Gate(gate) => {
                    assert_eq!(self.folded.get(&gate.id), Some(&*gate), "a row is the fold of its events");
                    let before = self.gates.get(&gate.id).and_then(Gate::decision);
                    assert!(before.is_none_or(|before| gate.decision() == Some(before)), "a decision never changes");
                    let digests = self.digests.entry(gate.id.as_str()[1..].parse().expect("a number")).or_default();
                    if digests.len() < gate.revision as usize {
                        digests.push(gate.digest);
                    }
                    self.gates.insert(gate.id.clone(), *gate);
                }
                Row::Run(run) => drop(self.runs.insert(run.start.id.clone(), *run)),
                Row::Artifact(artifact) => {
                    let text = String::from_utf8(artifact.content).expect("all that is written here is text");
                    self.texts.insert(artifact.digest, text);
                }
                _ => {}
            }
        }
        for timer in timers {
            match timer {
                TimerChange::Set(timer) => self.timers.insert(timer.subject, timer.due),
                TimerChange::Clear(subject) => self.timers.remove(&subject),
            };
        }
    }

    /// Where this world is not what the model says it is: the gate of this step, or all of them.
    fn differs(&self, model: &Model, step: &Step, all: bool) -> Option<String> {
        // An opening may also settle its pending duplicate.
        let all = all || matches!(step.wish, Wish::Open(_));
        let looked_at = model.gates.iter().filter(|(n, _)| all || **n == step.gate);
        for (n, gate) in looked_at {
            let id: GateId = id(*n);
            let Some(row) = self.gates.get(&id) else { return Some(format!("{id} is not there")) };
            let found = view(row);
            if found != gate.view {
                return Some(format!("{id} is {found:?}, but the model has {:?}", gate.view));
            }
            let waits = gate.view.decision.is_none() && gate.view.deadline != NEVER;
            let timer = self.timers.get(&Subject::Gate(id.clone())).map(|due| due.as_micros());
            if timer != waits.then_some(gate.view.deadline) {
                return Some(format!("{id}'s timer is {timer:?}"));
            }
        }
        (self.gates.len() != model.gates.len()).then(|| format!("there are {} gates", self.gates.len()))
    }
}

fn view(gate: &Gate) -> View {
    let votes = match &gate.state {
        GateState::Pending { votes } => votes,
        GateState::Closed(decision) => &decision.votes,
    };
    View {
        title: gate.content.title.clone(),
        risk: Risk::ALL.iter().position(|risk| *risk == gate.content.risk).expect("a risk"),
        revision: gate.revision as usize,
        deadline: gate.deadline.as_micros(),
        escalated: gate.escalated,
        votes: votes.iter().map(|vote| (vote.reviewer.to_string(), vote.choice.to_string())).collect(),
        decision: gate.decision().map(|decision| {
            let (word, by) = (decision.decision.to_string(), decision.reviewer.to_string());
            (word, by, decision.decided_at.as_micros(), decision.revision as usize, decision.outcome.to_string())
        }),
    }
}

fn new_gate(id: GateId, asked: &Asked) -> NewGate {
    let kind: GateKind = word(asked.kind);
    NewGate {
        id,
        run_id: asked.run.map(word),
        session_id: None,
        title: asked.title.map(str::to_owned),
        summary: asked.summary.to_owned(),
        phase: word("merge"),
        kind,
        risk: Risk::ALL[asked.risk],
        artifacts: Vec::new(),
        allowed: asked.allowed.as_ref().map(|words| words.iter().map(|choice| word::<Choice>(choice)).collect()),
        timeout: asked.wait.map(timeout),
        on_timeout: asked.on_timeout.map(word::<OnTimeout>),
        reviewers: asked.reviewers.as_ref().map(|names| names.iter().map(|name| word::<Name>(name)).collect()),
        quorum: asked.quorum,
        reject_quorum: asked.reject_quorum,
        self_review: asked.self_review.map(self_review),
        dedupe_key: asked.key.map(str::to_owned),
        notification_channels: Vec::new(),
        on_behalf_of: asked.behalf.map(word),
    }
}

fn id(n: usize) -> GateId {
    word(&format!("g{n}"))
}

fn word<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.parse().expect("a word of ours")
}

fn timeout(wait: i64) -> Timeout {
    match Deadline::from_micros(wait) {
        Deadline::Never => Timeout::Never,
        Deadline::At(span) => Timeout::After(Duration::from_micros(span.as_micros().unsigned_abs())),
    }
}

fn self_review(allowed: bool) -> SelfReview {
    if allowed { SelfReview::Allow } else { SelfReview::Deny }
}

/// splitmix64: the same seed, the same world.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn of<T: Clone>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())].clone()
    }

    /// One of these, but rarely.
    fn seldom<T: Clone>(&mut self, one_in: usize, some: &[T]) -> Option<T> {
        (self.below(one_in) == 0).then(|| self.of(some))
    }

    fn rules(&mut self) -> Rules {
        let reviewers = self.of(&[vec![], vec![], vec!["alice", "bob", "carol", "ada", "max"]]);
        Rules {
            wait: self.of(&[60 * SECOND, 300 * SECOND, NEVER]),
            on_timeout: self.of(&["fail", "fail", "reject", "approve", "escalate"]),
            reviewers,
            quorum: self.of(&[1, 1, 2]),
            reject_quorum: self.of(&[1, 1, 2]),
            self_review: self.of(&[None, None, Some(true), Some(false)]),
        }
    }

    /// Anybody tries anything, but mostly those who may, on a gate that waits, and often at the
    /// very moment of a deadline.
    fn step(&mut self, n: usize, now: i64, model: &Model, desk: &Desk) -> Step {
        let waiting: Vec<_> = model.gates.iter().filter(|(_, gate)| gate.view.decision.is_none()).collect();
        let gate = match self.below(20) {
            0 => self.below(n + 2),
            _ if waiting.is_empty() => self.below(n + 1),
            _ => *self.of(&waiting).0,
        };
        let deadline = model.gates.get(&gate).map_or(now, |gate| gate.view.deadline);
        let at = match self.below(20) {
            0 if deadline != NEVER => deadline - 1,
            1 if deadline != NEVER => deadline,
            2..5 => now + SECOND * self.below(10) as i64,
            _ => now,
        };
        let everybody = ["alice", "bob", "carol", "ada", "max", "bot", "elf", "vera"];
        let mostly = |chance: &mut Self, some: &[&'static str]| match chance.below(8) {
            0 => chance.of(&everybody),
            _ => chance.of(some),
        };
        let opens = waiting.is_empty() || waiting.len() < 12 && self.below(6) == 0;
        let (who, wish) = match self.below(20) {
            // Again what is asked already, by whoever asks it.
            0..6 if opens && !waiting.is_empty() => {
                let pending_duplicate = self.of(&waiting).1;
                (pending_duplicate.by, Wish::Open(pending_duplicate.asked.clone()))
            }
            _ if opens => (mostly(self, &["bot", "bot", "elf", "alice"]), Wish::Open(self.asked())),
            0..2 => (mostly(self, &["bot", "bot", "elf", "alice"]), self.amendment()),
            2 => (mostly(self, &["bot", "ada"]), Wish::Extend(self.of(&[0, SECOND, 400 * SECOND, NEVER]))),
            3 => (mostly(self, &["bot", "vera"]), Wish::Cancel),
            4..7 => ("system", Wish::Expire),
            _ => {
                let revisions = desk.digests.get(&gate).map_or(0, Vec::len);
                (mostly(self, &["alice", "bob", "carol", "ada", "max"]), Wish::Decide(self.said(revisions)))
            }
        };
        let gate = if matches!(wish, Wish::Open(_)) { n + 1 } else { gate };
        Step { at: at.max(now), who, gate, wish }
    }

    fn asked(&mut self) -> Asked {
        Asked {
            title: self.seldom(4, &["Deploy", " Ship it ", "Ship it", "two\nlines", ""]),
            summary: self.of(&[
                "Deploy",
                "Deploy",
                "Deploy\n1.4.2",
                " Löschen 🦀\n",
                "Roll back",
                "Roll back",
                "Roll on",
                " ",
            ]),
            kind: self.of(&["custom", "custom", "phase", "tool", "proposal", "checkpoint"]),
            risk: self.of(&[0, 1, 1, 1, 2, 3]),
            allowed: self.seldom(8, &[vec!["approve", "reject"], vec!["reject", "pause"], vec!["approve"], vec![]]),
            wait: self.seldom(
                2,
                &[60 * SECOND, 60 * SECOND, 60 * SECOND, 300 * SECOND, 300 * SECOND, NEVER, NEVER, NEVER, 0],
            ),
            on_timeout: self.seldom(3, &["fail", "reject", "approve", "escalate", "escalate", "retry"]),
            reviewers: self.seldom(
                4,
                &[
                    vec![],
                    vec!["alice"],
                    vec!["carol", "bob", "alice"],
                    vec!["carol", "bob", "alice"],
                    vec!["bob", "ada", "dave"],
                ],
            ),
            quorum: self.seldom(4, &[0, 1, 2, 2, 2, 3]),
            reject_quorum: self.seldom(6, &[0, 1, 2, 2, 2]),
            self_review: self.seldom(3, &[true, false, false]),
            key: self.seldom(2, &["deploy", "purge"]),
            behalf: self.seldom(6, &["elf", "elf", "elf", "elf", "ada"]),
            run: self.seldom(2, &["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"]),
        }
    }

    fn amendment(&mut self) -> Wish {
        Wish::Amend {
            title: self.seldom(3, &["Deploy", "Ship it", "two\nlines", ""]),
            summary: self.seldom(2, &["Deploy", "Roll back\nnow", "Roll back", " "]),
            risk: self.seldom(4, &[0, 1, 2, 3]),
        }
    }

    fn said(&mut self, revisions: usize) -> Said {
        let seen = match self.below(6) {
            0 => None,
            1 => Some(1 + self.below(revisions + 1)),
            _ => Some(revisions.max(1)),
        };
        let choice = self.of(&["approve", "approve", "approve", "reject", "reject", "adjust", "pause"]);
        Said {
            choice,
            reason: self.of(&["tested", "tested", "tested", "", " "]),
            feedback: self.seldom(2, &["smaller", "smaller", " "]),
            edited: if choice == "adjust" { self.seldom(4, &["other", " "]) } else { self.seldom(30, &["other"]) },
            seen,
            force: self.below(12) == 0,
            claims: self.seldom(15, &["alice", "bob", "ada"]),
        }
    }
}
