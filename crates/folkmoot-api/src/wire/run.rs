//! Runs on the wire.

use std::time::Duration;

use folkmoot_core::{
    GateId, Name, QuestionId, RunId, SessionId, Timestamp, WorkflowName,
    journal::{self, EntryKey, EntryKind, EntryState, EntryStatus, Waits},
    run::{self, RunKind, RunLimits, RunOutcome, RunStart, RunState, RunStatus},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::{object, schema};

/// Starts a run. Nothing is needed: then it is yours to execute.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"title": "Release 1.4.2", "input": {"version": "1.4.2"}}))]
pub struct StartRun {
    /// What executes it; follows from `workflow`, so it can be left out.
    pub kind: Option<RunKind>,
    /// What it is for, in a line.
    pub title: Option<String>,
    /// The session it belongs to; one of its own, called as it is, unless it is given.
    pub session_id: Option<SessionId>,
    /// Unique across everything; made unless it is given.
    pub id: Option<RunId>,
    /// The code that executes it, such as `publish@1`; yours where none is named.
    pub workflow: Option<WorkflowName>,
    /// What it is given; any JSON.
    pub input: Option<Value>,
    /// How much it may do before it fails.
    #[serde(default, deserialize_with = "object::maybe")]
    pub limits: Option<RunLimits>,
}

/// Resumes a run that stopped, or that waits for a provider. There is nothing to say.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {}

/// Says how a run ended that you execute.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"status": "completed", "output": {"published": true}}))]
pub struct EndRun {
    /// `completed` or `failed`.
    #[schema(schema_with = schema::end_status)]
    pub status: RunOutcome,
    /// What it gives, if it is completed; any JSON.
    pub output: Option<Value>,
    /// Which sort of error, if it failed; `failed` unless it is given.
    pub code: Option<String>,
    /// What happened, if it failed.
    pub reason: Option<String>,
}

/// Records a step of a run that you execute.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "build", "state": "done", "result": {"artifacts": 3}}))]
pub struct RecordStep {
    /// What the step is called, the same in every attempt; unique in its run.
    pub key: EntryKey,
    /// `step` (unless it is given) may be done again if nobody knows whether it was done; `once`
    /// must not.
    #[schema(schema_with = schema::step_kind)]
    pub kind: Option<EntryKind>,
    /// `begun` asks whether to do it; `done` and `failed` say what came of it.
    #[schema(schema_with = schema::step_state)]
    pub state: EntryStatus,
    /// What it gave, if it is done; any JSON.
    pub result: Option<Value>,
    /// Why it failed, if it did.
    #[serde(default, deserialize_with = "object::maybe")]
    pub error: Option<Fault>,
    /// The agent that works, if it is not you.
    pub agent_id: Option<Name>,
    /// What the step is given. Only its digest is kept: the same key with another input is refused.
    pub input: Option<Value>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Which sort of problem; `failed` unless it is given.
    #[serde(default = "failed")]
    pub code: String,
    pub message: String,
}

fn failed() -> String {
    RunOutcome::Failed.word().to_owned()
}

impl From<journal::StepError> for Fault {
    fn from(error: journal::StepError) -> Self {
        Self { code: error.code, message: error.message }
    }
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Unique across everything.
    pub id: RunId,
    /// What executes it.
    pub kind: RunKind,
    /// What it is for; empty where nobody said.
    pub title: String,
    /// The code that executes it; `null` where somebody else does.
    pub workflow: Option<WorkflowName>,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// Where it is in its life.
    pub status: RunStatus,
    /// Whose token started it.
    pub initiator: Name,
    /// The run that started it, and that it ends with.
    pub parent: Option<RunId>,
    pub started_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// The server that works on it just now.
    pub node: Option<Name>,
    /// Entries in its journal.
    pub steps: u32,
    /// Bytes of the results in its journal.
    pub journal_bytes: u64,
    /// How long Folkmoot has worked on it; waiting is not counted.
    pub active_ms: u64,
    /// How much it may do before it fails.
    pub limits: RunLimits,
    /// What it was given; only where one run is shown.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Option<Box<RawValue>>>,
    /// What it waits for, `null` if for nothing; only where one run is shown or waited for.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub waiting_at: Option<Option<WaitingAt>>,
    /// The providers of models that it waits for. It goes on by itself when they are back, or at
    /// once when it is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The questions and halts that keep it from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// Why it cannot go on until somebody has looked at it, where it is `stopped`.
    pub stopped: Option<Fault>,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
}

/// A provider of models that is away, limits us, or wants to be paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Outage {
    /// Its name in the configuration.
    pub provider: String,
    /// What it said last.
    pub reason: String,
    /// When it is tried again.
    pub next_try_at: Timestamp,
}

