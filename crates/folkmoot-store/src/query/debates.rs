//! What can be asked of debates.

use std::sync::OnceLock;

use folkmoot_core::{
    DebatePhase, Domain, GateId, Name, Refusal, RunId, SessionId, Timestamp,
    debate::record::{DebateStatus, LogLevel, StoredLesson, StoredSession, StoredTurn, StoredVersion},
};

use super::{Cursor, Listing, Page, cut};
use crate::rows::{
    Table, Value,
    debates::{DEBATES, KEPT, LESSONS, LINES, TURNS, VERSIONS},
    int,
};

/// A debate: what its run, its gates and its questions say of it, and what it last said itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebateView {
    /// Its run.
    pub id: RunId,
    /// What `debate_sessions` has for an id.
    pub session_id: SessionId,
    /// Where it is in its life.
    pub status: DebateStatus,
    /// Who started it.
    pub initiated_by: Name,
    pub created_at: Timestamp,
    /// When its run last had an event.
    pub updated_at: Timestamp,
    /// When it was over.
    pub completed_at: Option<Timestamp>,
    /// The gate of its own that has held it longest.
    pub waiting_at: Option<GateId>,
    /// What is debated: the title of its run until it says so itself, and nothing where that was
    /// erased.
    pub topic: Option<String>,
    /// The row; none until it has said something.
    pub session: Option<StoredSession>,
    /// What the row has only as digests, unless it was erased.
    pub config: Option<serde_json::Value>,
    /// The same.
    pub outcome: Option<serde_json::Value>,
    /// The same.
    pub metadata: Option<serde_json::Value>,
}

/// Which debates, and from where on. Newest first.
#[derive(Clone, Debug, Default)]
pub struct DebateQuery {
    /// Only these.
    pub status: Option<DebateStatus>,
    /// Only those that this principal started.
    pub initiated_by: Option<Name>,
    /// From here on.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: u32,
}

/// A turn, with its texts unless they were erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnView {
    pub turn: StoredTurn,
    pub content: Option<String>,
    /// What the agent called.
    pub tool_calls: Option<serde_json::Value>,
    /// What tests gave.
    pub test_results: Option<serde_json::Value>,
    /// What it learnt.
    pub reflections: Option<serde_json::Value>,
    /// Whatever else is provenance.
    pub metadata: Option<serde_json::Value>,
}

/// Which turns of a debate, in the order in which they were written.
#[derive(Clone, Debug)]
pub struct TurnQuery {
    pub debate: RunId,
    /// Only in this phase.
    pub phase: Option<DebatePhase>,
    /// Only of this agent.
    pub agent: Option<Name>,
    /// Only in this round.
    pub round: Option<u32>,
    /// Only those whose place is after this.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: u32,
}

/// A version of code, with its texts unless they were erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionView {
    pub version: StoredVersion,
    /// All of it.
    pub code: Option<String>,
    /// What was measured.
    pub metrics: Option<serde_json::Value>,
    /// What changed.
    pub diff_from_previous: Option<String>,
    /// Who spoke in the turn that wrote it.
    pub author: Option<Name>,
}

/// Which versions of a debate's code, by their numbers.
#[derive(Clone, Debug)]
pub struct VersionQuery {
    pub debate: RunId,
    /// Only those with a higher number.
    pub after: Option<u32>,
    /// At most so many.
    pub limit: u32,
}

/// Which lines of a debate, in the order in which they were written.
#[derive(Clone, Debug)]
pub struct LineQuery {
    pub debate: RunId,
    /// Only those as grave as this, and graver.
    pub level: Option<LogLevel>,
    /// Only those whose place is after this.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: u32,
}

/// A lesson that was not erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LessonView {
    pub lesson: StoredLesson,
    /// What had gone wrong, unless that was erased.
    pub root_cause: Option<String>,
    /// What to do about it.
    pub text: String,
}

/// Which lessons, newest first.
#[derive(Clone, Debug, Default)]
pub struct LessonQuery {
    /// Only this one.
    pub id: Option<String>,
    /// Only those that hold here.
    pub domain: Option<Domain>,
    /// Only of debates that this principal started.
    pub initiated_by: Option<Name>,
    /// Only of debates in which the rehearsal spoke, or only of those in which it did not.
    pub rehearsed: Option<bool>,
    /// At most so many.
    pub limit: u32,
}

/// What the view says, which alone knows how a debate's status comes about.
const STATUS: &str = "(SELECT told.status FROM debate_sessions AS told WHERE told.debate_id = runs.id)";

