//! Queries for the records of debates, and the records as they are read.

use folkmoot_core::{
    Digest, GateId, Name, RecordQuery, RecordView, RunId, SessionId, Timestamp,
    record::RecordOrder,
    run::{RunSummary, SummaryStatus},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::{LogLevel, SESSION_ID, collection, version_id};
use crate::{AgentRole, DebatePhase, Domain, agent::Share};

/// A debate: what its run, its gates and its questions say about it, and its last session record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebateView {
    /// The id of its run.
    pub id: RunId,
    /// The column `id` of `debate_sessions`.
    pub session_id: SessionId,
    pub status: SummaryStatus,
    /// Who started it.
    pub initiated_by: Name,
    pub created_at: Timestamp,
    /// When its run last had an event.
    pub updated_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Its own gate that has held it longest.
    pub waiting_at: Option<GateId>,
    /// What is debated: the topic of its session record, or the title of its run while there is no
    /// such record. `None` if the topic was erased.
    pub topic: Option<String>,
    /// Its last session record; `None` before the first.
    pub session: Option<SessionView>,
}

impl DebateView {
    /// The debate of a run, with its last session record.
    pub fn new(run: RunSummary, session: Option<SessionView>) -> Self {
        let RunSummary { id, session_id, title, initiated_by, created_at, updated_at, status, waiting_at } = run;
        Self {
            id,
            session_id,
            status,
            initiated_by,
            created_at,
            updated_at,
            completed_at: status.is_over().then_some(updated_at),
            waiting_at,
            topic: session.as_ref().map_or(Some(title), |session| session.topic.clone()),
            session,
        }
    }
}

/// A session record. Texts that were erased are `None`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SessionView {
    pub run_id: RunId,
    pub topic: Option<String>,
    pub topology: String,
    pub coordination_protocol: String,
    /// How many rounds are over.
    pub total_rounds: u32,
    /// How far the agents agreed.
    pub final_consensus_score: Option<Share>,
    #[serde(default, deserialize_with = "json_text")]
    pub config: Option<Value>,
    #[serde(default, deserialize_with = "json_text")]
    pub outcome: Option<Value>,
    #[serde(default, deserialize_with = "json_text")]
    pub metadata: Option<Value>,
}

/// A turn. Texts that were erased are `None`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TurnView {
    pub run_id: RunId,
    /// Its position in the order of writing; later ones are higher.
    pub place: u64,
    pub at: Timestamp,
    /// A UUID.
    pub id: String,
    pub round: u32,
    pub phase: DebatePhase,
    pub agent_id: Name,
    pub agent_role: AgentRole,
    /// Who runs the model.
    pub provider: String,
    pub model: String,
    pub content: Option<String>,
    pub confidence: Option<Share>,
    /// The tools that the agent called, and their results.
    #[serde(default, deserialize_with = "json_text")]
    pub tool_calls: Option<Value>,
    #[serde(default, deserialize_with = "json_text")]
    pub test_results: Option<Value>,
    /// What it learned from failing.
    #[serde(default, deserialize_with = "json_text")]
    pub reflections: Option<Value>,
    /// Prompt, usage and other provenance.
    #[serde(default, deserialize_with = "json_text")]
    pub metadata: Option<Value>,
    pub response_time_ms: u64,
}

/// A version of code. Texts that were erased are `None`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct VersionView {
    pub run_id: RunId,
    pub at: Timestamp,
    /// A UUID.
    pub id: String,
    /// The turn that wrote it.
    pub turn_id: Option<String>,
    /// The agent that spoke in that turn. It is filled in from the turn's record.
    #[serde(skip)]
    pub author: Option<Name>,
    pub language: String,
    pub code: Option<String>,
    /// Counted from 1 in its debate.
    pub version_number: u32,
    /// How good it was judged to be.
    pub quality_score: Option<Share>,
    /// The share of its tests that passed.
    pub test_pass_rate: Option<Share>,
    #[serde(default, deserialize_with = "json_text")]
    pub metrics: Option<Value>,
    /// What changed since the version before.
    pub diff_from_previous: Option<String>,
}

/// A line of a debate's log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LineView {
    pub run_id: RunId,
    /// Its position in the order of writing; later ones are higher.
    pub place: u64,
    pub at: Timestamp,
    pub level: LogLevel,
    pub message: String,
    #[serde(default, deserialize_with = "json_text")]
    pub data: Option<Value>,
}

/// A lesson that was not erased.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LessonView {
    /// The debate that learned it.
    pub run_id: RunId,
    pub at: Timestamp,
    /// A UUID.
    pub id: String,
    pub domain: Domain,
    /// The language to which it applies; `None` means any.
    pub language: Option<String>,
    /// What went wrong; `None` if that was erased.
    pub root_cause: Option<String>,
    /// What to do about it.
    pub lesson: String,
    /// The digest of `lesson`, by which that text can be erased.
    pub digest: Digest,
    pub confidence: Share,
    /// Words to find it by.
    pub tags: Vec<String>,
}

