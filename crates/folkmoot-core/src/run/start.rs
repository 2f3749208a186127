//! Starting a run.

use serde::{Deserialize, Serialize};

use super::{Run, RunEvent, RunKind, RunLimits, RunState, commit::artifact};
use crate::{
    Commit, Digest, Loaded, Name, Outcome, Principal, Refusal, Role, Row, RunId, SessionId, Timestamp, WorkflowName,
    judge::{Case, RefusedWith},
    principal, text,
};

/// The longest input, in bytes of its JSON.
pub const INPUT_BYTES_MAX: usize = 1 << 20;

/// The part of a run that never changes. It is the payload of `run.started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// Unique across everything.
    pub id: RunId,
    pub kind: RunKind,
    /// What it is for, in one line; may be empty.
    #[serde(default)]
    pub title: String,
    /// The code that executes it; `None` if an outside agent does.
    #[serde(default)]
    pub workflow: Option<WorkflowName>,
    /// Each run has exactly one.
    pub session_id: SessionId,
    /// Who started it.
    pub initiator: Name,
    /// The initiator's role. Its gates are judged with this role.
    #[serde(default = "agent")]
    pub role: Role,
    /// The run that started it, if one did. It ends when that run ends.
    #[serde(default)]
    pub parent: Option<RunId>,
    /// The digest of its input. The JSON itself is an artifact.
    #[serde(default)]
    pub input: Option<Digest>,
    #[serde(default)]
    pub limits: RunLimits,
    pub started_at: Timestamp,
}

/// Older versions did not record the role: all their runs were started by agents.
fn agent() -> Role {
    Role::Agent
}

/// A request to start a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Chosen by the one who starts it, or made by the caller, because core has no randomness.
    pub id: RunId,
    /// The code that will execute it; `None` if an outside agent does.
    pub workflow: Option<WorkflowName>,
    /// What it is for, in one line.
    pub title: String,
    /// Defaults to a session of its own.
    pub session_id: Option<SessionId>,
    /// Its input, as JSON.
    pub input: Option<String>,
    pub limits: RunLimits,
}

/// Judges a start and returns what to write.
pub(super) fn judge(case: &Case<'_>, new_run: &NewRun, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let by = case.principal("start a run")?;
    if let Some(existing) = loaded.run.run {
        start_again(new_run, by, &existing, case.now)?;
        return Ok(Commit { outcome: Outcome::ExistingRun(Box::new(existing)), ..Commit::default() });
    }
    principal::must_not_be_a_person("id", &as_agent(&new_run.id), &by.name, &case.principals)?;
    let start = start(new_run, by, case.now)?;
    if new_run.workflow.is_some() {
        case.command.quota.allows_run(&case.command.by, loaded.usage)?;
    }
    Ok(commit_start(case, start, new_run.input.as_deref()))
}

/// Returns everything to write for a new run.
pub(crate) fn commit_start(case: &Case<'_>, start: RunStart, input: Option<&str>) -> Commit {
    let event = RunEvent::Started(Box::new(start.clone()));
    let run = Run::new(start);
    let mut rows: Vec<Row> = input.map(artifact).into_iter().collect();
    rows.push(Row::Run(Box::new(run.clone())));
    let events = vec![run.fact(case, &event)];
    Commit { rows, events, outcome: Outcome::Run(Box::new(run)), ..Commit::default() }
}

/// Judges a start under an id that is taken. Refuses it unless the caller started the existing run
/// in the same way.
fn start_again(new_run: &NewRun, by: &Principal, existing: &Run, now: Timestamp) -> Result<(), Refusal> {
    let known = &existing.start;
    let again = start(new_run, by, now)?;
    if known.initiator == by.name && (RunStart { started_at: known.started_at, ..again }) == *known {
        return Ok(());
    }
    Err(Refusal::RunExists { run: known.id.clone() })
}

/// Judges a start, as if its id were free.
fn start(new_run: &NewRun, by: &Principal, now: Timestamp) -> Result<RunStart, Refusal> {
    if by.role == Role::Viewer {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "start a run" });
    }
    let title = new_run.title.trim();
    text::check("title", title, text::TITLE_BYTES_MAX)?;
    if title.contains(['\n', '\r']) {
        return Err(Refusal::invalid("title", "has more than one line"));
    }
    if let Some(input) = &new_run.input {
        text::check("input", input, INPUT_BYTES_MAX)?;
    }
    new_run.limits.must_not_exceed_default(by)?;
    // A run that Folkmoot executes works as an agent whose name is the run's id.
    principal::check_name("id", &as_agent(&new_run.id))?;
    let session_id = new_run.session_id.clone();
    Ok(RunStart {
        id: new_run.id.clone(),
        kind: RunKind::of(new_run.workflow.as_ref()),
        title: title.to_owned(),
        workflow: new_run.workflow.clone(),
        session_id: session_id.unwrap_or_else(|| own_session(&new_run.id)),
        initiator: by.name.clone(),
        role: by.role,
        parent: None,
        input: new_run.input.as_ref().map(|input| Digest::of(input.as_bytes())),
        limits: new_run.limits,
        started_at: now,
    })
}

/// Judges the start of a run by another run. The child has its parent's initiator, and its parent's
/// session unless it names another.
pub(super) fn start_child(new_run: &NewRun, parent: &Run, now: Timestamp) -> Result<RunStart, Refusal> {
    let by = Principal::new(parent.start.initiator.clone(), parent.start.role);
    let new_run = NewRun {
        session_id: Some(new_run.session_id.clone().unwrap_or_else(|| parent.start.session_id.clone())),
        ..new_run.clone()
    };
    Ok(RunStart { parent: Some(parent.start.id.clone()), ..start(&new_run, &by, now)? })
}

/// A run's id as the name of an agent.
pub(crate) fn as_agent(run: &RunId) -> Name {
    run.as_str().parse().expect("what names a run can name an agent")
}

/// The session of a run that names none.
pub(crate) fn own_session(run: &RunId) -> SessionId {
    run.as_str().parse().expect("what names a run can name its session")
}

impl RunStart {
    /// The start of an outside agent's run, of which only the id and the session are known.
    pub(crate) fn external(id: RunId, session_id: SessionId, by: &Principal, now: Timestamp) -> Self {
        Self {
            id,
            kind: RunKind::External,
            title: String::new(),
            workflow: None,
            session_id,
            initiator: by.name.clone(),
            role: by.role,
            parent: None,
            input: None,
            limits: RunLimits::default(),
            started_at: now,
        }
    }
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
