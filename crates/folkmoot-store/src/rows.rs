//! Converts core's types to columns and back, in the same way for both databases.

pub(crate) mod records;

use std::{borrow::Cow, sync::OnceLock};

use folkmoot_core::{
    Artifact, Command, Deadline, Delivery, Digest, Event, Fact, Gate, Halt, Name, Outcome, Principal, Question, Run,
    RunId, Scope, Subject, Timeout, Timer, Timestamp, Webhook, WorkflowName,
    audit::AuditedRow,
    delivery::{DeliveryState, DeliveryStatus},
    erase::ContentStatus,
    gate::{Content, GateState, Reminders, Risk},
    halt::Lift,
    journal::Entry,
    question::{Priority, QuestionState},
    quota,
    run::{self, RunStart, RunState},
    token::Token,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, GateView, JournalLine, QuestionView};

/// The value of one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    MaybeText(Option<Cow<'a, str>>),
    Int(i64),
    MaybeInt(Option<i64>),
    Bytes(Cow<'a, [u8]>),
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Int,
    Bytes,
}

/// A table that commands write, and what happens if a row exists already.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, Type)],
    pub conflict: Conflict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// The row must not exist.
    Fails,
    /// The existing row stays as it is.
    Keeps,
    /// This clause, at the end of the statement, says what happens.
    Does(&'static str),
    /// The existing row is replaced, except for the key and the columns in `but`. Those never
    /// change, so that indexes over them need not be written again.
    Replaces { key: &'static [&'static str], but: &'static [&'static str] },
}

use Type::{Bytes, Int, Text};

pub(crate) const GATES: Table = Table {
    name: "gates",
    conflict: Conflict::Replaces {
        key: &["id"],
        but: &["run_id", "session_id", "requested_by", "initiator", "requested_at", "dedupe_key"],
    },
    columns: &[
        ("id", Text),
        ("run_id", Text),
        ("session_id", Text),
        ("title", Text),
        ("summary_digest", Text),
        ("phase", Text),
        ("kind", Text),
        ("risk", Text),
        ("urgency", Int),
        ("artifacts", Text),
        ("allowed", Text),
        ("on_timeout", Text),
        ("reviewers", Text),
        ("quorum", Int),
        ("type", Text),
        ("mode", Text),
        ("why", Text),
        ("requested_by", Text),
        ("on_behalf_of", Text),
        ("initiator", Text),
        ("self_review", Text),
        ("requested_at", Int),
        ("timeout_ms", Int),
        ("deadline", Int),
        ("escalated", Int),
        ("reject_quorum", Int),
        ("dedupe_key", Text),
        ("notification_channels", Text),
        ("revision", Int),
        ("digest", Text),
        ("seq", Int),
        ("status", Text),
        ("votes", Text),
        ("decision", Text),
        ("reminders", Text),
        ("content_bytes", Int),
        ("presence", Text),
        ("stopped_at", Int),
    ],
};

pub(crate) const EVENTS: Table = Table {
    name: "events",
    conflict: Conflict::Fails,
    columns: &[
        ("position", Int),
        ("stream", Text),
        ("stream_seq", Int),
        ("type", Text),
        ("version", Int),
        ("actor", Text),
        ("on_behalf_of", Text),
        ("session", Text),
        ("command_id", Text),
        ("at", Int),
        ("payload", Text),
        ("prev_hash", Text),
        ("hash", Text),
        ("token_id", Text),
    ],
};

pub(crate) const ARTIFACTS: Table = Table {
    name: "artifacts",
    conflict: Conflict::Does(SENT_AGAIN),
    columns: &[("digest", Text), ("content", Bytes), ("used_at", Int)],
};

/// Content that is sent again after it was erased is stored again: gates and questions that send
/// barred content are refused before this. Otherwise only the time of use is written, at most once
/// a day, because the database writes the whole row, however long the content is.
const SENT_AGAIN: &str = " ON CONFLICT (digest) DO UPDATE SET used_at = excluded.used_at,
    content = coalesce(artifacts.content, excluded.content)
    WHERE artifacts.content IS NULL OR excluded.used_at >= artifacts.used_at + 86400000000";
const _: () = assert!(folkmoot_core::erase::USED_AT_STEP.as_micros() == 86_400_000_000);

pub(crate) const SESSIONS: Table =
    Table { name: "sessions", conflict: Conflict::Keeps, columns: &[("id", Text), ("created_at", Int)] };

pub(crate) const RUNS: Table = Table {
    name: "runs",
    conflict: Conflict::Replaces {
        key: &["id"],
        but: &[
            "kind",
            "session_id",
            "initiator",
            "started_at",
            "title",
            "workflow",
            "role",
            "parent",
            "input",
            "limits",
        ],
    },
    columns: &[
        ("id", Text),
        ("kind", Text),
        ("session_id", Text),
        ("initiator", Text),
        ("started_at", Int),
        ("title", Text),
        ("workflow", Text),
        ("role", Text),
        ("parent", Text),
        ("input", Text),
        ("limits", Text),
        ("status", Text),
        ("state", Text),
        ("node", Text),
        ("parked_wakes", Int),
        ("held", Text),
        ("epoch", Int),
        ("steps", Int),
        ("begun", Int),
        ("journal_bytes", Int),
        ("active_micros", Int),
        ("moved_at", Int),
        ("seq", Int),
        ("resumed_at", Int),
    ],
};

