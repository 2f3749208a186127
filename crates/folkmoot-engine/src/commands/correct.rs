//! Correcting a record.

use folkmoot_core::{record::Correction, run};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Changes a text of a record. Its run must be over.
    pub async fn correct_record(&self, caller: Caller, correction: Correction) -> Result<(), Error> {
        self.execute(caller, run::Action::CorrectRecord(Box::new(correction))).await.map(drop)
    }
}
