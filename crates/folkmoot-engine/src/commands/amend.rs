//! Changing what a pending gate asks.

use folkmoot_core::{Action, Gate, gate::Amendment};
use folkmoot_store::Error;

use super::ArtifactInput;
use crate::{Caller, Engine};

impl Engine {
    /// Changes a gate's content: a new revision, on which no earlier vote counts.
    pub async fn amend(
        &self,
        caller: Caller,
        mut amendment: Amendment,
        artifacts: Option<Vec<ArtifactInput>>,
    ) -> Result<Gate, Error> {
        let references = |artifacts: &Vec<ArtifactInput>| artifacts.iter().map(ArtifactInput::reference).collect();
        amendment.artifacts = artifacts.as_ref().map(references);
        let contents = artifacts.into_iter().flatten().map(|artifact| artifact.content).collect();
        self.execute_on_gate(caller, Action::Amend { amendment, policy: self.0.policy.clone(), contents }).await
    }
}
