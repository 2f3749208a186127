//! Opening a gate.

use std::collections::BTreeSet;

use super::{
    ArtifactRef, Choice, Content, Gate, GateEvent, GateKind, GateMode, GatePolicy, GateState, GateType, OnTimeout,
    Risk, SelfReview, policy::ResolvedPolicy, remind::Reminders,
};
use crate::{
    Digest, GateId, Name, Phase, Principal, Refusal, Role, RunId, SessionId, Timeout, Timestamp, delivery, principal,
    run::Run, text,
};

/// What a requester says when it opens a gate. What is `None` comes from the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Made by the caller, because core has no randomness.
    pub id: GateId,
    /// The run that cannot pass.
    pub run_id: Option<RunId>,
    /// The session it belongs to.
    pub session_id: Option<SessionId>,
    /// Defaults to the first line of the summary.
    pub title: Option<String>,
    /// What is asked.
    pub summary: String,
    /// Where in the run it stands.
    pub phase: Phase,
    /// What sort of request.
    pub kind: GateKind,
    /// What is at stake.
    pub risk: Risk,
    /// What the reviewer can look at.
    pub artifacts: Vec<ArtifactRef>,
    /// What the reviewer can say; approve and reject unless it is said.
    pub allowed: Option<Vec<Choice>>,
    /// How long it waits.
    pub timeout: Option<Timeout>,
    /// What a timeout does.
    pub on_timeout: Option<OnTimeout>,
    /// Who may decide.
    pub reviewers: Option<Vec<Name>>,
    /// Approvals needed.
    pub quorum: Option<u32>,
    /// Rejections needed.
    pub reject_quorum: Option<u32>,
    /// Whether the run's initiator may decide.
    pub self_review: Option<SelfReview>,
    /// "Ask once": while a gate with this key is pending, opening it again returns it.
    pub dedupe_key: Option<String>,
    /// Whom to tell, beside the feed and those that the policy names.
    pub notification_channels: Vec<String>,
    /// The agent that the requester speaks for.
    pub on_behalf_of: Option<Name>,
}

/// Judges an opening. `run` is the run that it names, if that exists.
pub(crate) fn open(
    opening: &Opening,
    by: &Principal,
    policy: &GatePolicy,
    run: Option<&Run>,
    now: Timestamp,
) -> Result<GateEvent, Refusal> {
    if by.role == Role::Viewer {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "open a gate" });
    }
    if let Some(run) = run {
        run.must_take(by, opening.session_id.as_ref())?;
        // An agent may ask about its own part of such a run, and wait by itself. A person who asks
        // means to stop the run.
        if run.start.workflow.is_some() && by.role.decides() && run.speaker().name != by.name {
            let problem = "names a run that Folkmoot executes, which waits only at its own gates; halt its session or cancel it to \
                           stop it";
            return Err(Refusal::invalid("run_id", problem));
        }
    }
    let resolved = policy.resolve(opening, by, run)?;
    let content = content(opening, &resolved)?;
    let digest = content.digest(&opening.summary);
    let channels: BTreeSet<&String> =
        policy.notification_channels.iter().chain(&opening.notification_channels).collect();
    delivery::check_channels("notification_channels", channels.iter().copied())?;
    let deadline = resolved.timeout.deadline(now);
    if let Some(name) = &opening.on_behalf_of {
        principal::check_name("on_behalf_of", name)?;
        if by.role == Role::Agent && resolved.on_timeout == OnTimeout::Approve {
            let policy = "nobody's, because silence consents here".to_owned();
            return Err(Refusal::WeakensPolicy { field: "on_behalf_of", policy });
        }
    }
    if let Some(key) = &opening.dedupe_key {
        text::check_filled("dedupe_key", key, text::TITLE_BYTES_MAX)?;
    }
    Ok(GateEvent::Opened(Box::new(Gate {
        id: opening.id.clone(),
        run_id: run.map(|run| run.start.id.clone()).or_else(|| opening.run_id.clone()),
        session_id: run.map(|run| run.start.session_id.clone()).or_else(|| opening.session_id.clone()),
        content,
        gate_type: GateType::Human,
        mode: GateMode::Gate,
        why: match &opening.on_behalf_of {
            Some(name) => format!("asked for by {} on behalf of {name}", by.name),
            None => format!("asked for by {}", by.name),
        },
        requested_by: by.name.clone(),
        on_behalf_of: opening.on_behalf_of.clone(),
        initiator: run.map(|run| run.start.initiator.clone()),
        self_review: resolved.self_review,
        requested_at: now,
        timeout: resolved.timeout,
        deadline,
        escalated: false,
        reject_quorum: resolved.reject_quorum,
        dedupe_key: opening.dedupe_key.clone(),
        notification_channels: channels.into_iter().cloned().collect(),
        reminders: Reminders::resolve(policy, deadline, now),
        presence: policy.presence.get(&opening.risk).copied(),
        revision: 1,
        digest,
        seq: 1,
        state: GateState::Pending { votes: Vec::new() },
    })))
}

/// The answer when a pending gate with the same dedupe key exists: that gate, if it asks the same.
pub(crate) fn ask_once(opened: &Gate, pending_duplicate: &Gate) -> Result<(), Refusal> {
    if pending_duplicate.digest == opened.digest {
        return Ok(());
    }
    Err(Refusal::DedupeConflict { gate: pending_duplicate.id.clone() })
}

fn content(opening: &Opening, resolved: &ResolvedPolicy) -> Result<Content, Refusal> {
    text::check_filled("summary", &opening.summary, text::SUMMARY_BYTES_MAX)?;
    let title = match &opening.title {
        Some(title) => one_line(title)?,
        None => one_line(first_line(&opening.summary))?,
    };
    Content::check_artifacts(&opening.artifacts)?;
    Ok(Content {
        title,
        summary: Digest::of(opening.summary.as_bytes()),
        phase: opening.phase.clone(),
        kind: opening.kind,
        risk: opening.risk,
        artifacts: opening.artifacts.clone(),
        allowed: allowed(opening)?,
        on_timeout: resolved.on_timeout,
        reviewers: resolved.reviewers.clone(),
        quorum: resolved.quorum,
    })
}

fn allowed(opening: &Opening) -> Result<Vec<Choice>, Refusal> {
    let mut allowed = opening.allowed.clone().unwrap_or_else(|| match opening.kind {
        GateKind::Proposal => vec![Choice::Approve, Choice::Reject, Choice::Adjust],
        GateKind::Checkpoint => vec![Choice::Approve, Choice::Reject, Choice::Adjust, Choice::Pause],
        GateKind::Phase | GateKind::Tool | GateKind::Custom => vec![Choice::Approve, Choice::Reject],
    });
    allowed.sort();
    allowed.dedup();
    if !allowed.contains(&Choice::Reject) {
        return Err(Refusal::invalid("allowed", "must hold `reject`: a gate that nobody can reject is none"));
    }
    Ok(allowed)
}

/// A title as it is kept: one line, without the space around it.
pub(super) fn one_line(title: &str) -> Result<String, Refusal> {
    let title = title.trim();
    text::check_filled("title", title, text::TITLE_BYTES_MAX)?;
    if title.contains(['\n', '\r']) {
        return Err(Refusal::invalid("title", "has more than one line; put the rest into the summary"));
    }
    Ok(title.to_owned())
}

pub(super) fn first_line(summary: &str) -> &str {
    let line = summary.trim().split(['\n', '\r']).next().unwrap_or_default();
    let mut end = line.len().min(text::TITLE_BYTES_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}