impl Outage {
    /// Those that a run waits for.
    pub fn all_of(run: &run::Run) -> Vec<Self> {
        run.outages()
            .iter()
            .cloned()
            .map(|run::Outage { provider, reason, retry_at }| Self { provider, reason, next_try_at: retry_at })
            .collect()
    }

    /// In a line: `waiting for provider NAME, next try in 40 s: why`.
    pub fn line(&self, now: Timestamp) -> String {
        let left = self.next_try_at.since(now).as_secs();
        let left = if left >= 120 { format!("{} min", left / 60) } else { format!("{left} s") };
        format!("waiting for provider {}, next try in {left}: {}", self.provider, self.reason)
    }
}

/// What a run waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingAt {
    /// Gates that are pending.
    pub gates: Vec<GateId>,
    /// Questions that are open.
    pub questions: Vec<QuestionId>,
    /// Runs that it started and that are not over.
    pub runs: Vec<RunId>,
    /// When its first sleep is over.
    pub until: Option<Timestamp>,
    /// Agents of it that are halted.
    pub held: Vec<Name>,
}

/// How a run ended.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Ending {
    /// The word.
    pub outcome: RunOutcome,
    /// What it gave, if it is completed; only where one run is shown or waited for.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Value>)]
    pub output: Option<Option<Box<RawValue>>>,
    /// Which sort of error, if it failed.
    pub code: String,
    /// What happened, or why it was cancelled.
    pub reason: String,
    /// Who ended it: its workflow, its agent, or whoever cancelled it.
    pub by: Name,
    pub at: Timestamp,
}

/// What is there, although it may be `null`.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// JSON that was recorded, as it was recorded: no reader's limits apply to it. `None` where it is
/// none.
fn json(text: Option<String>) -> Option<Box<RawValue>> {
    RawValue::from_string(text?).ok()
}

impl Run {
    /// A run as lists show it.
    pub fn new(run: run::Run, now: Timestamp) -> Self {
        let (status, active, outages) = (run.status(), run.active(now), Outage::all_of(&run));
        let (mut node, mut stopped, mut ending) = (None, None, None);
        match run.state {
            RunState::Pending | RunState::Outside | RunState::Parked(_) => {}
            RunState::Running { node: worker, .. } => node = Some(worker),
            RunState::Stopped { code, message } => stopped = Some(Fault { code, message }),
            RunState::Ended(run::Ending { outcome, output: _, code, reason, by, at }) => {
                ending = Some(Ending { outcome, output: None, code, reason, by, at });
            }
        }
        let RunStart { id, kind, title, workflow, session_id, initiator, parent, limits, started_at, .. } = run.start;
        Self {
            id,
            kind,
            title,
            workflow,
            session_id,
            status,
            initiator,
            parent,
            started_at,
            ended_at: ending.as_ref().map(|ending| ending.at),
            node,
            steps: run.steps,
            journal_bytes: run.journal_bytes,
            active_ms: millis(active),
            limits,
            input: None,
            waiting_at: None,
            outages,
            halted_by: Vec::new(),
            stopped,
            ending,
        }
    }

    /// With what it was given.
    #[must_use]
    pub fn given(self, input: Option<String>) -> Self {
        Self { input: Some(json(input)), ..self }
    }