pub(crate) const JOURNAL: Table = Table {
    name: "journal",
    conflict: Conflict::Replaces { key: &["run_id", "key"], but: &["kind", "ordinal", "began_at"] },
    columns: &[
        ("run_id", Text),
        ("key", Text),
        ("kind", Text),
        ("ordinal", Int),
        ("input", Text),
        ("agent_id", Text),
        ("state", Text),
        ("result", Text),
        ("attempts", Int),
        ("began_at", Int),
        ("at", Int),
    ],
};

pub(crate) const NODES: Table = Table {
    name: "nodes",
    conflict: Conflict::Replaces { key: &["node"], but: &[] },
    columns: &[("node", Text), ("alive_until", Int)],
};

pub(crate) const QUESTIONS: Table = Table {
    name: "questions",
    conflict: Conflict::Replaces {
        key: &["id"],
        but: &[
            "agent_id",
            "run_id",
            "session_id",
            "type",
            "text_digest",
            "options",
            "default_answer",
            "halts",
            "priority",
            "urgency",
            "asked_by",
            "initiator",
            "asked_at",
            "timeout_ms",
        ],
    },
    columns: &[
        ("id", Text),
        ("agent_id", Text),
        ("session_id", Text),
        ("type", Text),
        ("text_digest", Text),
        ("options", Text),
        ("default_answer", Text),
        ("halts", Text),
        ("holds", Text),
        ("priority", Text),
        ("urgency", Int),
        ("asked_by", Text),
        ("asked_at", Int),
        ("timeout_ms", Int),
        ("due", Int),
        ("reminders", Int),
        ("seq", Int),
        ("status", Text),
        ("closure", Text),
        ("run_id", Text),
        ("initiator", Text),
    ],
};

pub(crate) const HALTS: Table = Table {
    name: "halts",
    conflict: Conflict::Replaces {
        key: &["id"],
        but: &["scope", "agent_id", "session_id", "reason", "raised_by", "raised_at"],
    },
    columns: &[
        ("id", Text),
        ("scope", Text),
        ("agent_id", Text),
        ("session_id", Text),
        ("reason", Text),
        ("raised_by", Text),
        ("raised_at", Int),
        ("seq", Int),
        ("lifted_by", Text),
        ("lifted_at", Int),
    ],
};

pub(crate) const TIMERS: Table = Table {
    name: "timers",
    conflict: Conflict::Replaces { key: &["subject"], but: &["kind"] },
    columns: &[("subject", Text), ("kind", Text), ("due", Int)],
};

pub(crate) const OUTBOX: Table = Table {
    name: "outbox",
    conflict: Conflict::Replaces { key: &["id"], but: &["channel", "subject", "type", "position", "created_at"] },
    columns: &[
        ("id", Text),
        ("channel", Text),
        ("subject", Text),
        ("type", Text),
        ("position", Int),
        ("created_at", Int),
        ("attempts", Int),
        ("epoch", Int),
        ("last_error", Text),
        ("seq", Int),
        ("status", Text),
        ("due", Int),
        ("ended_at", Int),
    ],
};

pub(crate) const WEBHOOKS: Table = Table {
    name: "webhooks",
    conflict: Conflict::Replaces { key: &["id"], but: &["name", "created_at", "created_by"] },
    columns: &[
        ("id", Text),
        ("name", Text),
        ("url", Text),
        ("events", Text),
        ("generation", Int),
        ("created_at", Int),
        ("created_by", Text),
        ("disabled", Int),
        ("removed_at", Int),
        ("seq", Int),
        ("key_id", Text),
        ("previous_until", Int),
    ],
};

/// Deletes at most `?2` deliveries that were delivered before `?1`.
pub(crate) const FORGET_DELIVERIES: &str = "DELETE FROM outbox WHERE id IN
    (SELECT id FROM outbox WHERE status = 'delivered' AND created_at < ?1 AND ended_at < ?1 ORDER BY created_at, id LIMIT ?2)";

pub(crate) const PRINCIPALS: Table =
    Table { name: "principals", conflict: Conflict::Keeps, columns: &[("name", Text), ("role", Text)] };

pub(crate) const TOKENS: Table = Table {
    name: "tokens",
    conflict: Conflict::Fails,
    columns: &[
        ("id", Text),
        ("name", Text),
        ("role", Text),
        ("created_at", Int),
        ("created_by", Text),
        ("revoked_at", Int),
        ("hash", Text),
        ("capabilities", Text),
        ("kind", Text),
    ],
};

pub(crate) const IDEMPOTENCY: Table = Table {
    name: "idempotency",
    conflict: Conflict::Fails,
    columns: &[
        ("principal", Text),
        ("route", Text),
        ("key", Text),
        ("fingerprint", Text),
        ("outcome", Text),
        ("created_at", Int),
    ],
};

/// Every table that commands write.
pub(crate) const WRITTEN: [Table; 16] = [
    GATES,
    EVENTS,
    ARTIFACTS,
    SESSIONS,
    RUNS,
    JOURNAL,
    records::TABLE,
    NODES,
    QUESTIONS,
    HALTS,
    TIMERS,
    OUTBOX,
    WEBHOOKS,
    PRINCIPALS,
    TOKENS,
    IDEMPOTENCY,
];

/// Reads a row that is the fold of a stream.
type ReadFolded = fn(&dyn Columns) -> Result<AuditedRow, Error>;

/// Every table whose rows are folds of streams.
pub(crate) const FOLDED: [(&Table, ReadFolded); 4] = [
    (&GATES, |row| Ok(AuditedRow::Gate(Box::new(read_gate(row)?)))),
    (&QUESTIONS, |row| Ok(AuditedRow::Question(Box::new(read_question(row)?)))),
    (&HALTS, |row| Ok(AuditedRow::Halt(Box::new(read_halt(row)?)))),
    (&RUNS, |row| Ok(AuditedRow::Run(Box::new(read_run(row)?), Vec::new(), Vec::new()))),
];

