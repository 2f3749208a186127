//! Erasing: what is kept under a digest goes, the digest and everything that names it stay, and the
//! log says so.
//!
//! ```text
//!   kept ──erase (an admin, with a reason)──▶ erased for good: nothing shows these bytes again
//!     └────retire (too old, by configuration)─▶ erased: kept again when somebody sends them anew
//! ```
//!
//! Runs are another matter: what they record is kept whatever was erased, for it was acknowledged,
//! and may be as common as `{}`. Gates and questions still do not show it then.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Digest, Event, Principal, Refusal, Role, Timestamp, audit::AuditProblem, text};

/// What an admin wants gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasing {
    /// Under these digests.
    pub digests: Vec<Digest>,
    pub reason: String,
}

/// What is known of stored content without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentStatus {
    /// Whose bytes.
    pub digest: Digest,
    /// Whether they are there.
    pub present: bool,
    /// How often an admin has erased them: the events of their stream.
    pub erasures: u64,
    /// No gate and no question shows them again. They are there only where a run has recorded them
    /// since.
    pub barred: bool,
    /// When somebody last sent them, to a day.
    pub used_at: Timestamp,
}

impl ContentStatus {
    /// Whether nobody has sent it since then. `used_at` may be a day too early, so that what is
    /// sent all the time is not written all the time.
    pub fn is_unused_since(&self, moment: Timestamp) -> bool {
        self.used_at.plus(USED_AT_STEP) < moment
    }
}

/// How much later content must be sent again for that to be noted.
pub const USED_AT_STEP: Duration = Duration::from_secs(24 * 3600);

/// An admin's erasure, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    pub digest: Digest,
    pub reason: String,
}

/// What was erased because of its age, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredContent {
    /// All of it.
    pub digests: Vec<Digest>,
    /// What showed it was decided before.
    pub decided_before: Timestamp,
}

/// The stream of what is done to content.
pub fn stream(digest: Digest) -> String {
    format!("artifact:{digest}")
}

/// The type of [`Erased`].
pub const ERASED: &str = "artifact.erased";
/// The type of [`Retired`].
pub const RETIRED: &str = "artifacts.retired";

/// Judges an erasure: what is still to be erased of it.
pub(crate) fn erase(erasing: &Erasing, by: &Principal, kept: &[ContentStatus]) -> Result<Vec<ContentStatus>, Refusal> {
    match by.role {
        Role::Admin => {}
        role @ (Role::Reviewer | Role::Agent | Role::Viewer) => {
            return Err(Refusal::RoleMayNot { role, verb: "erase content" });
        }
    }
    text::check_filled("reason", &erasing.reason, text::REASON_BYTES_MAX)?;
    let mut wanted = Vec::new();
    for digest in &erasing.digests {
        let known = kept.iter().find(|kept| kept.digest == *digest);
        let known = known.ok_or(Refusal::UnknownContent { digest: *digest })?;
        let is_gone = known.barred && !known.present;
        if !is_gone && !wanted.contains(known) {
            wanted.push(*known);
        }
    }
    Ok(wanted)
}

/// What an event erased, and whether for good.
pub fn by(event: &Event) -> Vec<(Digest, bool)> {
    let payload = &event.fact.payload;
    match event.fact.kind.as_ref() {
        ERASED => serde_json::from_str::<Erased>(payload).map(|erased| vec![(erased.digest, true)]).unwrap_or_default(),
        RETIRED => {
            let retired = serde_json::from_str::<RetiredContent>(payload).map(|retired| retired.digests);
            retired.unwrap_or_default().into_iter().map(|digest| (digest, false)).collect()
        }
        _ => Vec::new(),
    }
}

/// What the log says was erased.
#[derive(Clone, Debug, Default)]
pub struct Erasures(HashMap<Digest, bool>);

impl Erasures {
    /// Takes the next event of the log.
    pub fn learn(&mut self, event: &Event) {
        for (digest, for_good) in by(event) {
            *self.0.entry(digest).or_default() |= for_good;
        }
    }

    /// Compares what is kept for gates and questions under a digest with it, and with what was
    /// erased.
    pub fn check(&self, digest: Digest, content: Option<&[u8]>) -> Option<AuditProblem> {
        let problem = match (content.map(Digest::of), self.0.get(&digest)) {
            (Some(other), _) if other != digest => {
                format!("this content was changed: what is kept has the digest {other}")
            }
            (Some(_), Some(true)) => "this content was erased, and is there again".to_owned(),
            (None, None) => "this content is gone, and nobody has erased it".to_owned(),
            (Some(_), Some(false) | None) | (None, Some(_)) => return None,
        };
        Some(AuditProblem::new(digest, problem))
    }

    /// The same for what a run has recorded: that is kept again, whatever was erased before.
    pub fn check_recorded(&self, digest: Digest, content: Option<&[u8]>) -> Option<AuditProblem> {
        let is_itself = content.is_some_and(|content| Digest::of(content) == digest);
        if is_itself { None } else { self.check(digest, content) }
    }
}
