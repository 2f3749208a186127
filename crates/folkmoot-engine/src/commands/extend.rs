//! Giving a gate more time.

use folkmoot_core::{Action, Gate, gate::Extension};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Moves a gate's deadline; never nearer.
    pub async fn extend(&self, caller: Caller, extension: Extension) -> Result<Gate, Error> {
        self.execute_on_gate(caller, Action::Extend(extension)).await
    }
}
