//! What can be asked of gates, questions, runs, records and deliveries.

pub(crate) mod records;

use std::fmt;

use folkmoot_core::{
    Delivery, Event, Gate, GateId, GateStatus, Name, Question, Refusal, Run, RunId, SessionId, Timestamp, WorkflowName,
    delivery::DeliveryStatus,
    journal::{Entry, EntryKey},
    question::QuestionStatus,
    run::{self, RunKind, RunStatus},
};

use crate::{
    Error,
    rows::{self, Columns, Value},
};

/// A gate, with the text of its summary unless that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateView {
    pub gate: Gate,
    /// What the row has only as a digest.
    pub summary: Option<String>,
}

/// Which gates, and from where on.
#[derive(Clone, Debug, Default)]
pub struct GateQuery {
    /// Only these.
    pub status: Option<GateStatus>,
    /// Only of this run.
    pub run: Option<RunId>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that this principal opened.
    pub requester: Option<Name>,
    /// From here on.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: u32,
}

/// A question, with what it asks unless that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionView {
    pub question: Question,
    /// What the row has only as a digest.
    pub text: Option<String>,
}

/// Which questions, and from where on.
#[derive(Clone, Debug, Default)]
pub struct QuestionQuery {
    /// Only these.
    pub status: Option<QuestionStatus>,
    /// Only of this agent.
    pub agent: Option<Name>,
    /// Only those that this principal asked, under whatever name.
    pub asked_by: Option<Name>,
    /// Only of this run.
    pub run: Option<RunId>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that this name asked, or that were asked for it.
    pub concerns: Option<Name>,
    /// Only those that halt somebody while they are open.
    pub halting: bool,
    /// From here on.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: u32,
}

/// Which runs, and from where on.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Only these.
    pub status: Option<RunStatus>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that this run started.
    pub parent: Option<RunId>,
    /// Only those that this principal started.
    pub initiator: Option<Name>,
    /// Only those of this kind.
    pub kind: Option<RunKind>,
    /// From here on.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: u32,
}

/// Which part of a run's journal.
#[derive(Clone, Debug)]
pub struct JournalQuery {
    pub run: RunId,
    /// What came after this moment and key.
    pub after: Option<(Timestamp, EntryKey)>,
    /// At most so many.
    pub limit: u32,
    /// Only the line with this key.
    pub key: Option<EntryKey>,
    /// With the results, however long they are.
    pub results: bool,
}

/// One line of a journal, with its result as JSON unless that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalLine {
    pub entry: Entry,
    /// What the row has only as a digest.
    pub result: Option<String>,
}

/// Part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// In order.
    pub items: Vec<T>,
    /// `None` at the end.
    pub next: Option<Cursor>,
}

/// A place in a list. Text to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// In an inbox: how urgent, 0 first, then by deadline.
    inbox: Option<(i64, i64)>,
    /// By age.
    at: i64,
    /// Then by id.
    id: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cursor { inbox, at, id } = self;
        match inbox {
            Some((urgency, deadline)) => write!(f, "i~{urgency}~{deadline}~{at}~{id}"),
            None => write!(f, "n~{at}~{id}"),
        }
    }
}

impl std::str::FromStr for Cursor {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        parse_cursor(text)
            .ok_or_else(|| Refusal::invalid("cursor", "is none that a list gave you; take `next` as it is"))
    }
}

fn parse_cursor(text: &str) -> Option<Cursor> {
    let parts: Vec<&str> = text.split('~').collect();
    let (inbox, at, id) = match parts.as_slice() {
        ["i", urgency, deadline, at, id] => (Some((urgency.parse().ok()?, deadline.parse().ok()?)), at, id),
        ["n", at, id] => (None, at, id),
        _ => return None,
    };
    // Whatever is listed has an id of this form; anything else was made up.
    let id = id.parse::<GateId>().ok()?.to_string();
    Some(Cursor { inbox, at: at.parse().ok()?, id })
}

