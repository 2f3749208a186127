//! What was acknowledged, and whether it is still so.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use folkmoot_api::{
    Client,
    client::Error,
    core::GateId,
    wire::{Gate, GateListParams},
};

/// All that clients were told.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The last that was acknowledged of each gate.
    gates: HashMap<GateId, Gate>,
    /// Of this round only.
    fresh: Vec<Gate>,
    pub(super) opens: u64,
    pub(super) decisions: u64,
    pub(super) repetitions: u64,
    /// Calls that were not acknowledged, by code.
    pub(super) failures: BTreeMap<String, u64>,
    /// The slowest answer that was no success.
    pub(super) slowest_failure: Duration,
    /// What waiters were told, to compare at the end.
    pub(super) waited: Vec<Gate>,
}

impl Ledger {
    pub(super) fn opened(&mut self, gate: &Gate) {
        self.opens += 1;
        self.note(gate);
    }

    pub(super) fn decided(&mut self, gate: &Gate) {
        self.decisions += u64::from(gate.decision.is_some());
        self.note(gate);
    }

    pub(super) fn failed(&mut self, error: &Error, took: Duration) {
        *self.failures.entry(error.code().unwrap_or("unreachable").to_owned()).or_default() += 1;
        self.slowest_failure = self.slowest_failure.max(took);
    }

    /// What was acknowledged since this was last asked.
    pub(super) fn fresh(&mut self) -> Vec<Gate> {
        std::mem::take(&mut self.fresh)
    }

    /// The last that was acknowledged of each gate.
    pub(super) fn known(&self) -> Vec<Gate> {
        self.gates.values().cloned().collect()
    }

    pub(super) fn acknowledgements(&self) -> u64 {
        self.opens + self.decisions
    }

    pub(super) fn doubts(&self) -> u64 {
        self.failures.values().sum()
    }

    fn note(&mut self, gate: &Gate) {
        let gate = bare(gate.clone());
        // Two answers may be noted in another order than they were given: a decision is the last
        // word.
        let known = self.gates.get(&gate.id);
        let supersedes = known.is_none_or(|known| known.decision.is_none() && known.votes.len() <= gate.votes.len())
            || gate.decision.is_some();
        if supersedes {
            self.gates.insert(gate.id.clone(), gate.clone());
        }
        self.fresh.push(gate);
    }

    /// Compares everything with what the server says now; nothing else may be there.
    pub(super) async fn check(&self, client: &Client) {
        let found = every_gate(client).await;
        let lost: Vec<String> = self
            .gates
            .values()
            .filter_map(|gate| match found.get(&gate.id) {
                Some(found) => kept(gate, found).err(),
                None => Some(format!("{} was acknowledged and is lost", gate.id)),
            })
            .collect();
        assert!(lost.is_empty(), "{} of {} are wrong: {}", lost.len(), self.gates.len(), lost.join("; "));
        let titles: HashSet<_> = found.values().map(|gate| &gate.title).collect();
        assert_eq!(titles.len(), found.len(), "a gate was opened twice");
        let invented: Vec<_> = found.keys().filter(|id| !self.gates.contains_key(*id)).collect();
        assert!(invented.is_empty(), "nobody was told of {invented:?}");
        for gate in &self.waited {
            assert_eq!(gate.decision, found[&gate.id].decision, "a waiter was told something else");
        }
    }
}

/// Every gate there is.
pub(super) async fn every_gate(client: &Client) -> HashMap<GateId, Gate> {
    let mut found = HashMap::new();
    let mut query = GateListParams { limit: Some(500), ..GateListParams::default() };
    loop {
        let page = client.gates(&query).await.expect("gates can be listed");
        for gate in page.gates {
            let id = gate.id.clone();
            assert!(found.insert(id, bare(gate)).is_none(), "a gate is listed twice");
        }
        query.cursor = page.next;
        if query.cursor.is_none() {
            return found;
        }
    }
}

/// Whether what was acknowledged still holds: a decision to the letter, a gate that was pending
/// with every voice it had.
pub(super) fn kept(acknowledged: &Gate, found: &Gate) -> Result<(), String> {
    let (acknowledged, found) = (bare(acknowledged.clone()), bare(found.clone()));
    let holds = match &acknowledged.decision {
        Some(_) => acknowledged == found,
        None => {
            let votes = found.decision.as_ref().map_or(&found.votes, |decision| &decision.votes);
            let counted = acknowledged.votes.iter().all(|vote| votes.contains(vote));
            let as_it_was = Gate {
                status: acknowledged.status,
                votes: acknowledged.votes.clone(),
                tallies: acknowledged.tallies.clone(),
                decision: None,
                outcome: None,
                ..found.clone()
            };
            counted && acknowledged == as_it_was
        }
    };
    if holds { Ok(()) } else { Err(format!("acknowledged {acknowledged:?} but found {found:?}")) }
}

/// Without the artifacts' content, which only some answers have.
fn bare(mut gate: Gate) -> Gate {
    gate.artifacts.iter_mut().for_each(|artifact| artifact.content = None);
    gate
}
