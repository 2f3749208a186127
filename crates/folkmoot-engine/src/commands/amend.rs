//! Amending a pending gate.

use folkmoot_core::{
    Gate,
    gate::{self, Amendment},
};
use folkmoot_store::Error;

use super::ArtifactInput;
use crate::{Caller, Engine};

impl Engine {
    /// Amends a gate's content: a new revision, for which earlier votes do not count.
    pub async fn amend(
        &self,
        caller: Caller,
        mut amendment: Amendment,
        artifacts: Option<Vec<ArtifactInput>>,
    ) -> Result<Gate, Error> {
        let references = |artifacts: &Vec<ArtifactInput>| artifacts.iter().map(ArtifactInput::reference).collect();
        amendment.artifacts = artifacts.as_ref().map(references);
        let contents = artifacts.into_iter().flatten().map(|artifact| artifact.content).collect();
        self.execute_on_gate(caller, gate::Action::Amend { amendment, policy: self.0.policy.clone(), contents }).await
    }
}