impl GateQuery {
    /// The statement and its arguments, one more row than the page holds.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: rows::select_gates(),
            deadline: "deadline",
            at: "requested_at",
            equals: vec![
                ("run_id", self.run.as_ref().map(RunId::as_str)),
                ("session_id", self.session.as_ref().map(SessionId::as_str)),
                ("requested_by", self.requester.as_ref().map(Name::as_str)),
            ],
            either: None,
            plus: None,
            status: self.status.map(GateStatus::word),
            inbox: self.status == Some(GateStatus::Pending),
            after: self.after.as_ref(),
            limit: self.limit,
        }
        .sql()
    }

    /// Cuts what [`GateQuery::sql`] found to a page.
    pub(crate) fn page(&self, items: Vec<GateView>) -> Page<GateView> {
        let inbox = self.status == Some(GateStatus::Pending);
        cut(
            items,
            self.limit,
            |view| view.summary.as_ref(),
            |GateView { gate, .. }| Cursor {
                inbox: inbox.then(|| (rows::urgency(gate.content.risk), gate.deadline.as_micros())),
                at: gate.requested_at.as_micros(),
                id: gate.id.to_string(),
            },
        )
    }
}

impl QuestionQuery {
    /// The statement and its arguments, one more row than the page holds.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: rows::select_questions(),
            deadline: "due",
            at: "asked_at",
            equals: vec![
                ("agent_id", self.agent.as_ref().map(Name::as_str)),
                ("asked_by", self.asked_by.as_ref().map(Name::as_str)),
                ("run_id", self.run.as_ref().map(RunId::as_str)),
                ("session_id", self.session.as_ref().map(SessionId::as_str)),
            ],
            either: self.concerns.as_ref().map(|name| (["asked_by", "agent_id"], name.as_str())),
            plus: self.halting.then_some("halts IS NOT NULL"),
            status: self.status.map(QuestionStatus::word),
            inbox: self.status == Some(QuestionStatus::Pending),
            after: self.after.as_ref(),
            limit: self.limit,
        }
        .sql()
    }

    /// Cuts what [`QuestionQuery::sql`] found to a page.
    pub(crate) fn page(&self, items: Vec<QuestionView>) -> Page<QuestionView> {
        let inbox = self.status == Some(QuestionStatus::Pending);
        cut(
            items,
            self.limit,
            |view| view.text.as_ref(),
            |QuestionView { question, .. }| Cursor {
                inbox: inbox.then(|| (rows::question_urgency(question.priority), question.due.as_micros())),
                at: question.asked_at.as_micros(),
                id: question.id.to_string(),
            },
        )
    }
}

impl RunQuery {
    /// The statement and its arguments, one more row than the page holds.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: rows::select_runs(),
            deadline: "started_at",
            at: "started_at",
            equals: vec![
                ("session_id", self.session.as_ref().map(SessionId::as_str)),
                ("parent", self.parent.as_ref().map(RunId::as_str)),
                ("initiator", self.initiator.as_ref().map(Name::as_str)),
                ("kind", self.kind.map(RunKind::word)),
            ],
            either: None,
            plus: None,
            status: self.status.map(RunStatus::word),
            inbox: false,
            after: self.after.as_ref(),
            limit: self.limit,
        }
        .sql()
    }

    /// Cuts what [`RunQuery::sql`] found to a page.
    pub(crate) fn page(&self, items: Vec<Run>) -> Page<Run> {
        cut(
            items,
            self.limit,
            |_| None,
            |run| Cursor { inbox: None, at: run.start.started_at.as_micros(), id: run.start.id.to_string() },
        )
    }
}

impl JournalQuery {
    /// The statement and its arguments.
    pub(crate) fn sql(&self) -> (String, Vec<Value<'_>>) {
        let mut arguments = vec![Value::Text(self.run.as_str().into())];
        let mut conditions = "run_id = ?1".to_owned();
        if let Some(key) = &self.key {
            arguments.push(Value::Text(key.as_str().into()));
            conditions += &format!(" AND key = ?{}", arguments.len());
        }
        if let Some((at, key)) = &self.after {
            arguments.extend([Value::Int(at.as_micros()), Value::Text(key.as_str().into())]);
            let n = arguments.len();
            conditions += &format!(" AND (began_at, key) > (?{}, ?{n})", n - 1);
        }
        arguments.push(Value::Int(self.limit.into()));
        let (select, n) = (rows::select_journal(self.results), arguments.len());
        (format!("{select} WHERE {conditions} ORDER BY began_at, key LIMIT ?{n}"), arguments)
    }
}

