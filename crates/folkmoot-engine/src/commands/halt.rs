//! Raising and lifting halts.

use folkmoot_core::{
    Halt, HaltId, Outcome, Principal, Refusal,
    halt::{self, NewHalt},
};
use folkmoot_store::{Error, Store};

use crate::{Caller, Engine};

impl Engine {
    pub fn new_halt_id(&self) -> HaltId {
        HaltId::new(self.now(), self.0.host.random() as u64)
    }

    /// Raises a halt. On return, the agents it covers are no longer cleared on this node.
    pub async fn raise_halt(&self, caller: Caller, new_halt: NewHalt) -> Result<Halt, Error> {
        self.execute_on_halt(caller, halt::Action::Raise(new_halt)).await
    }

    /// One halt, if `principal` may see it.
    pub async fn halt(&self, principal: &Principal, id: &HaltId) -> Result<Halt, Error> {
        let found = self.0.store.halt(id).await?;
        let unknown = || Refusal::UnknownHalt { halt: id.clone() };
        Ok(found.filter(|halt| halt.may_be_seen_by(principal)).ok_or_else(unknown)?)
    }

    pub async fn lift_halt(&self, caller: Caller, halt: HaltId) -> Result<Halt, Error> {
        self.execute_on_halt(caller, halt::Action::Lift { halt }).await
    }

    async fn execute_on_halt(&self, caller: Caller, action: halt::Action) -> Result<Halt, Error> {
        match self.execute_and_reach(caller, action).await? {
            Outcome::Halt(halt) => Ok(*halt),
            other => Err(Error::Unreadable(format!("a halt was expected, and this came: {other:?}"))),
        }
    }
}
