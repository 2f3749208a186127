//! Raising and lifting halts.

use folkmoot_core::{Action, Halt, HaltId, Outcome, halt::Raising};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// A new halt's id.
    pub fn new_halt_id(&self) -> HaltId {
        HaltId::new(self.now(), self.0.host.random() as u64)
    }

    /// Raises a halt. When this returns, whom it covers is not cleared on this node any more.
    pub async fn raise_halt(&self, caller: Caller, raising: Raising) -> Result<Halt, Error> {
        self.execute_on_halt(caller, Action::Raise(raising)).await
    }

    /// Lifts a halt.
    pub async fn lift_halt(&self, caller: Caller, halt: HaltId) -> Result<Halt, Error> {
        self.execute_on_halt(caller, Action::Lift { halt }).await
    }

    async fn execute_on_halt(&self, caller: Caller, action: Action) -> Result<Halt, Error> {
        match self.execute_and_reach(caller, action).await? {
            Outcome::Halt(halt) => Ok(*halt),
            other => Err(Error::Unreadable(format!("a halt was expected, and this came: {other:?}"))),
        }
    }
}
