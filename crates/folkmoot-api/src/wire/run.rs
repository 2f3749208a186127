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

/// Starts a run. No field is required. A run without a `workflow` is executed by you.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"title": "Release 1.4.2", "input": {"version": "1.4.2"}}))]
pub struct StartRun {
    /// What executes the run. It follows from `workflow`, so you can leave it out.
    pub kind: Option<RunKind>,
    /// What the run is for, in one line.
    pub title: Option<String>,
    /// The run's session; by default a new one with the run's id.
    pub session_id: Option<SessionId>,
    /// The run's id; by default it is generated. Starting the same run again under its id returns
    /// that run.
    pub id: Option<RunId>,
    /// The workflow that executes the run, such as `publish@1`; without one, you execute it.
    pub workflow: Option<WorkflowName>,
    /// The input of the run; any JSON.
    pub input: Option<Value>,
    /// The limits at which the run fails.
    #[serde(default, deserialize_with = "object::maybe")]
    pub limits: Option<RunLimits>,
}

/// Resumes a run that is stopped, or that waits for a model provider. It has no fields.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {}

/// Ends a run that you execute.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"status": "completed", "output": {"published": true}}))]
pub struct EndRun {
    /// `completed` or `failed`.
    #[schema(schema_with = schema::end_status)]
    pub status: RunOutcome,
    /// The result of a completed run; any JSON.
    pub output: Option<Value>,
    /// The error code of a failed run; default `failed`.
    pub code: Option<String>,
    /// Why the run failed.
    pub reason: Option<String>,
}

/// Records a step of a run that you execute.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "build", "state": "done", "result": {"artifacts": 3}}))]
pub struct RecordStep {
    /// The name of the step, unique in its run and the same in every attempt.
    pub key: EntryKey,
    /// If it is unknown whether the step was done, a `step` (the default) is done again, and a
    /// `once` is not.
    #[schema(schema_with = schema::step_kind)]
    pub kind: Option<EntryKind>,
    /// `begun` asks whether to do the step; `done` and `failed` record how it ended.
    #[schema(schema_with = schema::step_state)]
    pub state: EntryStatus,
    /// The result of a step that is done; any JSON.
    pub result: Option<Value>,
    /// Why the step failed.
    #[serde(default, deserialize_with = "object::maybe")]
    pub error: Option<Fault>,
    /// The agent that does the step; by default you.
    pub agent_id: Option<Name>,
    /// The input of the step. Only its digest is kept: the same key with another input is refused.
    pub input: Option<Value>,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The error code; default `failed`.
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

/// A run: one durable execution of a workflow or of an outside agent's work.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Run {
    pub id: RunId,
    /// What executes the run.
    pub kind: RunKind,
    /// What the run is for; may be empty.
    pub title: String,
    /// The workflow that executes the run; `null` if an outside agent does.
    pub workflow: Option<WorkflowName>,
    pub session_id: SessionId,
    pub status: RunStatus,
    /// The principal that started the run.
    pub initiator: Name,
    /// The run that started this one. This one ends when that one does.
    pub parent: Option<RunId>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// The server that works on the run now.
    pub node: Option<Name>,
    /// The number of entries in the run's journal.
    pub steps: u32,
    /// The size of the results in the run's journal.
    pub journal_bytes: u64,
    /// How long Folkmoot has worked on the run. Waiting does not count.
    pub active_ms: u64,
    /// The limits at which the run fails.
    pub limits: RunLimits,
    /// The input of the run. Only in the response that shows one run.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Option<Box<RawValue>>>,
    /// What the run waits for; `null` if nothing. Absent in lists.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub waiting_at: Option<Option<WaitingAt>>,
    /// The unavailable model providers for which the run waits. It continues by itself when they
    /// are back, or at once when it is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The ids of the questions and halts that keep the run from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// If the run is `stopped`: the problem that a person must look at before it can continue.
    pub stopped: Option<Fault>,
    /// How the run ended; `null` until then.
    pub ending: Option<Ending>,
}

/// A model provider that is unreachable, limits the rate, or wants to be paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Outage {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The provider's last error.
    pub reason: String,
    /// When the provider is tried again.
    pub next_try_at: Timestamp,
}

impl Outage {
    /// The outages that a run waits for.
    pub fn all_of(run: &run::Run) -> Vec<Self> {
        run.outages()
            .iter()
            .cloned()
            .map(|run::Outage { provider, reason, retry_at }| Self { provider, reason, next_try_at: retry_at })
            .collect()
    }