/// Debates, as `rows::debates::read_debate` reads them.
pub(crate) fn select_debates() -> &'static str {
    static SQL: OnceLock<String> = OnceLock::new();
    SQL.get_or_init(|| {
        let texts = ["topic_digest", "config_digest", "outcome_digest", "metadata_digest"].map(shown).join(", ");
        let columns: Vec<_> = DEBATES.columns.iter().map(|(name, _)| format!("debates.{name}")).collect();
        format!(
            "SELECT runs.id, runs.session_id, runs.initiator, runs.started_at, runs.moved_at, runs.title, {STATUS},
             (SELECT gates.id FROM gates WHERE gates.run_id = runs.id AND gates.status = 'pending' AND gates.mode = 'gate'
              AND gates.requested_by = 'workflow:' || runs.workflow ORDER BY gates.requested_at, gates.id LIMIT 1) AS waiting_at, {}, {texts}
             FROM runs LEFT JOIN debates ON debates.run_id = runs.id",
            columns.join(", ")
        )
    })
}

/// The debate `?1`.
pub(crate) fn one_debate() -> String {
    format!("{} WHERE runs.kind = 'debate' AND runs.id = ?1", select_debates())
}

/// The rows of a table with their texts, as `rows::debates` reads them.
fn select(table: &Table, texts: &[&'static str]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| shown(text)).collect();
    format!("SELECT {}, {} FROM {}", table.names(), texts.join(", "), table.name)
}

/// The text that a column has the digest of, as gates and questions show it.
fn shown(digest: &'static str) -> String {
    format!("(SELECT artifacts.content FROM artifacts WHERE artifacts.digest = {digest} AND artifacts.barred = 0)")
}

fn select_turns() -> &'static str {
    static SQL: OnceLock<String> = OnceLock::new();
    let texts =
        &["content_digest", "tool_calls_digest", "test_results_digest", "reflections_digest", "metadata_digest"];
    SQL.get_or_init(|| select(&TURNS, texts))
}

/// The turn `?1`.
pub(crate) fn one_turn() -> String {
    format!("{} WHERE id = ?1 ORDER BY created_at, run_id LIMIT 1", select_turns())
}

/// The conditions of a query, and their arguments.
struct QueryConditions<'a> {
    conditions: Vec<String>,
    arguments: Vec<Value<'a>>,
}

impl<'a> QueryConditions<'a> {
    fn of(debate: &'a RunId) -> Self {
        let run = Value::Text(debate.as_str().into());
        Self { conditions: vec!["run_id = ?1".to_owned()], arguments: vec![run] }
    }

    /// One more condition, in which `?` is the argument, unless there is none.
    fn and(mut self, condition: &str, argument: Option<Value<'a>>) -> Self {
        if let Some(argument) = argument {
            self.arguments.push(argument);
            self.conditions.push(condition.replace('?', &format!("?{}", self.arguments.len())));
        }
        self
    }

    fn sql(mut self, select: &str, order: &str, limit: u32) -> (String, Vec<Value<'a>>) {
        self.arguments.push(Value::Int(limit.into()));
        let (conditions, n) = (self.conditions.join(" AND "), self.arguments.len());
        (format!("{select} WHERE {conditions} ORDER BY {order} LIMIT ?{n}"), self.arguments)
    }
}

impl DebateQuery {
    /// The statement and its arguments, one more row than the page holds.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: select_debates(),
            deadline: "started_at",
            at: "started_at",
            equals: vec![("initiator", self.initiated_by.as_ref().map(Name::as_str))],
            either: None,
            plus: Some(of_status(self.status)),
            status: None,
            inbox: false,
            after: self.after.as_ref(),
            limit: self.limit,
        }
        .sql()
    }

    /// Cuts what [`DebateQuery::sql`] found to a page.
    pub(crate) fn page(&self, items: Vec<DebateView>) -> Page<DebateView> {
        cut(
            items,
            self.limit,
            |view| view.topic.as_ref(),
            |view| Cursor { inbox: None, at: view.created_at.as_micros(), id: view.id.to_string() },
        )
    }
}

/// Whoever looks for debates that go on need not read those that are over: each condition is what
/// an index has.
fn of_status(status: Option<DebateStatus>) -> &'static str {
    static SQL: OnceLock<[String; 3]> = OnceLock::new();
    let [pending, running, paused] = SQL.get_or_init(|| {
        [DebateStatus::Pending, DebateStatus::Running, DebateStatus::Paused].map(|status| {
            format!("kind = 'debate' AND status NOT IN ('completed', 'failed', 'cancelled') AND {STATUS} = '{status}'")
        })
    });
    match status {
        None => "kind = 'debate'",
        Some(DebateStatus::Pending) => pending,
        Some(DebateStatus::Running) => running,
        Some(DebateStatus::Paused) => paused,
        Some(DebateStatus::Completed) => "kind = 'debate' AND status = 'completed'",
        Some(DebateStatus::Failed) => "kind = 'debate' AND status = 'failed'",
        Some(DebateStatus::Cancelled) => "kind = 'debate' AND status = 'cancelled'",
    }
}

