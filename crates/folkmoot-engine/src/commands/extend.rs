//! Giving a gate more time.

use folkmoot_core::{
    Gate,
    gate::{self, Extension},
};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Extends a gate's deadline. It never moves closer.
    pub async fn extend(&self, caller: Caller, extension: Extension) -> Result<Gate, Error> {
        self.execute_on_gate(caller, gate::Action::Extend(extension)).await
    }
}
