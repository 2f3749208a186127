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

use crate::{
    Commit, Digest, Event, Needs, Outcome, Principal, Refusal, Role, Row, Timestamp,
    audit::AuditProblem,
    judge::{Case, RefusedWith, json},
    text,
};

/// What can be wanted of content.
#[derive(Clone, Debug)]
pub enum Action {
    /// Erases content, for good.
    Erase(Erasure),
    /// Erases content that nothing shows any more but what was decided before then.
    Retire {
        /// Which; what somebody has sent since then stays.
        digests: Vec<Digest>,
        /// As the caller found out.
        decided_before: Timestamp,
    },
}

/// What an admin wants gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
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

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Erase(_) => "content.erase",
            Action::Retire { .. } => "content.retire",
        }
    }

    pub(crate) fn is_personal(&self) -> bool {
        match self {
            Action::Erase(_) => true,
            // Only Folkmoot itself does this.
            Action::Retire { .. } => false,
        }
    }

    pub(crate) fn needs(&self) -> Needs<'_> {
        let (Action::Erase(Erasure { digests, .. }) | Action::Retire { digests, .. }) = self;
        Needs { contents: digests.into(), ..Needs::default() }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, contents: &[ContentStatus]) -> Result<Commit, RefusedWith> {
        match self {
            Action::Erase(erasure) => {
                let wanted = erase(erasure, case.principal("erase content")?, contents)?;
                Ok(commit_erased(case, &wanted, &erasure.reason))
            }
            Action::Retire { digests, decided_before } => {
                case.must_be_system("retire content")?;
                Ok(retire(case, digests, *decided_before, contents))
            }
        }
    }
}

fn commit_erased(case: &Case<'_>, wanted: &[ContentStatus], reason: &str) -> Commit {
    let mut commit = Commit::default();
    for ContentStatus { digest, erasures, .. } in wanted {
        let (erasures, payload) = (erasures + 1, json(&Erased { digest: *digest, reason: reason.to_owned() }));
        commit.events.push(case.fact(&stream(*digest), erasures, ERASED, payload, None));
        commit.rows.push(Row::Erased { digest: *digest, erasures, barred: true });
    }
    commit.outcome = Outcome::Erased(wanted.iter().map(|content| content.digest).collect());
    commit
}

/// One event for all of it: the log is to grow by less than what is erased.
fn retire(case: &Case<'_>, digests: &[Digest], decided_before: Timestamp, contents: &[ContentStatus]) -> Commit {
    let is_old = |content: &&ContentStatus| {
        content.present && digests.contains(&content.digest) && content.is_unused_since(decided_before)
    };
    let old: Vec<&ContentStatus> = contents.iter().filter(is_old).collect();
    let digests: Vec<Digest> = old.iter().map(|content| content.digest).collect();
    if digests.is_empty() {
        return Commit { outcome: Outcome::Erased(digests), ..Commit::default() };
    }
    let row = |content: &ContentStatus| {
        let ContentStatus { digest, erasures, barred, .. } = *content;
        Row::Erased { digest, erasures, barred }
    };
    let payload = json(&RetiredContent { digests: digests.clone(), decided_before });
    let stream = format!("retention:{}", case.command.id);
    Commit {
        rows: old.into_iter().map(row).collect(),
        events: vec![case.fact(&stream, 1, RETIRED, payload, None)],
        outcome: Outcome::Erased(digests),
        ..Commit::default()
    }
}

/// What is still to be erased, if an admin wants it.
fn erase(erasure: &Erasure, by: &Principal, contents: &[ContentStatus]) -> Result<Vec<ContentStatus>, Refusal> {
    match by.role {
        Role::Admin => {}
        role @ (Role::Reviewer | Role::Agent | Role::Viewer) => {
            return Err(Refusal::RoleMayNot { role, verb: "erase content" });
        }
    }
    text::check_filled("reason", &erasure.reason, text::REASON_BYTES_MAX)?;
    let mut wanted = Vec::new();
    for digest in &erasure.digests {
        let known = contents.iter().find(|content| content.digest == *digest);
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