impl TurnQuery {
    /// The statement and its arguments.
    pub(crate) fn sql(&self) -> (String, Vec<Value<'_>>) {
        QueryConditions::of(&self.debate)
            .and("phase = ?", self.phase.map(|phase| Value::Text(phase.word().into())))
            .and("agent_id = ?", self.agent.as_ref().map(|agent| Value::Text(agent.as_str().into())))
            .and("round = ?", self.round.map(|round| Value::Int(round.into())))
            .and("place > ?", self.after.map(|place| Value::Int(int(place))))
            .sql(select_turns(), "place", self.limit)
    }
}

impl VersionQuery {
    /// The statement and its arguments.
    pub(crate) fn sql(&self) -> (String, Vec<Value<'_>>) {
        static SQL: OnceLock<String> = OnceLock::new();
        let select = SQL.get_or_init(|| {
            let texts = ["code_digest", "metrics_digest", "diff_digest"].map(shown).join(", ");
            let author =
                "(SELECT turns.agent_id FROM turns WHERE turns.run_id = versions.run_id AND turns.id = versions.turn_id)";
            format!("SELECT {}, {texts}, {author} FROM versions", VERSIONS.names())
        });
        QueryConditions::of(&self.debate)
            .and("version_number > ?", self.after.map(|number| Value::Int(number.into())))
            .sql(select, "version_number", self.limit)
    }
}

impl LineQuery {
    /// The statement and its arguments.
    pub(crate) fn sql(&self) -> (String, Vec<Value<'_>>) {
        let mut wanted =
            QueryConditions::of(&self.debate).and("place > ?", self.after.map(|place| Value::Int(int(place))));
        if let Some(least) = self.level {
            let graver: Vec<_> =
                LogLevel::ALL.iter().filter(|level| **level >= least).map(|level| format!("'{level}'")).collect();
            wanted.conditions.push(format!("level IN ({})", graver.join(", ")));
        }
        wanted.sql(&format!("SELECT {} FROM lines", LINES.names()), "place", self.limit)
    }
}

impl LessonQuery {
    /// The statement and its arguments.
    pub(crate) fn sql(&self) -> (String, Vec<Value<'_>>) {
        static SQL: OnceLock<String> = OnceLock::new();
        let select = SQL.get_or_init(|| select(&LESSONS, &["root_cause_digest", "lesson_digest"]));
        let of_them = "EXISTS (SELECT 1 FROM runs WHERE runs.id = lessons.run_id AND runs.initiator = ?)";
        let there = format!("{} IS NOT NULL", shown("lesson_digest"));
        // Every row has it, also those that are older than the question: the turns say who spoke.
        let rehearsed = self.rehearsed.map(|rehearsed| {
            let not = if rehearsed { "" } else { "NOT " };
            format!(
                "{not}EXISTS (SELECT 1 FROM turns WHERE turns.run_id = lessons.run_id AND turns.provider = 'rehearsal')"
            )
        });
        QueryConditions { conditions: std::iter::once(there).chain(rehearsed).collect(), arguments: Vec::new() }
            .and("id = ?", self.id.as_deref().map(|id| Value::Text(id.into())))
            .and("domain = ?", self.domain.map(|domain| Value::Text(domain.word().into())))
            .and(of_them, self.initiated_by.as_ref().map(|name| Value::Text(name.as_str().into())))
            .sql(select, "created_at DESC, id DESC", self.limit)
    }
}

/// At most `?1` runs that are not there, and of which something is kept.
pub(crate) fn strays() -> String {
    let of_table = |(table, _): &(&Table, _)| {
        let name = table.name;
        format!("SELECT run_id FROM {name} WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = {name}.run_id)")
    };
    let all: Vec<_> = KEPT.iter().map(of_table).collect();
    format!("SELECT DISTINCT run_id FROM ({}) AS strays ORDER BY run_id LIMIT ?1", all.join(" UNION ALL "))
}

/// Forgets at most `?2` lines whose time was over at `?1`.
pub(crate) const FORGET_LINES: &str = "DELETE FROM lines WHERE (run_id, place) IN
    (SELECT run_id, place FROM lines WHERE expires_at <= ?1 ORDER BY expires_at, run_id, place LIMIT ?2)";
