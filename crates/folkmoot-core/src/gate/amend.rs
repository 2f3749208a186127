//! Changing what a pending gate asks: a new revision, on which no earlier vote counts.

use super::{ArtifactRef, Content, Gate, GateEvent, OnTimeout, Risk, open::one_line};
use crate::{Deadline, Digest, GateId, Principal, Refusal, Timestamp, text};

/// What the requester changes; what is `None` stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendment {
    /// Which gate.
    pub gate: GateId,
    /// A new title.
    pub title: Option<String>,
    /// A new summary.
    pub summary: Option<String>,
    /// A higher risk.
    pub risk: Option<Risk>,
    /// New artifacts, instead of all the old ones.
    pub artifacts: Option<Vec<ArtifactRef>>,
}

/// Judges an amendment; `None` where it changes nothing. `summary` is the text that stands, unless it was erased.
pub(crate) fn amend(
    gate: &Gate,
    amendment: &Amendment,
    summary: Option<&str>,
    by: &Principal,
    now: Timestamp,
) -> Result<Option<GateEvent>, Refusal> {
    gate.must_be_open(now)?;
    if gate.requested_by != by.name {
        return Err(Refusal::NotRequester { requester: gate.requested_by.clone(), verb: "amend" });
    }
    let Some(summary) = amendment.summary.as_deref().or(summary) else {
        return Err(Refusal::invalid("summary", "was erased; send a new one with this change"));
    };
    let mut content = gate.content.clone();
    text::check_filled("summary", summary, text::SUMMARY_BYTES_MAX)?;
    content.summary = Digest::of(summary.as_bytes());
    if let Some(title) = &amendment.title {
        content.title = one_line(title)?;
    }
    if let Some(artifacts) = &amendment.artifacts {
        Content::check_artifacts(artifacts)?;
        content.artifacts = artifacts.clone();
    }
    if let Some(risk) = amendment.risk {
        if risk < content.risk {
            return Err(Refusal::WeakensPolicy {
                field: "risk",
                policy: format!("at least {:?}", content.risk.word()),
            });
        }
        content.risk = risk;
    }
    if content == gate.content {
        return Ok(None);
    }
    let digest = content.digest(summary);
    let requested_by = gate.requested_by.clone();
    Ok(Some(GateEvent::Amended { requested_by, content: Box::new(content), digest, deadline: deadline(gate, now) }))
}

/// Where silence consents, what was changed at the last moment would be approved unseen: it gets the whole time again.
fn deadline(gate: &Gate, now: Timestamp) -> Deadline {
    match gate.content.on_timeout {
        OnTimeout::Approve => gate.deadline.max(gate.timeout.deadline(now)),
        OnTimeout::Fail | OnTimeout::Reject | OnTimeout::Retry | OnTimeout::Escalate => gate.deadline,
    }
}
