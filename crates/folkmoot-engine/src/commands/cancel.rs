//! Withdrawing a gate.

use folkmoot_core::{Gate, GateId, gate};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Withdraws a gate. Its run does not pass.
    pub async fn cancel(&self, caller: Caller, gate: GateId, reason: String) -> Result<Gate, Error> {
        self.execute_on_gate(caller, gate::Action::Cancel { gate, reason }).await
    }
}
