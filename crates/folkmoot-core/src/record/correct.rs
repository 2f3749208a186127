//! Correcting a text of a record, once its run is over.

use serde_json::json;

use super::{PLACES, Record, told};
use crate::{Digest, Principal, Refusal, Role, run::Run, text};

/// The suffix of the only kind of event that a run can have after its end: a text of a record was
/// replaced.
const CORRECTED: &str = "_corrected";

/// An admin's request to replace a text of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The record as it is. It may have been read before the command's transaction, because after
    /// the end of its run nothing but this text ever changes in it.
    pub record: Record,
    /// The name of the text.
    pub name: String,
    /// The new text.
    pub text: String,
    pub reason: String,
}

impl Correction {
    /// Judges it, and returns the new row of the record, and the kind and payload of the event that
    /// says so.
    pub(crate) fn correct(&self, run: &Run, by: &Principal) -> Result<(Record, String, String), Refusal> {
        match by.role {
            Role::Admin => {}
            role @ (Role::Reviewer | Role::Agent | Role::Viewer) => {
                return Err(Refusal::RoleMayNot { role, verb: "correct a record" });
            }
        }
        text::check_filled("text", &self.text, text::REASON_BYTES_MAX)?;
        text::check_filled("reason", &self.reason, text::REASON_BYTES_MAX)?;
        let Some(before) = self.record.texts.get(&self.name) else {
            return Err(Refusal::invalid("name", format!("{:?} is no text of this record", self.name)));
        };
        if run.ending().is_none() {
            return Err(Refusal::ContentInUse { digest: *before, by: run.start.id.to_string() });
        }
        let mut row = Record { place: (run.seq + 1) * PLACES, ..self.record.clone() };
        row.texts.insert(self.name.clone(), Digest::of(self.text.as_bytes()));
        let payload = json!({ self.name.as_str(): row.id, "reason": self.reason }).to_string();
        let payload = told(&payload, &[row.note()])?;
        Ok((row, format!("{}.{}{CORRECTED}", run.start.kind, self.name), payload))
    }
}

/// Whether an event of this kind can come after a run's end.
pub(crate) fn is_correction(kind: &str) -> bool {
    kind.ends_with(CORRECTED)
}