impl Table {
    /// The names of the columns, separated by commas.
    pub(crate) fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// The end of the statement, which says what happens if the row exists.
    pub(crate) fn on_conflict(&self) -> String {
        match self.conflict {
            Conflict::Fails => String::new(),
            Conflict::Keeps => " ON CONFLICT DO NOTHING".to_owned(),
            Conflict::Does(what) => what.to_owned(),
            Conflict::Replaces { key, but } => {
                let changing = self.columns.iter().filter(|(name, _)| !key.contains(name) && !but.contains(name));
                let sets: Vec<_> = changing.map(|(name, _)| format!("{name} = excluded.{name}")).collect();
                format!(" ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), sets.join(", "))
            }
        }
    }
}

/// A row that one of the databases returned.
pub(crate) trait Columns {
    fn maybe_text(&self, n: usize) -> Result<Option<String>, Error>;
    fn maybe_int(&self, n: usize) -> Result<Option<i64>, Error>;
    fn maybe_bytes(&self, n: usize) -> Result<Option<Vec<u8>>, Error>;

    fn text(&self, n: usize) -> Result<String, Error> {
        self.maybe_text(n)?.ok_or_else(|| Error::Unreadable(format!("column {n} is empty")))
    }
    fn int(&self, n: usize) -> Result<i64, Error> {
        self.maybe_int(n)?.ok_or_else(|| Error::Unreadable(format!("column {n} is empty")))
    }
}

/// The urgency of a gate; 0 is listed first.
pub(crate) fn urgency(risk: Risk) -> i64 {
    match risk {
        Risk::Critical => 0,
        Risk::High => 1,
        Risk::Medium => 2,
        Risk::Low => 3,
    }
}

/// The urgency of a question; 0 is listed first.
pub(crate) fn question_urgency(priority: Priority) -> i64 {
    match priority {
        Priority::Critical => 0,
        Priority::High => 1,
        Priority::Medium => 2,
        Priority::Low => 3,
    }
}

/// The length to which a brief list cuts texts.
const BRIEF_BYTES: usize = 400;

/// Selects gates with the text of their summaries, for [`read_view`]. If `brief`, only the
/// beginning of each text.
pub(crate) fn select_gates(brief: bool) -> String {
    format!("SELECT {}, {} FROM gates", GATES.names(), select_text("summary_digest", brief))
}

/// The expression for the text with this digest; null if it was erased.
fn select_text(digest: &str, brief: bool) -> String {
    let content = if brief { format!("substr(content, 1, {BRIEF_BYTES})") } else { "content".to_owned() };
    format!("(SELECT {content} FROM artifacts WHERE artifacts.digest = {digest} AND barred = 0)")
}

pub(crate) fn gate(gate: &Gate) -> Vec<Value<'_>> {
    let Gate { content, .. } = gate;
    let (votes, decision) = match &gate.state {
        GateState::Pending { votes } => (json(votes), None),
        GateState::Closed(decision) => (Value::Text("[]".into()), Some(json_text(decision).into())),
    };
    vec![
        text(gate.id.as_str()),
        maybe(gate.run_id.as_ref().map(|id| id.as_str())),
        maybe(gate.session_id.as_ref().map(|id| id.as_str())),
        text(&content.title),
        Value::Text(content.summary.to_string().into()),
        text(content.phase.as_str()),
        text(content.kind.word()),
        text(content.risk.word()),
        Value::Int(urgency(content.risk)),
        json(&content.artifacts),
        json(&content.allowed),
        text(content.on_timeout.word()),
        json(&content.reviewers),
        Value::Int(content.quorum.into()),
        text(gate.gate_type.word()),
        text(gate.mode.word()),
        text(&gate.why),
        text(gate.requested_by.as_str()),
        maybe(gate.on_behalf_of.as_ref().map(Name::as_str)),
        maybe(gate.initiator.as_ref().map(Name::as_str)),
        text(gate.self_review.word()),
        Value::Int(gate.requested_at.as_micros()),
        Value::Int(timeout_ms(gate.timeout)),
        Value::Int(gate.deadline.as_micros()),
        Value::Int(gate.escalated.into()),
        Value::Int(gate.reject_quorum.into()),
        maybe(gate.dedupe_key.as_deref()),
        json(&gate.notification_channels),
        Value::Int(gate.revision.into()),
        Value::Text(gate.digest.to_string().into()),
        Value::Int(int(gate.seq)),
        text(gate.status().word()),
        votes,
        Value::MaybeText(decision),
        Value::MaybeText((!gate.reminders.is_empty()).then(|| json_text(&gate.reminders).into())),
        Value::Int(int(quota::bytes_of(gate))),
        maybe(gate.presence.map(|presence| presence.word())),
        Value::MaybeInt(gate.stopped_at().map(Timestamp::as_micros)),
    ]
}

