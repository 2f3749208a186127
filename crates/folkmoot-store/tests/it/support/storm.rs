//! Thousands of random commands from many tasks at once.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use folkmoot_core::{Gate, Outcome, Role, Timeout, gate::Choice};
use folkmoot_store::{Error, ManualClock, Store};

use super::*;

/// Runs `tasks` tasks of `each` commands. The same seed says the same things, in whatever order the
/// tasks run. Returns how often each answer was given: a storm in which everything is refused
/// proves nothing.
pub(crate) async fn storm<S: Store + 'static>(
    store: &Arc<S>,
    clock: &Arc<ManualClock>,
    seed: u64,
    tasks: u64,
    each: u64,
) -> BTreeMap<String, u64> {
    println!("storm with seed {seed}");
    let gates = Arc::new(Mutex::new(Vec::new()));
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (store, clock, gates) = (store.clone(), clock.clone(), gates.clone());
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (task + 1).wrapping_mul(0xbf58_476d));
            tokio::spawn(async move {
                let mut answers = BTreeMap::new();
                for n in 0..each {
                    if n % 16 == 0 {
                        clock.advance(minutes(1));
                    }
                    let command = random_command(&mut random, &gates);
                    let answer = match store.execute(command).await {
                        Ok(Outcome::Gate(gate)) => {
                            let word = gate.status().to_string();
                            gates.lock().unwrap().push(*gate);
                            word
                        }
                        Ok(Outcome::Existing(_)) => "existing".to_owned(),
                        Ok(Outcome::Question(question)) => question.status().to_string(),
                        Ok(Outcome::Halt(_)) => "halt".to_owned(),
                        Ok(Outcome::Token(_)) => "token".to_owned(),
                        Ok(Outcome::Run(run) | Outcome::ExistingRun(run) | Outcome::Claimed(run, _)) => {
                            run.status().to_string()
                        }
                        Ok(Outcome::Entry(entry) | Outcome::Stands(entry)) => entry.progress().to_string(),
                        Ok(Outcome::Awake(_)) => "awake".to_owned(),
                        Ok(Outcome::Webhook(_)) => "webhook".to_owned(),
                        Ok(Outcome::Delivery(_) | Outcome::Deliveries(_)) => "delivery".to_owned(),
                        Ok(Outcome::Erased(_)) => "erased".to_owned(),
                        Ok(Outcome::Nothing) => "nothing".to_owned(),
                        Err(Error::Refused(refusal)) => refusal.code().to_owned(),
                        Err(error) => panic!("a storm met {error:?}"),
                    };
                    *answers.entry(answer).or_insert(0) += 1;
                }
                answers
            })
        })
        .collect();
    let mut answers = BTreeMap::new();
    for task in running {
        for (answer, times) in task.await.unwrap() {
            *answers.entry(answer).or_insert(0) += times;
        }
    }
    answers
}

fn random_command(random: &mut Random, gates: &Mutex<Vec<Gate>>) -> folkmoot_core::Command {
    let known = {
        let gates = gates.lock().unwrap();
        // Mostly among the newest, so that many tasks meet at the same gate.
        let newest = gates.len().saturating_sub(20);
        (!gates.is_empty()).then(|| gates[newest + random.below(gates.len() - newest)].clone())
    };
    let person = ["alice", "bob", "carol"][random.below(3)];
    let owner = ["agent-a", "agent-b"][random.below(2)];
    let gate = match known {
        Some(gate) if random.below(100) >= 35 => gate.id,
        _ => {
            let mut new_gate = new_gate();
            new_gate.summary = format!("summary {}", random.below(3));
            new_gate.run_id = (random.below(3) == 0).then(|| format!("run-{}", random.below(20)).parse().unwrap());
            new_gate.dedupe_key = (random.below(3) == 0).then(|| format!("key-{}", random.below(5)));
            // Few lengths, so that some who ask twice ask for the same.
            new_gate.timeout = Some(Timeout::After(minutes([2, 15, 90][random.below(3)])));
            new_gate.quorum = Some(1 + random.below(2) as u32);
            new_gate.notification_channels = vec!["ops".to_owned()];
            return open(agent(owner), new_gate);
        }
    };
    match random.below(12) {
        0..=3 => decide(&gate, reviewer(person), [Choice::Approve, Choice::Reject][random.below(2)]),
        4 | 5 => retitle(&gate, &format!("title {}", random.below(4))),
        6 => extend(&gate, Timeout::After(minutes(random.below(600) as u64 + 1))),
        7 => cancel(&gate, agent(owner)),
        8 | 9 => expire(&gate),
        10 => decide(&gate, agent(owner), Choice::Approve),
        _ => {
            let n = unique();
            mint(&format!("token-{n}"), &format!("person-{}", random.below(5)), Role::Viewer, &format!("secret-{n}"))
        }
    }
}

/// Small, seeded, and good enough to shuffle commands.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}
