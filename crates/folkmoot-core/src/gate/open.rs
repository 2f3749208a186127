//! Opening a gate.

use std::{borrow::Cow, collections::BTreeSet};

use super::{
    ArtifactRef, Choice, Content, Gate, GateEvent, GateKind, GateMode, GatePolicy, GateState, GateType, OnTimeout,
    Risk, SelfReview, expire, policy::ResolvedPolicy, remind::Reminders, timer::timer,
};
use crate::{
    Commit, Digest, GateId, Loaded, Name, Outcome, Phase, Presence, Principal, Refusal, Role, Row, RunId, SessionId,
    Timeout, Timestamp, delivery,
    judge::{Case, RefusedWith},
    presence::PresenceClaim,
    principal, quota,
    run::{self, Run, RunStart},
    text,
    token::TokenKind,
};

/// A request to open a gate. A field that is `None` is taken from the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGate {
    /// Made by the caller, because core has no randomness.
    pub id: GateId,
    /// The run that cannot pass. It is started if it does not exist.
    pub run_id: Option<RunId>,
    /// The session it belongs to. Defaults to that of its run.
    pub session_id: Option<SessionId>,
    /// Defaults to the first line of the summary.
    pub title: Option<String>,
    /// What is asked.
    pub summary: String,
    /// The phase of the run in which it is opened.
    pub phase: Phase,
    pub kind: GateKind,
    pub risk: Risk,
    /// What the reviewer can look at.
    pub artifacts: Vec<ArtifactRef>,
    /// The choices that a reviewer has. The default depends on `kind`.
    pub allowed: Option<Vec<Choice>>,
    pub timeout: Option<Timeout>,
    pub on_timeout: Option<OnTimeout>,
    pub reviewers: Option<Vec<Name>>,
    pub quorum: Option<u32>,
    pub reject_quorum: Option<u32>,
    /// Whether the run's initiator may decide.
    pub self_review: Option<SelfReview>,
    /// While the requester has a pending gate with this key, opening it again returns that gate.
    pub dedupe_key: Option<String>,
    /// The channels to notify, in addition to those of the policy.
    pub notification_channels: Vec<String>,
    /// The agent that the requester speaks for.
    pub on_behalf_of: Option<Name>,
}

/// Judges whether the gate may be opened like this. `run` is the run that it names, if it exists.
pub(crate) fn open(
    new_gate: &NewGate,
    by: &Principal,
    policy: &GatePolicy,
    run: Option<&Run>,
    now: Timestamp,
) -> Result<GateEvent, Refusal> {
    if by.role == Role::Viewer {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "open a gate" });
    }
    if let Some(run) = run {
        run.must_take(by, new_gate.session_id.as_ref())?;
        // A run that Folkmoot executes does not wait at gates that others open in it. An agent may
        // open one for its own part of the run and wait for it by itself. A person who opens one
        // wants to stop the run, so refuse it.
        if run.start.workflow.is_some() && by.role.decides() && run.speaker().name != by.name {
            let problem = "names a run that Folkmoot executes, which waits only at its own gates; halt its session or cancel it to \
                           stop it";
            return Err(Refusal::invalid("run_id", problem));
        }
    }
    let resolved = policy.resolve(new_gate, by, run)?;
    let content = content(new_gate, &resolved)?;
    let digest = content.digest(&new_gate.summary);
    let channels: BTreeSet<&String> =
        policy.notification_channels.iter().chain(&new_gate.notification_channels).collect();
    delivery::check_channels("notification_channels", channels.iter().copied())?;
    let deadline = resolved.timeout.deadline(now);
    if let Some(name) = &new_gate.on_behalf_of {
        principal::check_name("on_behalf_of", name)?;
        if by.role == Role::Agent && resolved.on_timeout == OnTimeout::Approve {
            let policy = "nobody's, because silence consents here".to_owned();
            return Err(Refusal::WeakensPolicy { field: "on_behalf_of", policy });
        }
    }
    if let Some(key) = &new_gate.dedupe_key {
        text::check_filled("dedupe_key", key, text::TITLE_BYTES_MAX)?;
    }
    Ok(GateEvent::Opened(Box::new(Gate {
        id: new_gate.id.clone(),
        run_id: run.map(|run| run.start.id.clone()).or_else(|| new_gate.run_id.clone()),
        session_id: run.map(|run| run.start.session_id.clone()).or_else(|| new_gate.session_id.clone()),
        content,
        gate_type: GateType::Human,
        mode: GateMode::Gate,
        why: match &new_gate.on_behalf_of {
            Some(name) => format!("asked for by {} on behalf of {name}", by.name),
            None => format!("asked for by {}", by.name),
        },
        requested_by: by.name.clone(),
        on_behalf_of: new_gate.on_behalf_of.clone(),
        initiator: run.map(|run| run.start.initiator.clone()),
        self_review: resolved.self_review,
        requested_at: now,
        timeout: resolved.timeout,
        deadline,
        escalated: false,
        reject_quorum: resolved.reject_quorum,
        dedupe_key: new_gate.dedupe_key.clone(),
        notification_channels: channels.into_iter().cloned().collect(),
        reminders: Reminders::resolve(policy, deadline, now),
        presence: policy.presence.get(&new_gate.risk).copied(),
        revision: 1,
        digest,
        seq: 1,
        state: GateState::Pending { votes: Vec::new() },
    })))
}

