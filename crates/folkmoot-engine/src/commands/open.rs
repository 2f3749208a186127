//! Opening a gate.

use folkmoot_core::{Action, Gate, GateId, Outcome, gate::Opening};
use folkmoot_store::Error;

use super::ArtifactInput;
use crate::{Caller, Engine};

/// A gate to open, with its artifacts.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// All but the artifacts, which opening fills in. [`Engine::new_gate_id`] makes the id.
    pub opening: Opening,
    /// What the reviewer can look at.
    pub artifacts: Vec<ArtifactInput>,
}

/// A gate that now stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedGate {
    /// As it is.
    pub gate: Gate,
    /// Whether it stood before ("ask once").
    pub existing: bool,
}

impl Engine {
    /// A new gate's id.
    pub fn new_gate_id(&self, opening_run: Option<&folkmoot_core::RunId>, phase: &folkmoot_core::Phase) -> GateId {
        GateId::new(opening_run, phase, self.now(), self.0.host.random() as u64)
    }

    /// Opens a gate.
    pub async fn open(&self, caller: Caller, request: OpenRequest) -> Result<OpenedGate, Error> {
        let OpenRequest { mut opening, artifacts } = request;
        opening.artifacts = artifacts.iter().map(ArtifactInput::reference).collect();
        let summary = opening.summary.clone();
        let contents = artifacts.into_iter().map(|artifact| artifact.content).collect();
        let action = Action::Open { opening: Box::new(opening), policy: self.0.policy.clone(), contents };
        let (gate, existing) = match self.execute(caller, action).await? {
            Outcome::Gate(gate) => (*gate, false),
            Outcome::Existing(gate) => (*gate, true),
            other => return Err(Error::Unreadable(format!("a gate was expected, and this came: {other:?}"))),
        };
        self.0.gate_cache.put_text(gate.content.summary, summary);
        self.0.deadlines.consider(gate.due());
        Ok(OpenedGate { gate, existing })
    }
}
