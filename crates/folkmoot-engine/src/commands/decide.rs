//! Deciding on a gate.

use folkmoot_core::{
    Gate,
    gate::{self, Review},
};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Decides, or casts one vote of a quorum. Of any number of simultaneous decisions exactly one
    /// is recorded.
    pub async fn decide(&self, caller: Caller, review: Review) -> Result<Gate, Error> {
        self.execute_on_gate(caller, gate::Action::Decide(review)).await
    }
}