/// Judges a new gate and returns what to write.
pub(super) fn judge(
    case: &Case<'_>,
    new_gate: &NewGate,
    policy: &GatePolicy,
    contents: &[Vec<u8>],
    loaded: Loaded,
) -> Result<Commit, RefusedWith> {
    let by = case.principal("open a gate")?;
    let run = loaded.run.run.as_ref();
    let open = |by: &Principal| open(new_gate, by, policy, run, case.now);
    let event = open(by)?;
    // Judge it as the agent whose run it is. Any other agent would be refused anyway, which says
    // nothing about the policy.
    let agent = run.map_or(&by.name, |run| &run.start.initiator);
    must_not_loosen(case, || open(&Principal::new(agent.clone(), Role::Agent)))?;
    check_named_principals(case, new_gate, by)?;
    commit_opened(case, new_gate, event, contents, loaded)
}

/// Returns everything to write for a gate that may be opened. If the requester has a pending gate
/// with the same dedupe key, none is opened and that gate is the outcome.
pub(crate) fn commit_opened(
    case: &Case<'_>,
    new_gate: &NewGate,
    event: GateEvent,
    contents: &[Vec<u8>],
    loaded: Loaded,
) -> Result<Commit, RefusedWith> {
    let GateEvent::Opened(gate) = &event else { unreachable!("a new gate is opened") };
    let mut commit = Commit::default();
    if let Some(pending_duplicate) = loaded.gate.pending_duplicate {
        match expire(&pending_duplicate, case.now) {
            None => return ask_once(new_gate, gate, pending_duplicate, commit),
            // The duplicate's timer is due but has not fired yet, so what follows from it comes
            // first.
            Some(expired) => commit = pending_duplicate.commit_event(case, &expired),
        }
        if let Outcome::Gate(pending_duplicate) = std::mem::take(&mut commit.outcome)
            && pending_duplicate.decision().is_none()
        {
            return ask_once(new_gate, gate, *pending_duplicate, commit);
        }
    }
    case.command.quota.allows_gate(&case.command.by, loaded.usage, quota::bytes_of(gate))?;
    let texts = std::iter::once(new_gate.summary.as_bytes().to_vec());
    let shown = case.store_contents_unless_erased(texts.chain(contents.iter().cloned()))?;
    let mut gate = gate.as_ref().clone();
    if let (Some(run_id), None) = (&new_gate.run_id, &loaded.run.run) {
        let start = implicit_run(case, run_id, &gate)?;
        (gate.session_id, gate.initiator) = (Some(start.session_id.clone()), Some(start.initiator.clone()));
        commit.merge(run::commit_start(case, start, None));
    } else if let Some(session) = &gate.session_id {
        commit.rows.push(Row::Session(session.clone(), case.now));
    }
    let event = GateEvent::Opened(Box::new(gate.clone()));
    commit.events.push(gate.fact(case, &event));
    commit.timers.extend(timer(&gate));
    commit.rows.extend(shown);
    commit.rows.push(Row::Gate(Box::new(gate.clone())));
    commit.outcome = Outcome::Gate(Box::new(gate));
    Ok(commit)
}

/// Refuses a personal token without a terminal if an agent would be refused too: only a person may
/// choose a looser policy than the configured one.
fn must_not_loosen(case: &Case<'_>, as_agent: impl FnOnce() -> Result<GateEvent, Refusal>) -> Result<(), Refusal> {
    match case.presence {
        Some(presence) if presence.kind() == TokenKind::Personal => match as_agent() {
            Err(_) => presence.must_be(Presence::Terminal),
            Ok(_) => Ok(()),
        },
        Some(_) | None => Ok(()),
    }
}