/// Runs that a worker can take: new ones, and those for which something has changed, those first
/// that have waited longest. `workflows` says how many names there are as arguments from `?2` on.
pub(crate) fn ready(workflows: usize) -> String {
    let names = places(2, workflows);
    format!("SELECT id FROM runs WHERE wakes > parked_wakes AND workflow IN ({names}) ORDER BY moved_at, id LIMIT ?1")
}

/// Runs whose node has died by `?2`, at most `?1`; and as many that have stopped, which nothing
/// wakes, and whose parent is over.
pub(crate) fn orphans(workflows: usize) -> String {
    let names = places(3, workflows);
    format!(
        "SELECT id FROM (SELECT id FROM runs WHERE node IS NOT NULL AND workflow IN ({names})
           AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.node = runs.node AND alive_until > ?2)
           ORDER BY node, id LIMIT ?1) AS of_the_dead
         UNION ALL
         SELECT id FROM (SELECT id FROM runs WHERE status = 'stopped' AND parent IS NOT NULL AND workflow IN ({names})
           AND EXISTS (SELECT 1 FROM runs AS parents WHERE parents.id = runs.parent
             AND parents.status IN ('completed', 'failed', 'cancelled'))
           ORDER BY started_at, id LIMIT ?1) AS left_behind"
    )
}

/// The places of so many arguments from `first` on; of none, something that nothing is in.
fn places(first: usize, count: usize) -> String {
    let places: Vec<_> = (first..first + count).map(|n| format!("?{n}")).collect();
    if places.is_empty() { "NULL".to_owned() } else { places.join(", ") }
}

/// Everything that happened to the run whose stream is `?1` and whose id is `?2`, to its gates and
/// to its questions, after `?3`. By stream and not by position, which PostgreSQL would otherwise
/// do: then it reads the whole log.
pub(crate) fn of_run() -> String {
    format!(
        "SELECT {} FROM events WHERE stream IN (SELECT CAST(?1 AS TEXT)
           UNION ALL SELECT id FROM gates WHERE run_id = ?2
           UNION ALL SELECT id FROM questions WHERE run_id = ?2)
         AND position + 0 > ?3 ORDER BY position + 0 LIMIT ?4",
        rows::EVENTS.names()
    )
}

/// The arguments of [`of_run`].
pub(crate) fn of_run_arguments(run: &RunId, after: u64, limit: u32) -> Vec<Value<'_>> {
    vec![
        Value::Text(run::stream(run).into()),
        Value::Text(run.as_str().into()),
        Value::Int(rows::int(after)),
        Value::Int(limit.into()),
    ]
}

/// The arguments of [`ready`] and [`orphans`].
pub(crate) fn of_workflows<'a>(mut first: Vec<Value<'a>>, workflows: &'a [WorkflowName]) -> Vec<Value<'a>> {
    first.extend(workflows.iter().map(|name| Value::Text(name.as_str().into())));
    first
}

/// Which deliveries, and from where on.
#[derive(Clone, Debug, Default)]
pub struct DeliveryQuery {
    /// Only these.
    pub status: Option<DeliveryStatus>,
    /// Only to this channel.
    pub channel: Option<String>,
    /// From here on.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: u32,
}

/// What is still to be delivered to one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingFor {
    pub channel: String,
    /// When the first of it is due.
    pub due: Timestamp,
}

impl DeliveryQuery {
    /// The statement and its arguments, one more row than the page holds.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: rows::select_deliveries(),
            deadline: "due",
            at: "created_at",
            equals: vec![("channel", self.channel.as_deref())],
            either: None,
            plus: None,
            status: self.status.map(DeliveryStatus::word),
            inbox: false,
            after: self.after.as_ref(),
            limit: self.limit,
        }
        .sql()
    }

    /// Cuts what [`DeliveryQuery::sql`] found to a page.
    pub(crate) fn page(&self, items: Vec<Delivery>) -> Page<Delivery> {
        cut(
            items,
            self.limit,
            |_| None,
            |delivery| Cursor { inbox: None, at: delivery.created_at.as_micros(), id: delivery.id.to_string() },
        )
    }
}