    /// The outage as one line: `waiting for provider NAME, next try in 40 s: REASON`.
    pub fn line(&self, now: Timestamp) -> String {
        let left = self.next_try_at.since(now).as_secs();
        let left = if left >= 120 { format!("{} min", left / 60) } else { format!("{left} s") };
        format!("waiting for provider {}, next try in {left}: {}", self.provider, self.reason)
    }
}

/// What a run waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingAt {
    /// The pending gates.
    pub gates: Vec<GateId>,
    /// The open questions.
    pub questions: Vec<QuestionId>,
    /// The child runs that are not over.
    pub runs: Vec<RunId>,
    /// The end of its first sleep.
    pub until: Option<Timestamp>,
    /// The run's agents that are halted.
    pub held: Vec<Name>,
}

/// How a run ended.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Ending {
    pub outcome: RunOutcome,
    /// The result of a completed run. Absent in lists.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Value>)]
    pub output: Option<Option<Box<RawValue>>>,
    /// The error code of a failed run.
    pub code: String,
    /// Why the run failed, or why it was cancelled.
    pub reason: String,
    /// Who ended the run: its workflow, its agent, or the principal that cancelled it.
    pub by: Name,
    pub at: Timestamp,
}

/// Tells a field that is `null` from one that is absent: `null` becomes `Some(None)`.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Recorded JSON, exactly as it was recorded and without the limits that apply to parsed JSON.
/// `None` if the text is not JSON.
fn json(text: Option<String>) -> Option<Box<RawValue>> {
    RawValue::from_string(text?).ok()
}

impl Run {
    /// A run as lists show it, without input, output and what it waits for.
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

    /// Adds the input.
    #[must_use]
    pub fn given(self, input: Option<String>) -> Self {
        Self { input: Some(json(input)), ..self }
    }

    /// Adds the output, if the run is over.
    #[must_use]
    pub fn giving(mut self, output: Option<String>) -> Self {
        if let Some(ending) = &mut self.ending {
            ending.output = Some(json(output));
        }
        self
    }

    /// Adds what the run waits for; `null` if that is nothing.
    #[must_use]
    pub fn waiting(self, at: WaitingAt) -> Self {
        let for_nothing = at == WaitingAt::default();
        Self { waiting_at: Some(Some(at).filter(|_| !for_nothing)), ..self }
    }
}

/// Which runs to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunListParams {
    /// Only runs with this status.
    pub status: Option<RunStatus>,
    /// Only runs of this session.
    pub session: Option<SessionId>,
    /// Only runs that this run started.
    pub parent: Option<RunId>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of runs; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// Newest first.
    pub runs: Vec<Run>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// One entry of a run's journal.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JournalEntry {
    /// The name of the entry, unique in its run and the same in every attempt.
    pub key: EntryKey,
    /// What the entry records.
    pub kind: EntryKind,
    /// The state of the entry. An entry that waits becomes `done` when what it waits for is over.
    pub state: EntryStatus,
    /// The number of attempts.
    pub attempts: u32,
    /// When the first attempt began.
    pub began_at: Timestamp,
    /// When the entry reached its present state.
    pub at: Timestamp,
    /// From the first attempt to the end; `null` until then.
    pub duration_ms: Option<u64>,
    /// The agent that did the work.
    pub agent_id: Option<Name>,
    /// The result, if the entry is `done` and was not a wait.
    #[schema(value_type = Option<Value>)]
    pub result: Option<Box<RawValue>>,
    /// The last error, if an attempt failed.
    pub error: Option<Fault>,
    /// When the next attempt is due.
    pub retry_at: Option<Timestamp>,
    /// The gate at which the run waits or waited.
    pub gate_id: Option<GateId>,
    /// The question that the run asked.
    pub question_id: Option<QuestionId>,
    /// The run that this entry started.
    pub run_id: Option<RunId>,
    /// The end of the sleep.
    pub until: Option<Timestamp>,
    /// The status in which that gate, question or run ended.
    pub outcome: Option<String>,
}

impl JournalEntry {
    /// An entry with its result. If what it waits for has ended, `awaited` has the time of that end
    /// and the final status.
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

/// Which page of a journal to return.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JournalListParams {
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of entries; default 100.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of a journal.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JournalPage {
    /// In the order in which the entries began.
    pub entries: Vec<JournalEntry>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
