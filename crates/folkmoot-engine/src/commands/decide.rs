//! Deciding on a gate.

use folkmoot_core::{Action, Gate, gate::Verdict};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Decides, or casts one voice of a quorum. Of any number of simultaneous decisions exactly one
    /// is recorded.
    pub async fn decide(&self, caller: Caller, verdict: Verdict) -> Result<Gate, Error> {
        self.execute_on_gate(caller, Action::Decide(verdict)).await
    }
}