/// At most `?1` channels after `?2` for which something waits, each with when the first of it is
/// due. Goes through the index from one channel to the next, however much waits for each.
pub(crate) const WAITING: &str = "WITH RECURSIVE waiting (channel) AS (
    SELECT min(channel) FROM outbox WHERE due IS NOT NULL AND outbox.channel > ?2
    UNION ALL
    SELECT (SELECT min(channel) FROM outbox WHERE due IS NOT NULL AND outbox.channel > waiting.channel)
    FROM waiting WHERE waiting.channel IS NOT NULL)
  SELECT channel, (SELECT min(due) FROM outbox WHERE due IS NOT NULL AND outbox.channel = waiting.channel)
  FROM waiting WHERE channel IS NOT NULL LIMIT ?1";

pub(crate) fn read_waiting(row: &dyn Columns) -> Result<WaitingFor, Error> {
    Ok(WaitingFor { channel: row.text(0)?, due: Timestamp::from_micros(row.int(1)?) })
}

/// How many deliveries have the status `?1`.
pub(crate) const COUNT_DELIVERIES: &str = "SELECT count(*) FROM outbox WHERE status = ?1";

/// The next `?2` deliveries to the channel `?1` that wait or are under way.
pub(crate) const LOAD_WAITING: &str = "channel = ?1 AND due IS NOT NULL ORDER BY due, id LIMIT ?2";

/// How many gates of `?1` are pending, and how many bytes they keep; of at most `?2` of them. For
/// SQLite, which would otherwise go through all that it has ever opened.
pub(crate) const PENDING_OF: &str = "SELECT count(*), CAST(coalesce(sum(content_bytes), 0) AS BIGINT) FROM (
    SELECT content_bytes FROM gates INDEXED BY gates_inbox_of WHERE requested_by = ?1 AND status = 'pending' LIMIT ?2) AS own";

/// How many questions of `?1` are open; of at most `?2` of them. For SQLite.
pub(crate) const OPEN_OF: &str = "SELECT count(*) FROM (
    SELECT 1 FROM questions INDEXED BY questions_open_of WHERE asked_by = ?1 AND status = 'pending' LIMIT ?2) AS own";

/// How many runs of `?1` we execute that are not over; of at most `?2` of them. For SQLite.
pub(crate) const OPEN_RUNS_OF: &str = "SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_open_of
    WHERE initiator = ?1 AND kind <> 'external' AND status NOT IN ('completed', 'failed', 'cancelled') LIMIT ?2) AS own";

/// How many halts of `?1` stand; of at most `?2` of them. For SQLite.
pub(crate) const HALTS_OF: &str = "SELECT count(*) FROM (SELECT 1 FROM halts INDEXED BY halts_standing
    WHERE raised_by = ?1 AND lifted_at IS NULL LIMIT ?2) AS own";

/// At most `?1` principals that have pending gates. Goes through the index from one to the next,
/// however many gates each has.
pub(crate) const REQUESTERS: &str = "WITH RECURSIVE requesters (name) AS (
    SELECT min(requested_by) FROM gates WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(requested_by) FROM gates WHERE status = 'pending' AND requested_by > requesters.name)
    FROM requesters WHERE requesters.name IS NOT NULL)
  SELECT name FROM requesters WHERE name IS NOT NULL LIMIT ?1";

/// As [`REQUESTERS`], of questions.
pub(crate) const ASKERS: &str = "WITH RECURSIVE askers (name) AS (
    SELECT min(asked_by) FROM questions WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(asked_by) FROM questions WHERE status = 'pending' AND asked_by > askers.name)
    FROM askers WHERE askers.name IS NOT NULL)
  SELECT name FROM askers WHERE name IS NOT NULL LIMIT ?1";