    /// With what it gave, if it is over.
    #[must_use]
    pub fn giving(mut self, output: Option<String>) -> Self {
        if let Some(ending) = &mut self.ending {
            ending.output = Some(json(output));
        }
        self
    }

    /// With what it waits for, if for anything.
    #[must_use]
    pub fn waiting(self, at: WaitingAt) -> Self {
        let for_nothing = at == WaitingAt::default();
        Self { waiting_at: Some(Some(at).filter(|_| !for_nothing)), ..self }
    }
}

/// Which runs.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunListParams {
    /// Only these.
    pub status: Option<RunStatus>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that this run started.
    pub parent: Option<RunId>,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// The newest first.
    pub runs: Vec<Run>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// One entry of a run's journal.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JournalEntry {
    /// Stable, and unique in its run.
    pub key: EntryKey,
    /// What was done.
    pub kind: EntryKind,
    /// How far it is. What waited is `done` when what it waited for is over.
    pub state: EntryStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was first tried.
    pub began_at: Timestamp,
    /// When it came to what it is.
    pub at: Timestamp,
    /// From beginning to end; `null` where it has none yet.
    pub duration_ms: Option<u64>,
    /// The agent that worked.
    pub agent_id: Option<Name>,
    /// What it gave, if it is done and no wait.
    #[schema(value_type = Option<Value>)]
    pub result: Option<Box<RawValue>>,
    /// The last error, if it failed.
    pub error: Option<Fault>,
    /// When it is tried again.
    pub retry_at: Option<Timestamp>,
    /// The gate that it waits or waited at.
    pub gate_id: Option<GateId>,
    /// The question that it asks or asked.
    pub question_id: Option<QuestionId>,
    /// The run that it started.
    pub run_id: Option<RunId>,
    /// The moment until which it sleeps or slept.
    pub until: Option<Timestamp>,
    /// What became of that gate, question or run: the word of its status.
    pub outcome: Option<String>,
}

impl JournalEntry {
    /// An entry with its result. `awaited` is when, and with which word, what it waits for came to
    /// its end.
    pub fn new(
        entry: journal::Entry,
        result: Option<String>,
        awaited: Option<(Timestamp, Option<&'static str>)>,
    ) -> Self {
        let state = if awaited.is_some() { EntryStatus::Done } else { entry.progress() };
        let at = awaited.map_or(entry.at, |(at, _)| at);
        let is_over = matches!(state, EntryStatus::Done | EntryStatus::Failed);
        let (mut error, mut retry_at) = (None, None);
        let (mut gate_id, mut question_id, mut run_id, mut until) = (None, None, None, None);
        match entry.state {
            EntryState::Begun | EntryState::Done { .. } => {}
            EntryState::Failing { error: last, retry_at: next } => {
                (error, retry_at) = (Some(Fault::from(last)), Some(next));
            }
            EntryState::Failed { error: last } => error = Some(Fault::from(last)),
            EntryState::Waiting(Waits::Gate(id)) => gate_id = Some(id),
            EntryState::Waiting(Waits::Question(id)) => question_id = Some(id),
            EntryState::Waiting(Waits::Run(id)) => run_id = Some(id),
            EntryState::Waiting(Waits::Until(moment)) => until = Some(moment),
        }
        Self {
            key: entry.key,
            kind: entry.kind,
            state,
            attempts: entry.attempts,
            began_at: entry.began_at,
            at,
            duration_ms: is_over.then(|| millis(at.since(entry.began_at))),
            agent_id: entry.agent_id,
            result: json(result),
            error,
            retry_at,
            gate_id,
            question_id,
            run_id,
            until,
            outcome: awaited.and_then(|(_, word)| word).map(str::to_owned),
        }
    }
}

/// Which part of a journal.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JournalListParams {
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// Part of a journal.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JournalPage {
    /// In the order in which they began.
    pub entries: Vec<JournalEntry>,
    /// Where the next part begins.
    pub next: Option<String>,
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
