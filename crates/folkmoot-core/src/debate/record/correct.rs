//! Correcting a lesson, once its debate is over.

use serde_json::json;

use super::{StoredLesson, StoredRow, stored, told};
use crate::{Digest, Principal, Refusal, Role, run::Run, text};

/// The only event that a run has after its end: a lesson's row was replaced.
pub(crate) const LESSON_CORRECTED: &str = "debate.lesson_corrected";

/// What an admin wants a lesson to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The lesson as it is. Only its text ever changes, so it may have been read before the
    /// command's transaction.
    pub lesson: StoredLesson,
    /// What to do, in place of what it says now.
    pub text: String,
    pub reason: String,
}

impl Correction {
    /// Judges it: the row that replaces the lesson's, and the payload of the event that says so.
    pub(crate) fn correct(&self, run: &Run, by: &Principal) -> Result<(StoredLesson, String), Refusal> {
        match by.role {
            Role::Admin => {}
            role @ (Role::Reviewer | Role::Agent | Role::Viewer) => {
                return Err(Refusal::RoleMayNot { role, verb: "correct a lesson" });
            }
        }
        text::check_filled("lesson", &self.text, text::REASON_BYTES_MAX)?;
        text::check_filled("reason", &self.reason, text::REASON_BYTES_MAX)?;
        if run.ending().is_none() {
            return Err(Refusal::ContentInUse { digest: self.lesson.lesson, by: run.start.id.to_string() });
        }
        let lesson = Digest::of(self.text.as_bytes());
        let row = StoredLesson { lesson, place: stored::place(run.seq + 1), ..self.lesson.clone() };
        let payload = json!({ "lesson": row.id, "reason": self.reason }).to_string();
        let payload = told(&payload, &[StoredRow::Lesson(Box::new(row.clone())).note()])?;
        Ok((row, payload))
    }
}