pub(crate) fn read_gate(row: &dyn Columns) -> Result<Gate, Error> {
    let risk: Risk = parse(&row.text(7)?)?;
    let gate = Gate {
        id: parse(&row.text(0)?)?,
        run_id: parse_maybe(row.maybe_text(1)?)?,
        session_id: parse_maybe(row.maybe_text(2)?)?,
        content: Content {
            title: row.text(3)?,
            summary: parse(&row.text(4)?)?,
            phase: parse(&row.text(5)?)?,
            kind: parse(&row.text(6)?)?,
            risk,
            artifacts: from_json(&row.text(9)?)?,
            allowed: from_json(&row.text(10)?)?,
            on_timeout: parse(&row.text(11)?)?,
            reviewers: from_json(&row.text(12)?)?,
            quorum: small(row.int(13)?)?,
        },
        gate_type: parse(&row.text(14)?)?,
        mode: parse(&row.text(15)?)?,
        why: row.text(16)?,
        requested_by: parse(&row.text(17)?)?,
        on_behalf_of: parse_maybe(row.maybe_text(18)?)?,
        initiator: parse_maybe(row.maybe_text(19)?)?,
        self_review: parse(&row.text(20)?)?,
        requested_at: Timestamp::from_micros(row.int(21)?),
        timeout: read_timeout(row.int(22)?),
        deadline: Deadline::from_micros(row.int(23)?),
        escalated: row.int(24)? != 0,
        reject_quorum: small(row.int(25)?)?,
        dedupe_key: row.maybe_text(26)?,
        notification_channels: from_json(&row.text(27)?)?,
        reminders: row.maybe_text(34)?.map_or_else(|| Ok(Reminders::default()), |text| from_json(&text))?,
        presence: parse_maybe(row.maybe_text(36)?)?,
        revision: small(row.int(28)?)?,
        digest: parse(&row.text(29)?)?,
        seq: position(row.int(30)?)?,
        state: match row.maybe_text(33)? {
            Some(decision) => GateState::Closed(from_json(&decision)?),
            None => GateState::Pending { votes: from_json(&row.text(32)?)? },
        },
    };
    // Two columns repeat others for the sake of indexes. If they differ, somebody else has written
    // the row.
    let status = row.text(31)?;
    if status != gate.status().word() || row.int(8)? != urgency(risk) {
        return Err(Error::Unreadable(format!("gate {}: status {status:?} or urgency contradicts the rest", gate.id)));
    }
    Ok(gate)
}

pub(crate) fn read_view(row: &dyn Columns) -> Result<GateView, Error> {
    Ok(GateView { gate: read_gate(row)?, summary: read_text(row.maybe_bytes(GATES.columns.len())?)? })
}

fn read_text(bytes: Option<Vec<u8>>) -> Result<Option<String>, Error> {
    let Some(mut bytes) = bytes else { return Ok(None) };
    // The cut of a brief text may be inside a character.
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).map(Some).map_err(|error| Error::Unreadable(error.to_string()))
}

pub(crate) fn event(event: &Event) -> Vec<Value<'_>> {
    let fact = &event.fact;
    vec![
        Value::Int(int(event.position)),
        text(&fact.stream),
        Value::Int(int(fact.stream_seq)),
        text(&fact.kind),
        Value::Int(fact.version.into()),
        text(fact.actor.as_str()),
        maybe(fact.on_behalf_of.as_ref().map(Name::as_str)),
        maybe(fact.session.as_ref().map(|session| session.as_str())),
        text(fact.command_id.as_str()),
        Value::Int(fact.at.as_micros()),
        text(&fact.payload),
        Value::Text(event.prev_hash.to_string().into()),
        Value::Text(event.hash.to_string().into()),
        maybe(fact.token_id.as_ref().map(|token| token.as_str())),
    ]
}

pub(crate) fn read_event(row: &dyn Columns) -> Result<Event, Error> {
    Ok(Event {
        position: position(row.int(0)?)?,
        fact: Fact {
            stream: row.text(1)?.into(),
            stream_seq: position(row.int(2)?)?,
            kind: Cow::Owned(row.text(3)?),
            version: small(row.int(4)?)?,
            actor: parse(&row.text(5)?)?,
            on_behalf_of: parse_maybe(row.maybe_text(6)?)?,
            session: parse_maybe(row.maybe_text(7)?)?,
            command_id: parse(&row.text(8)?)?,
            at: Timestamp::from_micros(row.int(9)?),
            payload: row.text(10)?,
            token_id: parse_maybe(row.maybe_text(13)?)?,
        },
        prev_hash: parse(&row.text(11)?)?,
        hash: parse(&row.text(12)?)?,
    })
}

pub(crate) fn artifact(artifact: &Artifact, now: Timestamp) -> Vec<Value<'_>> {
    vec![
        Value::Text(artifact.digest.to_string().into()),
        Value::Bytes(artifact.content.as_slice().into()),
        Value::Int(now.as_micros()),
    ]
}

/// Selects the status of contents, for [`read_content_status`].
pub(crate) const SELECT_CONTENT_STATUS: &str = "SELECT digest, CAST(CASE WHEN content IS NULL THEN 0 ELSE 1 END AS BIGINT), erasures, barred, used_at FROM artifacts";

pub(crate) fn read_content_status(row: &dyn Columns) -> Result<ContentStatus, Error> {
    Ok(ContentStatus {
        digest: parse(&row.text(0)?)?,
        present: row.int(1)? != 0,
        erasures: position(row.int(2)?)?,
        barred: row.int(3)? != 0,
        used_at: Timestamp::from_micros(row.int(4)?),
    })
}

