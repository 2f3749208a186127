//! Withdrawing a gate.

use folkmoot_core::{Action, Gate, GateId};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Withdraws a gate. Its run does not pass.
    pub async fn cancel(&self, caller: Caller, gate: GateId, reason: String) -> Result<Gate, Error> {
        self.execute_on_gate(caller, Action::Cancel { gate, reason }).await
    }
}