/// Refuses a gate that names reviewers who cannot decide, or that speaks for a person.
fn check_named_principals(case: &Case<'_>, new_gate: &NewGate, by: &Principal) -> Result<(), Refusal> {
    principal::must_decide(new_gate.reviewers.as_deref().unwrap_or_default(), &case.principals)?;
    match &new_gate.on_behalf_of {
        Some(name) => principal::must_not_be_a_person("on_behalf_of", name, &by.name, &case.principals),
        None => Ok(()),
    }
}

/// The answer if a pending gate with the same dedupe key exists: that gate, if it asks the same for
/// the same run, session and agent, and is as strict as this request demands.
fn ask_once(new_gate: &NewGate, opened: &Gate, pending_duplicate: Gate, commit: Commit) -> Result<Commit, RefusedWith> {
    let asks_the_same = opened.digest == pending_duplicate.digest
        && opened.run_id == pending_duplicate.run_id
        && opened.session_id == pending_duplicate.session_id
        && opened.on_behalf_of == pending_duplicate.on_behalf_of;
    // Compare only what the request sets. The policy, which fills in the rest, may have changed
    // since.
    let is_as_strict = new_gate.self_review.is_none_or(|asked| asked == pending_duplicate.self_review)
        && new_gate.reject_quorum.is_none_or(|asked| asked == pending_duplicate.reject_quorum)
        && new_gate.timeout.is_none_or(|asked| asked == pending_duplicate.timeout);
    if !(asks_the_same && is_as_strict) {
        return Err(Refusal::DedupeConflict { gate: pending_duplicate.id }.into());
    }
    Ok(Commit { outcome: Outcome::Existing(Box::new(pending_duplicate)), ..commit })
}

/// The run that a gate starts by naming one that does not exist. An outside agent executes it.
fn implicit_run(case: &Case<'_>, id: &RunId, gate: &Gate) -> Result<RunStart, Refusal> {
    principal::must_not_be_a_person("run_id", &run::as_agent(id), &gate.requested_by, &case.principals)?;
    // Starting a run takes the person's presence, however it is started.
    case.presence.map_or(Ok(()), PresenceClaim::must_be_person)?;
    let session_id = gate.session_id.clone().unwrap_or_else(|| run::own_session(id));
    Ok(RunStart::external(id.clone(), session_id, case.principal("open a gate")?, case.now))
}

/// The digests of everything that a gate will show.
pub(crate) fn shown_contents(new_gate: &NewGate) -> Cow<'static, [Digest]> {
    let artifacts = new_gate.artifacts.iter().map(|artifact| artifact.digest);
    std::iter::once(Digest::of(new_gate.summary.as_bytes())).chain(artifacts).collect()
}

/// Everybody that a gate names: its reviewers, the agent that it is opened for, and its run as an
/// agent.
pub(super) fn named_principals(new_gate: &NewGate) -> Vec<Name> {
    let run = new_gate.run_id.as_ref().map(run::as_agent);
    new_gate.reviewers.iter().flatten().chain(&new_gate.on_behalf_of).cloned().chain(run).collect()
}

fn content(new_gate: &NewGate, resolved: &ResolvedPolicy) -> Result<Content, Refusal> {
    text::check_filled("summary", &new_gate.summary, text::SUMMARY_BYTES_MAX)?;
    let title = match &new_gate.title {
        Some(title) => one_line(title)?,
        None => one_line(first_line(&new_gate.summary))?,
    };
    Content::check_artifacts(&new_gate.artifacts)?;
    Ok(Content {
        title,
        summary: Digest::of(new_gate.summary.as_bytes()),
        phase: new_gate.phase.clone(),
        kind: new_gate.kind,
        risk: new_gate.risk,
        artifacts: new_gate.artifacts.clone(),
        allowed: allowed(new_gate)?,
        on_timeout: resolved.on_timeout,
        reviewers: resolved.reviewers.clone(),
        quorum: resolved.quorum,
    })
}

fn allowed(new_gate: &NewGate) -> Result<Vec<Choice>, Refusal> {
    let mut allowed = new_gate.allowed.clone().unwrap_or_else(|| match new_gate.kind {
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

/// A title as it is stored: one line, without white space around it.
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
    text::cut(line, text::TITLE_BYTES_MAX)
}