/// Selects the gates by which the next step of a run is judged: all pending ones, the last decided
/// gate of each way to stop a run or to ask for a change, and the last one that people approved.
/// Each part has its own index, because an agent can open and withdraw any number of gates.
pub(crate) fn select_gates_of(run: &str) -> String {
    let select = format!("SELECT {} FROM gates WHERE run_id = {run} AND", GATES.names());
    let last = |such: String, by: &str| format!("SELECT * FROM ({select} {such} ORDER BY {by} DESC LIMIT 1) AS last");
    let stopping = ["rejected", "timed_out", "cancelled", "adjust_requested"]
        .map(|status| last(format!("status = '{status}' AND stopped_at IS NOT NULL"), "stopped_at"))
        .join(" UNION ALL ");
    let approved = last("status = 'approved' AND type = 'human'".to_owned(), "requested_at");
    format!("{select} status = 'pending' UNION ALL {stopping} UNION ALL {approved}")
}

/// Selects runs, each with its wake-ups, how long its node is considered alive, and whether its
/// parent is over, for [`read_run`] and [`read_run_with_extras`].
pub(crate) fn select_runs() -> &'static str {
    static SQL: OnceLock<String> = OnceLock::new();
    SQL.get_or_init(|| {
        let names = RUNS.names();
        format!(
            "SELECT {names}, wakes, (SELECT alive_until FROM nodes WHERE nodes.node = runs.node),
             (SELECT count(*) FROM runs AS parents WHERE parents.id = runs.parent
              AND parents.status IN ('completed', 'failed', 'cancelled')) FROM runs"
        )
    })
}

pub(crate) fn run(run: &Run) -> Vec<Value<'_>> {
    let start = &run.start;
    vec![
        text(start.id.as_str()),
        text(start.kind.word()),
        text(start.session_id.as_str()),
        text(start.initiator.as_str()),
        Value::Int(start.started_at.as_micros()),
        text(&start.title),
        maybe(start.workflow.as_ref().map(WorkflowName::as_str)),
        text(start.role.word()),
        maybe(start.parent.as_ref().map(RunId::as_str)),
        Value::MaybeText(start.input.map(|input| input.to_string().into())),
        json(&start.limits),
        text(run.status().word()),
        json(&run.state),
        maybe(node_of(run)),
        Value::MaybeInt(parked_wakes(run)),
        maybe(parked(run).and_then(held)),
        Value::Int(int(run.epoch)),
        Value::Int(run.steps.into()),
        Value::Int(run.begun.into()),
        Value::Int(int(run.journal_bytes)),
        Value::Int(int(run.active_micros)),
        Value::Int(run.moved_at.as_micros()),
        Value::Int(int(run.seq)),
        Value::MaybeInt(run.resumed_at.map(Timestamp::as_micros)),
    ]
}

fn node_of(run: &Run) -> Option<&str> {
    match &run.state {
        RunState::Running { node, .. } => Some(node.as_str()),
        _ => None,
    }
}

fn parked(run: &Run) -> Option<&run::Parked> {
    match &run.state {
        RunState::Parked(parked) => Some(parked),
        _ => None,
    }
}

/// The number of wake-ups that a parked run has had; it waits for one more. -1 for a new run, which
/// waits for none.
fn parked_wakes(run: &Run) -> Option<i64> {
    match &run.state {
        RunState::Pending => Some(-1),
        _ => parked(run).map(|parked| int(parked.wakes)),
    }
}

/// The agent that waits for clearance; `*` if there are several, which the state names.
fn held(parked: &run::Parked) -> Option<&str> {
    match parked.held.as_slice() {
        [] => None,
        [agent] => Some(agent.as_str()),
        [_, _, ..] => Some("*"),
    }
}

pub(crate) fn read_run(row: &dyn Columns) -> Result<Run, Error> {
    let run = Run {
        start: RunStart {
            id: parse(&row.text(0)?)?,
            kind: parse(&row.text(1)?)?,
            session_id: parse(&row.text(2)?)?,
            initiator: parse(&row.text(3)?)?,
            started_at: Timestamp::from_micros(row.int(4)?),
            title: row.text(5)?,
            workflow: parse_maybe(row.maybe_text(6)?)?,
            role: parse(&row.text(7)?)?,
            parent: parse_maybe(row.maybe_text(8)?)?,
            input: parse_maybe(row.maybe_text(9)?)?,
            limits: from_json(&row.text(10)?)?,
        },
        state: from_json(&row.text(12)?)?,
        epoch: position(row.int(16)?)?,
        steps: small(row.int(17)?)?,
        begun: small(row.int(18)?)?,
        journal_bytes: position(row.int(19)?)?,
        active_micros: position(row.int(20)?)?,
        moved_at: Timestamp::from_micros(row.int(21)?),
        seq: position(row.int(22)?)?,
        resumed_at: row.maybe_int(23)?.map(Timestamp::from_micros),
    };
    // Four columns repeat others for the sake of indexes. If they differ, somebody else has written
    // the row.
    let agrees = row.text(11)? == run.status().word()
        && row.maybe_text(13)?.as_deref() == node_of(&run)
        && row.maybe_int(14)? == parked_wakes(&run)
        && row.maybe_text(15)?.as_deref() == parked(&run).and_then(held);
    if !agrees {
        return Err(Error::Unreadable(format!("run {}: status, node or wait contradicts its state", run.start.id)));
    }
    Ok(run)
}

/// Data that is read together with a run but is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunExtras {
    pub wakes: u64,
    pub alive_until: Option<Timestamp>,
    pub parent_over: bool,
}

pub(crate) fn read_run_with_extras(row: &dyn Columns) -> Result<(Run, RunExtras), Error> {
    let after = RUNS.columns.len();
    let extras = RunExtras {
        wakes: position(row.int(after)?)?,
        alive_until: row.maybe_int(after + 1)?.map(Timestamp::from_micros),
        parent_over: row.int(after + 2)? > 0,
    };
    Ok((read_run(row)?, extras))
}

