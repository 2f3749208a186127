//! Erasing content: the bytes under a digest are removed. The digest and everything that names it
//! stay, and the log says that the content was erased.
//!
//! ```text
//!   kept ──erase (an admin, with a reason)──▶ erased for good: nothing shows these bytes again
//!     └────retire (too old, by configuration)─▶ erased: kept again when somebody sends them anew
//! ```
//!
//! Runs are an exception: what a run records is stored even if the same bytes were erased before,
//! because recording it was acknowledged, and the bytes may be as common as `{}`. Gates and
//! questions still do not show them.

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

/// An action on content.
#[derive(Clone, Debug)]
pub enum Action {
    /// Erases content, for good.
    Erase(Erasure),
    /// Erases content that is shown only by what was decided before a moment.
    Retire {
        /// The content to erase. Content that somebody has sent since that moment stays.
        digests: Vec<Digest>,
        /// The moment. The caller has checked what shows the content.
        decided_before: Timestamp,
    },
}

/// An admin's request to erase content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    pub digests: Vec<Digest>,
    pub reason: String,
}

/// What is known about stored content without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentStatus {
    pub digest: Digest,
    /// Whether its bytes are stored.
    pub present: bool,
    /// How often an admin has erased it, which is the number of events in its stream.
    pub erasures: u64,
    /// Whether no gate and no question may show it again. It is then present only if a run has
    /// recorded it since.
    pub barred: bool,
    /// When somebody last sent it. This can be up to a day too early.
    pub used_at: Timestamp,
}

impl ContentStatus {
    /// Whether nobody has sent it since then. `used_at` may be a day too early, because content
    /// that is sent all the time is not updated all the time.
    pub fn is_unused_since(&self, moment: Timestamp) -> bool {
        self.used_at.plus(USED_AT_STEP) < moment
    }
}

/// `used_at` is updated only if content is sent again this much later.
pub const USED_AT_STEP: Duration = Duration::from_secs(24 * 3600);

/// The payload of an admin's erasure in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    pub digest: Digest,
    pub reason: String,
}

/// The payload in the log for content that was erased because of its age.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredContent {
    pub digests: Vec<Digest>,
    /// Everything that showed it was decided before this.
    pub decided_before: Timestamp,
}

/// The stream of a content's erasures.
pub fn stream(digest: Digest) -> String {
    format!("artifact:{digest}")
}

/// The type of the event with the payload [`Erased`].
pub const ERASED: &str = "artifact.erased";
/// The type of the event with the payload [`RetiredContent`].
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

/// Writes one event for all of it, so that the log grows by less than what is erased.
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

/// Judges an erasure, and returns the contents that are not erased for good yet.
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

/// The contents that an event erased, each with whether it was erased for good.
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

/// The contents that were erased according to the log, each with whether it was for good.
#[derive(Clone, Debug, Default)]
pub struct Erasures(HashMap<Digest, bool>);

impl Erasures {
    /// Adds what the next event of the log erased.
    pub fn learn(&mut self, event: &Event) {
        for (digest, for_good) in by(event) {
            *self.0.entry(digest).or_default() |= for_good;
        }
    }

    /// Compares the stored content of a gate or question with its digest, and with what was erased.
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

    /// The same for content that a run has recorded. It may be there again after it was erased.
    pub fn check_recorded(&self, digest: Digest, content: Option<&[u8]>) -> Option<AuditProblem> {
        let is_itself = content.is_some_and(|content| Digest::of(content) == digest);
        if is_itself { None } else { self.check(digest, content) }
    }
}
