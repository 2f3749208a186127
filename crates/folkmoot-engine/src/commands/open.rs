//! Opening a gate.

use folkmoot_core::{
    Gate, GateId, Outcome,
    gate::{self, NewGate},
};
use folkmoot_store::Error;

use super::ArtifactInput;
use crate::{Caller, Engine};

/// A gate to open, with its artifacts.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Everything except the artifacts. [`Engine::new_gate_id`] makes the id.
    pub new_gate: NewGate,
    /// The content that reviewers see.
    pub artifacts: Vec<ArtifactInput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedGate {
    pub gate: Gate,
    /// Whether it existed before (`dedupe_key`).
    pub existing: bool,
}

impl Engine {
    pub fn new_gate_id(&self, opening_run: Option<&folkmoot_core::RunId>, phase: &folkmoot_core::Phase) -> GateId {
        GateId::new(opening_run, phase, self.now(), self.0.host.random() as u64)
    }

    pub async fn open(&self, caller: Caller, request: OpenRequest) -> Result<OpenedGate, Error> {
        let OpenRequest { mut new_gate, artifacts } = request;
        new_gate.artifacts = artifacts.iter().map(ArtifactInput::reference).collect();
        let summary = new_gate.summary.clone();
        let contents = artifacts.into_iter().map(|artifact| artifact.content).collect();
        let action = gate::Action::Open { new_gate: Box::new(new_gate), policy: self.0.policy.clone(), contents };
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