pub(crate) fn entry<'a>(run: &'a RunId, entry: &'a Entry) -> Vec<Value<'a>> {
    vec![
        text(run.as_str()),
        text(entry.key.as_str()),
        text(entry.kind.word()),
        Value::Int(entry.ordinal.into()),
        Value::MaybeText(entry.input.map(|input| input.to_string().into())),
        maybe(entry.agent_id.as_ref().map(Name::as_str)),
        json(&entry.state),
        Value::MaybeText(entry.result().map(|result| result.to_string().into())),
        Value::Int(entry.attempts.into()),
        Value::Int(entry.began_at.as_micros()),
        Value::Int(entry.at.as_micros()),
    ]
}

pub(crate) fn read_entry(row: &dyn Columns) -> Result<Entry, Error> {
    let entry = Entry {
        key: parse(&row.text(1)?)?,
        kind: parse(&row.text(2)?)?,
        ordinal: small(row.int(3)?)?,
        input: parse_maybe(row.maybe_text(4)?)?,
        agent_id: parse_maybe(row.maybe_text(5)?)?,
        state: from_json(&row.text(6)?)?,
        attempts: small(row.int(8)?)?,
        began_at: Timestamp::from_micros(row.int(9)?),
        at: Timestamp::from_micros(row.int(10)?),
    };
    if row.maybe_text(7)? != entry.result().map(|result| result.to_string()) {
        return Err(Error::Unreadable(format!("step {}: its result contradicts its state", entry.key)));
    }
    Ok(entry)
}

/// Selects entries of a journal, with or without their results, for [`read_line`].
pub(crate) fn select_journal(results: bool) -> &'static str {
    static SQL: OnceLock<[String; 2]> = OnceLock::new();
    let [without, with] = SQL.get_or_init(|| {
        ["AND 1 = 0", ""].map(|none| {
            let names = JOURNAL.names();
            format!(
                "SELECT {names}, (SELECT content FROM artifacts WHERE artifacts.digest = result {none}) FROM journal"
            )
        })
    });
    if results { with } else { without }
}

pub(crate) fn read_line(row: &dyn Columns) -> Result<JournalLine, Error> {
    Ok(JournalLine { entry: read_entry(row)?, result: read_text(row.maybe_bytes(JOURNAL.columns.len())?)? })
}

pub(crate) fn node(node: &Name, until: Timestamp) -> Vec<Value<'_>> {
    vec![text(node.as_str()), Value::Int(until.as_micros())]
}

/// Selects questions with their texts, for [`read_question_view`]. If `brief`, only the beginning
/// of each text.
pub(crate) fn select_questions(brief: bool) -> String {
    format!("SELECT {}, {} FROM questions", QUESTIONS.names(), select_text("text_digest", brief))
}

pub(crate) fn question(question: &Question) -> Vec<Value<'_>> {
    vec![
        text(question.id.as_str()),
        text(question.agent_id.as_str()),
        maybe(question.session_id.as_ref().map(|id| id.as_str())),
        text(question.question_type.word()),
        Value::Text(question.text.to_string().into()),
        json(&question.options),
        Value::MaybeText(question.default.as_ref().map(|default| json_text(default).into())),
        maybe(question.halts.map(Scope::word)),
        maybe(question.hold().map(|hold| hold.scope.word())),
        text(question.priority.word()),
        Value::Int(question_urgency(question.priority)),
        text(question.asked_by.as_str()),
        Value::Int(question.asked_at.as_micros()),
        Value::Int(timeout_ms(question.timeout)),
        Value::Int(question.due.as_micros()),
        Value::Int(question.reminders.into()),
        Value::Int(int(question.seq)),
        text(question.status().word()),
        Value::MaybeText(question.closure().map(|closure| json_text(closure).into())),
        maybe(question.run_id.as_ref().map(RunId::as_str)),
        maybe(question.initiator.as_ref().map(Name::as_str)),
    ]
}

pub(crate) fn read_question(row: &dyn Columns) -> Result<Question, Error> {
    let question = Question {
        id: parse(&row.text(0)?)?,
        agent_id: parse(&row.text(1)?)?,
        run_id: parse_maybe(row.maybe_text(19)?)?,
        session_id: parse_maybe(row.maybe_text(2)?)?,
        question_type: parse(&row.text(3)?)?,
        text: parse(&row.text(4)?)?,
        options: from_json(&row.text(5)?)?,
        default: row.maybe_text(6)?.map(|text| from_json(&text)).transpose()?,
        halts: parse_maybe(row.maybe_text(7)?)?,
        priority: parse(&row.text(9)?)?,
        asked_by: parse(&row.text(11)?)?,
        initiator: parse_maybe(row.maybe_text(20)?)?,
        asked_at: Timestamp::from_micros(row.int(12)?),
        timeout: read_timeout(row.int(13)?),
        due: Deadline::from_micros(row.int(14)?),
        reminders: small(row.int(15)?)?,
        seq: position(row.int(16)?)?,
        state: match row.maybe_text(18)? {
            Some(closure) => QuestionState::Closed(from_json(&closure)?),
            None => QuestionState::Pending,
        },
    };
    // Three columns repeat others for the sake of indexes. If they differ, somebody else has
    // written the row.
    let holds = question.hold().map(|hold| hold.scope.word());
    let agrees = row.text(17)? == question.status().word()
        && row.maybe_text(8)?.as_deref() == holds
        && row.int(10)? == question_urgency(question.priority);
    if !agrees {
        return Err(Error::Unreadable(format!("question {}: status, holds or urgency contradicts", question.id)));
    }
    Ok(question)
}

