//! Starting a run.

use serde::{Deserialize, Serialize};

use super::{Run, RunKind, RunLimits, RunState};
use crate::{Digest, Name, Principal, Refusal, Role, RunId, SessionId, Timestamp, WorkflowName, principal, text};

/// The longest input, in bytes of its JSON.
pub const INPUT_BYTES_MAX: usize = 1 << 20;

/// What never changes about a run, as `run.started` says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// Unique across everything.
    pub id: RunId,
    /// What executes.
    pub kind: RunKind,
    /// What it is for, in a line; empty where nobody said.
    #[serde(default)]
    pub title: String,
    /// The code that executes it; none for somebody else's agent.
    #[serde(default)]
    pub workflow: Option<WorkflowName>,
    /// Each run has exactly one.
    pub session_id: SessionId,
    /// Who started it.
    pub initiator: Name,
    /// As whom: its gates can ask for no more than that role may.
    #[serde(default = "agent")]
    pub role: Role,
    /// The run that started it, and that it ends with.
    #[serde(default)]
    pub parent: Option<RunId>,
    /// What it was given; the JSON itself is an artifact.
    #[serde(default)]
    pub input: Option<Digest>,
    /// How much it may do.
    #[serde(default)]
    pub limits: RunLimits,
    pub started_at: Timestamp,
}

/// Runs that an older version started were all agents'.
fn agent() -> Role {
    Role::Agent
}

/// What somebody wants to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starting {
    /// Made by the caller, because core has no randomness; or chosen by whoever starts it.
    pub id: RunId,
    /// The code that is to execute it; none where somebody else does.
    pub workflow: Option<WorkflowName>,
    /// What it is for, in a line.
    pub title: String,
    /// The session; one of the run's own unless it is said.
    pub session_id: Option<SessionId>,
    /// What it is given, as JSON.
    pub input: Option<String>,
    /// How much it may do.
    pub limits: RunLimits,
}

/// What somebody gets who starts a run under an id that is taken: that run, if it is theirs and the
/// same.
pub(crate) fn start_again(starting: &Starting, by: &Principal, existing: &Run, now: Timestamp) -> Result<(), Refusal> {
    let known = &existing.start;
    let again = start(starting, by, now)?;
    if known.initiator == by.name && (RunStart { started_at: known.started_at, ..again }) == *known {
        return Ok(());
    }
    Err(Refusal::RunExists { run: known.id.clone() })
}

/// Judges a start under an id that is free.
pub(crate) fn start(starting: &Starting, by: &Principal, now: Timestamp) -> Result<RunStart, Refusal> {
    if by.role == Role::Viewer {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "start a run" });
    }
    let title = starting.title.trim();
    text::check("title", title, text::TITLE_BYTES_MAX)?;
    if title.contains(['\n', '\r']) {
        return Err(Refusal::invalid("title", "has more than one line"));
    }
    if let Some(input) = &starting.input {
        text::check("input", input, INPUT_BYTES_MAX)?;
    }
    starting.limits.must_be_usual(by)?;
    // A run of ours works as an agent that is called as it is.
    principal::check_name("id", &as_agent(&starting.id))?;
    let session_id = starting.session_id.clone();
    Ok(RunStart {
        id: starting.id.clone(),
        kind: RunKind::of(starting.workflow.as_ref()),
        title: title.to_owned(),
        workflow: starting.workflow.clone(),
        session_id: session_id.unwrap_or_else(|| own_session(&starting.id)),
        initiator: by.name.clone(),
        role: by.role,
        parent: None,
        input: starting.input.as_ref().map(|input| Digest::of(input.as_bytes())),
        limits: starting.limits,
        started_at: now,
    })
}

/// What a run starts, it starts for whoever started it, and in its own session unless it says
/// otherwise.
pub(crate) fn start_child(starting: &Starting, parent: &Run, now: Timestamp) -> Result<RunStart, Refusal> {
    let by = Principal::new(parent.start.initiator.clone(), parent.start.role);
    let starting = Starting {
        session_id: Some(starting.session_id.clone().unwrap_or_else(|| parent.start.session_id.clone())),
        ..starting.clone()
    };
    Ok(RunStart { parent: Some(parent.start.id.clone()), ..start(&starting, &by, now)? })
}

/// The agent that a run of ours is.
pub(crate) fn as_agent(run: &RunId) -> Name {
    run.as_str().parse().expect("what names a run can name an agent")
}

/// The session of a run that names none.
pub(crate) fn own_session(run: &RunId) -> SessionId {
    run.as_str().parse().expect("what names a run can name its session")
}

impl Run {
    /// A run that has just started.
    pub(crate) fn new(start: RunStart) -> Self {
        Self {
            state: if start.workflow.is_some() { RunState::Pending } else { RunState::Outside },
            resumed_at: None,
            moved_at: start.started_at,
            start,
            epoch: 0,
            steps: 0,
            begun: 0,
            journal_bytes: 0,
            active_micros: 0,
            seq: 1,
        }
    }
}
