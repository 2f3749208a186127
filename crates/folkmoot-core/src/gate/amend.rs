//! Amending a pending gate: it gets a new revision, and earlier votes no longer count.

use super::{
    ArtifactRef, Choice, Content, Gate, GateEvent, GatePolicy, GateState, OnTimeout, Risk, SelfReview,
    open::{first_line, one_line},
};
use crate::{
    Commit, Deadline, Digest, GateId, Loaded, Outcome, Principal, Refusal, Timestamp,
    judge::{Case, RefusedWith},
    quota, text,
};

/// The maximum number of revisions of a gate. Each is stored, and each makes people look again.
const REVISIONS_MAX: u32 = 100;

/// What the requester changes. A field that is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendment {
    pub gate: GateId,
    pub title: Option<String>,
    pub summary: Option<String>,
    /// Must not be lower than the current risk.
    pub risk: Option<Risk>,
    /// Replaces all artifacts.
    pub artifacts: Option<Vec<ArtifactRef>>,
}

impl Amendment {
    /// The digests of the new contents.
    pub(super) fn digests(&self) -> impl Iterator<Item = Digest> {
        let artifacts = self.artifacts.iter().flatten().map(|artifact| artifact.digest);
        self.summary.iter().map(|text| Digest::of(text.as_bytes())).chain(artifacts)
    }
}

/// Judges an amendment and returns what to write.
pub(super) fn judge(
    case: &Case<'_>,
    amendment: &Amendment,
    policy: &GatePolicy,
    contents: &[Vec<u8>],
    loaded: Loaded,
) -> Result<Commit, RefusedWith> {
    let by = case.principal("amend a gate")?;
    let gate = Gate::visible(loaded.gate.gate, &amendment.gate, case)?;
    let event = amend(&gate, amendment, policy, loaded.gate.summary.as_deref(), by, case.now)?;
    let before = quota::bytes_of(&gate);
    let added = amendment.artifacts.iter().flatten().map(|artifact| artifact.bytes).sum::<u64>();
    case.command.quota.allows_bytes(&case.command.by, loaded.usage.bytes, added.saturating_sub(before))?;
    let texts = amendment.summary.iter().map(|text| text.as_bytes().to_vec());
    let shown = case.store_contents_unless_erased(texts.chain(contents.iter().cloned()))?;
    let mut commit = match event {
        Some(event) => gate.commit_event(case, &event),
        None => Commit { outcome: Outcome::Gate(Box::new(gate)), ..Commit::default() },
    };
    commit.rows.extend(shown);
    Ok(commit)
}

/// The event of an amendment, or `None` if it changes nothing. `current` is the text of the current
/// summary, unless it was erased.
fn amend(
    gate: &Gate,
    amendment: &Amendment,
    policy: &GatePolicy,
    current: Option<&str>,
    by: &Principal,
    now: Timestamp,
) -> Result<Option<GateEvent>, Refusal> {
    gate.must_be_open(now)?;
    if gate.requested_by != by.name {
        return Err(Refusal::NotRequester { requester: gate.requested_by.clone(), verb: "amend" });
    }
    let Some(summary) = amendment.summary.as_deref().or(current) else {
        return Err(Refusal::invalid("summary", "was erased; send a new one with this change"));
    };
    let mut content = gate.content.clone();
    text::check_filled("summary", summary, text::SUMMARY_BYTES_MAX)?;
    content.summary = Digest::of(summary.as_bytes());
    // If the title was the summary's first line, it follows the summary: it must not promise what
    // is no longer asked.
    let was_first_line = current.is_some_and(|old| one_line(first_line(old)).is_ok_and(|line| line == content.title));
    if amendment.title.is_none() && was_first_line {
        content.title = one_line(first_line(summary))?;
    }
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
    // A new revision voids all votes. If a timeout approves the gate, that could turn a person's no
    // into a yes.
    let said_no = match &gate.state {
        GateState::Pending { votes } => votes.iter().any(|vote| vote.choice != Choice::Approve),
        GateState::Closed(_) => false,
    };
    if said_no && gate.content.on_timeout == OnTimeout::Approve {
        let problem =
            "cannot be changed after somebody has said no, because silence consents here; cancel it and open another";
        return Err(Refusal::invalid("gate", problem));
    }
    if gate.revision >= REVISIONS_MAX {
        let problem = format!("was changed {} times, which is the most; open another gate", gate.revision - 1);
        return Err(Refusal::invalid("gate", problem));
    }
    // If the risk was raised, the configuration's demands at the new risk apply, as if the gate had
    // been opened with it.
    let raised = Some(content.risk).filter(|risk| *risk > gate.content.risk);
    let self_review = raised.map(|risk| policy.self_review_at(risk)).filter(|at| *at == SelfReview::Deny);
    let presence = raised.and_then(|risk| policy.presence.get(&risk).copied()).filter(|at| Some(*at) > gate.presence);
    let digest = content.digest(summary);
    let requested_by = gate.requested_by.clone();
    let deadline = deadline(gate, now);
    let moved = deadline != gate.deadline;
    let next = if moved { gate.reminders.before(deadline, now) } else { gate.reminders.next };
    Ok(Some(GateEvent::Amended {
        requested_by,
        content: Box::new(content),
        self_review,
        presence,
        digest,
        deadline,
        next,
    }))
}

/// The deadline after an amendment. If a timeout approves the gate, a change at the last moment
/// would be approved unseen, so the gate gets its whole timeout again.
fn deadline(gate: &Gate, now: Timestamp) -> Deadline {
    match gate.content.on_timeout {
        OnTimeout::Approve => gate.deadline.max(gate.timeout.deadline(now)),
        OnTimeout::Fail | OnTimeout::Reject | OnTimeout::Retry | OnTimeout::Escalate => gate.deadline,
    }
}