/// Reads JSON that is stored as text.
fn json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(D::Error::custom)
}

macro_rules! read_from_records {
    ($($view:ident),+) => {
        $(impl TryFrom<RecordView> for $view {
            type Error = serde_json::Error;

            fn try_from(view: RecordView) -> Result<Self, serde_json::Error> {
                view.read()
            }
        })+
    };
}
read_from_records!(SessionView, TurnView, VersionView, LineView);

impl TryFrom<RecordView> for LessonView {
    type Error = serde_json::Error;

    fn try_from(mut view: RecordView) -> Result<Self, serde_json::Error> {
        let digest = serde_json::to_value(view.record.texts.get("lesson"))?;
        view.record.fields.insert("digest".to_owned(), digest);
        view.read()
    }
}

/// Asks for the session records of these debates.
pub fn session_query(debates: Vec<RunId>) -> RecordQuery {
    let limit = u32::try_from(debates.len()).unwrap_or(u32::MAX);
    let (collection, ids) = (collection::SESSIONS.to_owned(), vec![SESSION_ID.to_owned()]);
    RecordQuery { collection, runs: debates, ids, limit, ..RecordQuery::default() }
}

/// Asks for these turns of a debate.
pub fn turn_query(debate: RunId, ids: Vec<String>) -> RecordQuery {
    let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    RecordQuery { collection: collection::TURNS.to_owned(), runs: vec![debate], ids, limit, ..RecordQuery::default() }
}

/// Asks for turns of a debate, in the order in which they were written.
#[derive(Clone, Debug)]
pub struct TurnQuery {
    pub debate: RunId,
    pub phase: Option<DebatePhase>,
    pub agent: Option<Name>,
    pub round: Option<u32>,
    /// Only those with a higher `place`.
    pub after: Option<u64>,
    pub limit: u32,
}

impl From<TurnQuery> for RecordQuery {
    fn from(query: TurnQuery) -> Self {
        let phase = query.phase.map(|phase| ("phase", vec![phase.word().into()]));
        let agent = query.agent.map(|agent| ("agent_id", vec![agent.as_str().into()]));
        let round = query.round.map(|round| ("round", vec![round.into()]));
        Self {
            collection: collection::TURNS.to_owned(),
            runs: vec![query.debate],
            fields: phase.into_iter().chain(agent).chain(round).collect(),
            order: RecordOrder::Place { after: query.after },
            limit: query.limit,
            ..Self::default()
        }
    }
}

/// Asks for versions of a debate's code, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct VersionQuery {
    pub debate: RunId,
    /// Only those with a higher number.
    pub after: Option<u32>,
    pub limit: u32,
}

impl From<VersionQuery> for RecordQuery {
    fn from(query: VersionQuery) -> Self {
        Self {
            collection: collection::VERSIONS.to_owned(),
            runs: vec![query.debate],
            order: RecordOrder::Id { after: query.after.map(version_id) },
            limit: query.limit,
            ..Self::default()
        }
    }
}

/// Asks for lines of a debate's log, in the order in which they were written.
#[derive(Clone, Debug)]
pub struct LineQuery {
    pub debate: RunId,
    /// Only lines of at least this level.
    pub level: Option<LogLevel>,
    /// Only those with a higher `place`.
    pub after: Option<u64>,
    pub limit: u32,
}

impl From<LineQuery> for RecordQuery {
    fn from(query: LineQuery) -> Self {
        let graver =
            |least| LogLevel::ALL.iter().filter(|level| **level >= least).map(|level| level.word().into()).collect();
        Self {
            collection: collection::LINES.to_owned(),
            runs: vec![query.debate],
            fields: query.level.map(|least| ("level", graver(least))).into_iter().collect(),
            order: RecordOrder::Place { after: query.after },
            limit: query.limit,
            ..Self::default()
        }
    }
}

/// Asks for lessons, the newest first.
#[derive(Clone, Debug, Default)]
pub struct LessonQuery {
    pub id: Option<String>,
    pub domain: Option<Domain>,
    /// If true, only lessons of debates in which the rehearsal model spoke; if false, only of the
    /// others.
    pub rehearsed: Option<bool>,
    pub limit: u32,
}

impl From<LessonQuery> for RecordQuery {
    fn from(query: LessonQuery) -> Self {
        let domain = query.domain.map(|domain| ("domain", vec![domain.word().into()]));
        let rehearsed = query.rehearsed.map(|rehearsed| ("rehearsed", vec![rehearsed.into()]));
        Self {
            collection: collection::LESSONS.to_owned(),
            ids: query.id.into_iter().collect(),
            fields: domain.into_iter().chain(rehearsed).collect(),
            with_text: Some("lesson"),
            order: RecordOrder::Newest,
            limit: query.limit,
            ..Self::default()
        }
    }
}