/// How many of an agent's things need to be counted.
pub(crate) fn counted(limit: Option<u64>) -> i64 {
    limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
}

/// What gates, questions, runs and deliveries have in common as lists.
struct Listing<'a> {
    select: &'static str,
    deadline: &'static str,
    at: &'static str,
    equals: Vec<(&'static str, Option<&'a str>)>,
    /// One of two columns is this.
    either: Option<([&'static str; 2], &'a str)>,
    /// One more condition.
    plus: Option<&'static str>,
    status: Option<&'static str>,
    /// What waits is listed by how urgent it is.
    inbox: bool,
    after: Option<&'a Cursor>,
    limit: u32,
}

impl<'a> Listing<'a> {
    fn sql(&self) -> Result<(String, Vec<Value<'a>>), Refusal> {
        let (deadline, at) = (self.deadline, self.at);
        let mut arguments = Vec::new();
        let mut conditions = Vec::new();
        for (column, text) in self.equals.iter().filter_map(|(column, text)| Some((column, (*text)?))) {
            arguments.push(Value::Text(text.into()));
            conditions.push(format!("{column} = ?{}", arguments.len()));
        }
        if let Some(([one, other], text)) = self.either {
            arguments.push(Value::Text(text.into()));
            let n = arguments.len();
            conditions.push(format!("({one} = ?{n} OR {other} = ?{n})"));
        }
        conditions.extend(self.plus.map(str::to_owned));
        // The word itself, not an argument: a partial index is only used where the planner sees it.
        conditions.extend(self.status.map(|status| format!("status = '{status}'")));
        let inbox = self.inbox;
        let order = match inbox {
            true => format!("urgency, {deadline}, {at}, id"),
            false => format!("{at} DESC, id DESC"),
        };
        if let Some(Cursor { inbox: place, at: moment, id }) = self.after {
            if place.is_some() != inbox {
                return Err(Refusal::invalid("cursor", "belongs to a list with another status; start again"));
            }
            let n = arguments.len();
            conditions.push(match place {
                Some(_) => format!("({order}) > (?{}, ?{}, ?{}, ?{})", n + 1, n + 2, n + 3, n + 4),
                None => format!("({at}, id) < (?{}, ?{})", n + 1, n + 2),
            });
            arguments.extend(place.iter().flat_map(|(urgency, due)| [Value::Int(*urgency), Value::Int(*due)]));
            arguments.extend([Value::Int(*moment), Value::Text(id.as_str().into())]);
        }
        let conditions = if conditions.is_empty() { "1 = 1".to_owned() } else { conditions.join(" AND ") };
        // An argument, so that there are few statements: each is kept prepared, and callers choose
        // the number.
        arguments.push(Value::Int(i64::from(self.limit) + 1));
        let n = arguments.len();
        Ok((format!("{} WHERE {conditions} ORDER BY {order} LIMIT ?{n}", self.select), arguments))
    }
}

/// How long the texts on one page are together, unless a single one is longer.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// A page of what was found, which is one more than it holds where there is another page. Long
/// texts, of which each item may have one, make it shorter.
fn cut<T>(
    mut items: Vec<T>,
    limit: u32,
    text: impl Fn(&T) -> Option<&String>,
    cursor: impl Fn(&T) -> Cursor,
) -> Page<T> {
    let mut bytes = 0;
    let fits = |item: &&T| {
        bytes += text(item).map_or(0, String::len);
        bytes <= PAGE_BYTES_MAX
    };
    let fitting = items.iter().take(limit as usize).take_while(fits).count().max(1).min(limit as usize);
    let whole = items.len() <= fitting;
    items.truncate(fitting);
    let next = if whole { None } else { items.last().map(cursor) };
    Page { items, next }
}

/// Where the runs go on in a walk through all streams that has come to `after`, so that the index
/// by id serves. Their streams come together, but need not be the last: other ids can begin with
/// any letter.
pub(crate) fn runs_after(after: &str) -> &str {
    match after.strip_prefix("run:") {
        Some(id) => id,
        None if after < "run:" => "",
        None => AFTER_ALL_IDS,
    }
}