pub(crate) fn read_question_view(row: &dyn Columns) -> Result<QuestionView, Error> {
    Ok(QuestionView { question: read_question(row)?, text: read_text(row.maybe_bytes(QUESTIONS.columns.len())?)? })
}

pub(crate) fn halt(halt: &Halt) -> Vec<Value<'_>> {
    vec![
        text(halt.id.as_str()),
        text(halt.scope.word()),
        maybe(halt.agent_id.as_ref().map(Name::as_str)),
        maybe(halt.session_id.as_ref().map(|id| id.as_str())),
        text(&halt.reason),
        text(halt.raised_by.as_str()),
        Value::Int(halt.raised_at.as_micros()),
        Value::Int(int(halt.seq)),
        maybe(halt.lifted.as_ref().map(|lifting| lifting.by.as_str())),
        Value::MaybeInt(halt.lifted.as_ref().map(|lifting| lifting.at.as_micros())),
    ]
}

pub(crate) fn read_halt(row: &dyn Columns) -> Result<Halt, Error> {
    let lifted = match (row.maybe_text(8)?, row.maybe_int(9)?) {
        (Some(by), Some(at)) => Some(Lift { by: parse(&by)?, at: Timestamp::from_micros(at) }),
        (None, None) => None,
        _ => return Err(Error::Unreadable("a halt was lifted by nobody, or at no time".to_owned())),
    };
    Ok(Halt {
        id: parse(&row.text(0)?)?,
        scope: parse(&row.text(1)?)?,
        agent_id: parse_maybe(row.maybe_text(2)?)?,
        session_id: parse_maybe(row.maybe_text(3)?)?,
        reason: row.text(4)?,
        raised_by: parse(&row.text(5)?)?,
        raised_at: Timestamp::from_micros(row.int(6)?),
        seq: position(row.int(7)?)?,
        lifted,
    })
}

pub(crate) fn session(id: &folkmoot_core::SessionId, at: Timestamp) -> Vec<Value<'_>> {
    vec![text(id.as_str()), Value::Int(at.as_micros())]
}

pub(crate) fn timer(timer: &Timer) -> Vec<Value<'_>> {
    let kind = match &timer.subject {
        Subject::Gate(_) => "gate",
        Subject::Question(_) => "question",
        Subject::Run(_) => "run",
    };
    vec![Value::Text(timer.subject.key()), text(kind), Value::Int(timer.due.as_micros())]
}

pub(crate) fn read_timer(row: &dyn Columns) -> Result<Timer, Error> {
    let subject = match row.text(1)?.as_str() {
        "gate" => Subject::Gate(parse(&row.text(0)?)?),
        "question" => Subject::Question(parse(&row.text(0)?)?),
        "run" => Subject::Run(parse(row.text(0)?.strip_prefix("run:").unwrap_or_default())?),
        other => return Err(Error::Unreadable(format!("{other:?} has no timers"))),
    };
    Ok(Timer { subject, due: Timestamp::from_micros(row.int(2)?) })
}

/// Selects deliveries, for [`read_delivery`].
pub(crate) fn select_deliveries() -> &'static str {
    static SQL: OnceLock<String> = OnceLock::new();
    SQL.get_or_init(|| format!("SELECT {} FROM outbox", OUTBOX.names()))
}

pub(crate) fn delivery(delivery: &Delivery) -> Vec<Value<'_>> {
    vec![
        text(delivery.id.as_str()),
        text(&delivery.channel),
        text(&delivery.subject),
        text(&delivery.kind),
        Value::Int(int(delivery.position)),
        Value::Int(delivery.created_at.as_micros()),
        Value::Int(delivery.attempts.into()),
        Value::Int(int(delivery.epoch)),
        maybe(delivery.last_error.as_deref()),
        Value::Int(int(delivery.seq)),
        text(delivery.status().word()),
        Value::MaybeInt(delivery.due().map(Timestamp::as_micros)),
        Value::MaybeInt(delivery.ended_at().map(Timestamp::as_micros)),
    ]
}

pub(crate) fn read_delivery(row: &dyn Columns) -> Result<Delivery, Error> {
    let status: DeliveryStatus = parse(&row.text(10)?)?;
    let moment = |n| row.int(n).map(Timestamp::from_micros);
    Ok(Delivery {
        id: parse(&row.text(0)?)?,
        channel: row.text(1)?,
        subject: row.text(2)?,
        kind: row.text(3)?,
        position: position(row.int(4)?)?,
        created_at: Timestamp::from_micros(row.int(5)?),
        attempts: small(row.int(6)?)?,
        epoch: position(row.int(7)?)?,
        last_error: row.maybe_text(8)?,
        seq: position(row.int(9)?)?,
        state: match status {
            DeliveryStatus::Waiting => DeliveryState::Waiting { due: moment(11)? },
            DeliveryStatus::Sending => DeliveryState::Sending { until: moment(11)? },
            DeliveryStatus::Delivered => DeliveryState::Delivered { at: moment(12)? },
            DeliveryStatus::Dead => DeliveryState::Dead { at: moment(12)? },
        },
    })
}

