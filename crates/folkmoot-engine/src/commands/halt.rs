//! Raising and lifting halts.

use folkmoot_core::{Action, Halt, HaltId, Outcome, Principal, Refusal, halt::Raising};
use folkmoot_store::{Error, Store};

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

    /// One halt, if `principal` may know of it.
    pub async fn halt(&self, principal: &Principal, id: &HaltId) -> Result<Halt, Error> {
        let found = self.0.store.halt(id).await?;
        let unknown = || Refusal::UnknownHalt { halt: id.clone() };
        Ok(found.filter(|halt| halt.may_be_seen_by(principal)).ok_or_else(unknown)?)
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