/// Sorts after every id, which are plain letters.
const AFTER_ALL_IDS: &str = "\u{10ffff}";

/// The next streams by id, of those that have a row and of those that only the log knows; the runs
/// from `?3` on.
pub(crate) const STREAMS: &str = "SELECT id FROM (
    SELECT id FROM (SELECT id FROM gates WHERE id > ?1 ORDER BY id LIMIT ?2) AS gates_with_row
    UNION SELECT id FROM (SELECT id FROM questions WHERE id > ?1 ORDER BY id LIMIT ?2) AS questions_with_row
    UNION SELECT id FROM (SELECT id FROM halts WHERE id > ?1 ORDER BY id LIMIT ?2) AS halts_with_row
    UNION SELECT id FROM (SELECT 'run:' || id AS id FROM runs WHERE id > ?3 ORDER BY runs.id LIMIT ?2) AS runs_with_row
    UNION
    SELECT stream FROM (
      SELECT stream FROM events WHERE stream > ?1 AND stream_seq = 1
      AND type IN ('gate.opened', 'question.asked', 'halt.raised', 'halt.refused', 'run.started') ORDER BY stream LIMIT ?2
    ) AS with_log
  ) AS known ORDER BY id LIMIT ?2";

/// The bytes under `?1`, as gates and questions show them.
pub(crate) const SHOWN: &str = "SELECT content FROM artifacts WHERE digest = ?1 AND barred = 0";
/// The bytes under `?1`, as runs record them.
pub(crate) const RECORDED: &str = "SELECT content FROM artifacts WHERE digest = ?1";

/// Something that is not over and needs the content under `?1`. A run that is executed here is
/// replayed from its top until it ends, with what its gates were decided to and what the runs gave
/// that it started, however long ago that was.
pub(crate) const NEEDED_BY: &str = "SELECT id FROM (
    SELECT id FROM gates WHERE status = 'pending' AND (summary_digest = ?1 OR artifacts LIKE '%' || ?1 || '%')
    UNION ALL SELECT runs.id FROM runs JOIN gates ON gates.run_id = runs.id
      WHERE runs.status NOT IN ('completed', 'failed', 'cancelled') AND runs.kind <> 'external'
      AND (summary_digest = ?1 OR artifacts LIKE '%' || ?1 || '%' OR decision LIKE '%' || ?1 || '%')
    UNION ALL SELECT runs.id FROM runs JOIN runs AS child ON child.parent = runs.id
      WHERE runs.status NOT IN ('completed', 'failed', 'cancelled') AND child.status = 'completed'
      AND child.state LIKE '%' || ?1 || '%'
    UNION ALL SELECT id FROM questions WHERE status = 'pending' AND text_digest = ?1
    UNION ALL SELECT id FROM runs WHERE status NOT IN ('completed', 'failed', 'cancelled') AND (input = ?1
      OR EXISTS (SELECT 1 FROM journal WHERE run_id = runs.id AND result = ?1))
    UNION ALL SELECT id FROM runs WHERE status NOT IN ('completed', 'failed', 'cancelled')
      AND EXISTS (SELECT 1 FROM records WHERE records.run_id = runs.id AND texts LIKE '%' || ?1 || '%')
  ) AS needing LIMIT 1";

/// What erased the content under `?1` for its age. By stream, of which the index knows where they
/// are.
pub(crate) fn retirements() -> String {
    let names = rows::EVENTS.names();
    format!(
        "SELECT {names} FROM events WHERE stream > 'retention:' AND stream < 'retention;' AND payload LIKE '%' || ?1 || '%'"
    )
}

/// In the order of the log.
pub(crate) fn each_once(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| event.position);
    events.dedup_by_key(|event| event.position);
    events
}

/// Contents that no gate and no question shows again.
pub(crate) const BARRED: &str = "SELECT digest FROM artifacts WHERE barred = 1";

/// Questions that hold somebody.
pub(crate) const HOLDING: &str = "holds IS NOT NULL";
/// Halts that nobody has lifted.
pub(crate) const STANDING: &str = "lifted_at IS NULL";