pub(crate) fn webhook(webhook: &Webhook) -> Vec<Value<'_>> {
    vec![
        text(webhook.id.as_str()),
        text(webhook.name.as_str()),
        text(&webhook.url),
        json(&webhook.events),
        Value::Int(int(webhook.generation)),
        Value::Int(webhook.created_at.as_micros()),
        text(webhook.created_by.as_str()),
        Value::Int(webhook.disabled.into()),
        Value::MaybeInt(webhook.removed_at.map(Timestamp::as_micros)),
        Value::Int(int(webhook.seq)),
        Value::MaybeText(webhook.key.as_ref().map(|key| key.as_str().into())),
        Value::MaybeInt(webhook.previous_until.map(Timestamp::as_micros)),
    ]
}

pub(crate) fn read_webhook(row: &dyn Columns) -> Result<Webhook, Error> {
    Ok(Webhook {
        id: parse(&row.text(0)?)?,
        name: parse(&row.text(1)?)?,
        url: row.text(2)?,
        events: from_json(&row.text(3)?)?,
        generation: position(row.int(4)?)?,
        created_at: Timestamp::from_micros(row.int(5)?),
        created_by: parse(&row.text(6)?)?,
        disabled: row.int(7)? != 0,
        removed_at: row.maybe_int(8)?.map(Timestamp::from_micros),
        seq: position(row.int(9)?)?,
        key: parse_maybe(row.maybe_text(10)?)?,
        previous_until: row.maybe_int(11)?.map(Timestamp::from_micros),
    })
}

pub(crate) fn principal(principal: &Principal) -> Vec<Value<'_>> {
    vec![text(principal.name.as_str()), text(principal.role.word())]
}

pub(crate) fn read_principal(row: &dyn Columns) -> Result<Principal, Error> {
    Ok(Principal::new(parse(&row.text(0)?)?, parse(&row.text(1)?)?))
}

pub(crate) fn token<'a>(token: &'a Token, hash: &[u8; 32]) -> Vec<Value<'a>> {
    vec![
        text(token.id.as_str()),
        text(token.principal.name.as_str()),
        text(token.principal.role.word()),
        Value::Int(token.created_at.as_micros()),
        text(token.created_by.as_str()),
        Value::MaybeInt(token.revoked_at.map(Timestamp::as_micros)),
        Value::Text(Digest::from(*hash).hex().into()),
        json(&token.principal.capabilities),
        text(token.kind.word()),
    ]
}

pub(crate) fn read_token(row: &dyn Columns) -> Result<Token, Error> {
    Ok(Token {
        id: parse(&row.text(0)?)?,
        principal: Principal {
            name: parse(&row.text(1)?)?,
            role: parse(&row.text(2)?)?,
            capabilities: from_json(&row.text(7)?)?,
        },
        created_at: Timestamp::from_micros(row.int(3)?),
        created_by: parse(&row.text(4)?)?,
        revoked_at: row.maybe_int(5)?.map(Timestamp::from_micros),
        kind: parse(&row.text(8)?)?,
    })
}

pub(crate) fn read_token_hash(row: &dyn Columns) -> Result<[u8; 32], Error> {
    let hash = row.text(6)?;
    let hash = Digest::from_hex(&hash).ok_or_else(|| Error::Unreadable(format!("{hash:?} is no hash")))?;
    Ok(*hash.as_bytes())
}

/// The idempotency record of a command that was executed, if it has an idempotency key.
pub(crate) fn idempotency(command: &Command, outcome: &Outcome, now: Timestamp) -> Option<Vec<Value<'static>>> {
    let idempotency = command.idempotency.as_ref()?;
    Some(vec![
        Value::Text(command.by.name().to_string().into()),
        Value::Text(idempotency.route.clone().into()),
        Value::Text(idempotency.key.clone().into()),
        Value::Text(idempotency.fingerprint.to_string().into()),
        json(outcome),
        Value::Int(now.as_micros()),
    ])
}

/// The answer to a command whose idempotency key is known: the first outcome, or a refusal if it is
/// a different command.
pub(crate) fn replay(command: &Command, fingerprint: &str, outcome: &str) -> Result<Outcome, Error> {
    let same = command.idempotency.as_ref().is_some_and(|known| known.fingerprint.to_string() == fingerprint);
    if !same {
        return Err(folkmoot_core::Refusal::IdempotencyMismatch.into());
    }
    from_json(outcome)
}

pub(crate) fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|error: T::Err| Error::Unreadable(error.to_string()))
}

pub(crate) fn position(n: i64) -> Result<u64, Error> {
    u64::try_from(n).map_err(|_| Error::Unreadable(format!("{n} is below zero")))
}

pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn parse_maybe<T: std::str::FromStr<Err: std::fmt::Display>>(
    text: Option<String>,
) -> Result<Option<T>, Error> {
    text.map(|text| parse(&text)).transpose()
}

fn small(n: i64) -> Result<u32, Error> {
    u32::try_from(n).map_err(|_| Error::Unreadable(format!("{n} is out of range")))
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Cow::Borrowed(text))
}

fn maybe(text: Option<&str>) -> Value<'_> {
    Value::MaybeText(text.map(Cow::Borrowed))
}

fn json(value: &impl Serialize) -> Value<'static> {
    Value::Text(json_text(value).into())
}

pub(crate) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("structs of texts and integers are JSON")
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Unreadable(error.to_string()))
}

fn timeout_ms(timeout: Timeout) -> i64 {
    match timeout {
        Timeout::After(span) => i64::try_from(span.as_millis()).unwrap_or(i64::MAX - 1),
        Timeout::Never => i64::MAX,
    }
}

fn read_timeout(millis: i64) -> Timeout {
    if millis == i64::MAX {
        return Timeout::Never;
    }
    Timeout::After(std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}
