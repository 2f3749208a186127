//! Queries for gates, questions, runs, records and deliveries, and their SQL.

pub(crate) mod records;

use std::fmt;

use folkmoot_core::{
    Delivery, Event, Gate, GateId, GateStatus, Name, Question, Refusal, Run, RunId, SessionId, Timestamp, WorkflowName,
    delivery::DeliveryStatus,
    journal::{Entry, EntryKey},
    principal::is_workflow,
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
    /// The row holds only its digest.
    pub summary: Option<String>,
}

/// Which gates to list.
#[derive(Clone, Debug, Default)]
pub struct GateQuery {
    pub status: Option<GateStatus>,
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
    /// The principal that opened the gates, or that started the run whose workflow opened them. The
    /// name of a workflow finds what it opened in all runs.
    pub requester: Option<Name>,
    /// Only the beginning of each text, so that a list stays short.
    pub brief: bool,
    pub after: Option<Cursor>,
    pub limit: u32,
}

/// A question, with its text unless that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionView {
    pub question: Question,
    /// The row holds only its digest.
    pub text: Option<String>,
}

/// Which questions to list.
#[derive(Clone, Debug, Default)]
pub struct QuestionQuery {
    pub status: Option<QuestionStatus>,
    pub agent: Option<Name>,
    /// The principal that asked, for any agent, or that started the run whose workflow asked. The
    /// name of a workflow finds what it asked in all runs.
    pub asked_by: Option<Name>,
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
    /// Only questions that this principal or a workflow in its runs asked, or that were asked for
    /// this agent.
    pub concerns: Option<Name>,
    /// Only questions that halt somebody while they are open.
    pub halting: bool,
    /// Only the beginning of each text, so that a list stays short.
    pub brief: bool,
    pub after: Option<Cursor>,
    pub limit: u32,
}

/// Which runs to list.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    pub status: Option<RunStatus>,
    pub session: Option<SessionId>,
    /// The run that started them.
    pub parent: Option<RunId>,
    /// The principal that started them.
    pub initiator: Option<Name>,
    pub kind: Option<RunKind>,
    pub after: Option<Cursor>,
    pub limit: u32,
}

/// Which entries of a run's journal to list.
#[derive(Clone, Debug)]
pub struct JournalQuery {
    pub run: RunId,
    /// Only entries that began after this moment, or at it with a greater key.
    pub after: Option<(Timestamp, EntryKey)>,
    pub limit: u32,
    /// Only the entry with this key.
    pub key: Option<EntryKey>,
    /// Whether to read the results too, which may be long.
    pub results: bool,
}

/// One entry of a journal, with its result as JSON unless that was erased or not asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalLine {
    pub entry: Entry,
    /// The row holds only its digest.
    pub result: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Cursor>,
}

/// A place in a list. Clients treat it as opaque text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// In a list of pending items: the urgency, 0 first, and the deadline.
    inbox: Option<(i64, i64)>,
    /// The time by which the list is sorted, in microseconds.
    at: i64,
    /// Decides between items of the same time.
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
            .ok_or_else(|| Refusal::invalid("cursor", "is invalid; use the `next` of the previous page unchanged"))
    }
}

fn parse_cursor(text: &str) -> Option<Cursor> {
    let parts: Vec<&str> = text.split('~').collect();
    let (inbox, at, id) = match parts.as_slice() {
        ["i", urgency, deadline, at, id] => (Some((urgency.parse().ok()?, deadline.parse().ok()?)), at, id),
        ["n", at, id] => (None, at, id),
        _ => return None,
    };
    // Every listed item has an id of this form. Anything else is not a cursor of ours.
    let id = id.parse::<GateId>().ok()?.to_string();
    Some(Cursor { inbox, at: at.parse().ok()?, id })
}

impl GateQuery {
    /// The statement and its arguments. It selects one row more than the page holds, to show
    /// whether there is another page.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        let workflow = self.requester.as_ref().filter(|name| is_workflow(name));
        let asker = self.requester.as_ref().filter(|name| !is_workflow(name));
        Listing {
            select: rows::select_gates(self.brief),
            deadline: "deadline",
            at: "requested_at",
            equals: vec![
                ("run_id", self.run.as_ref().map(RunId::as_str)),
                ("session_id", self.session.as_ref().map(SessionId::as_str)),
                ("requested_by", workflow.map(Name::as_str)),
                ("asker", asker.map(Name::as_str)),
            ],
            either: None,
            // The indexes of what workflows open have this condition.
            plus: workflow.map(|_| "requested_by <> asker").into_iter().collect(),
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
    /// The statement and its arguments. It selects one row more than the page holds, to show
    /// whether there is another page.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        let workflow = self.asked_by.as_ref().filter(|name| is_workflow(name));
        let asker = self.asked_by.as_ref().filter(|name| !is_workflow(name));
        let halting = self.halting.then_some("halts IS NOT NULL");
        Listing {
            select: rows::select_questions(self.brief),
            deadline: "due",
            at: "asked_at",
            equals: vec![
                ("agent_id", self.agent.as_ref().map(Name::as_str)),
                ("asked_by", workflow.map(Name::as_str)),
                ("asker", asker.map(Name::as_str)),
                ("run_id", self.run.as_ref().map(RunId::as_str)),
                ("session_id", self.session.as_ref().map(SessionId::as_str)),
            ],
            either: self.concerns.as_ref().map(|name| (["asker", "agent_id"], name.as_str())),
            plus: halting.into_iter().chain(workflow.map(|_| "asked_by <> asker")).collect(),
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
    /// The statement and its arguments. It selects one row more than the page holds, to show
    /// whether there is another page.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: rows::select_runs().to_owned(),
            deadline: "started_at",
            at: "started_at",
            equals: vec![
                ("session_id", self.session.as_ref().map(SessionId::as_str)),
                ("parent", self.parent.as_ref().map(RunId::as_str)),
                ("initiator", self.initiator.as_ref().map(Name::as_str)),
                ("kind", self.kind.map(RunKind::word)),
            ],
            either: None,
            plus: Vec::new(),
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

/// Selects runs that a worker can claim: new ones, and those for which something has changed, those
/// that have waited longest first. The arguments from `?2` on are the `workflows` names of
/// workflows.
pub(crate) fn ready(workflows: usize) -> String {
    let names = places(2, workflows);
    format!("SELECT id FROM runs WHERE wakes > parked_wakes AND workflow IN ({names}) ORDER BY moved_at, id LIMIT ?1")
}

/// Selects at most `?1` runs whose node was dead by `?2`; and as many stopped runs whose parent is
/// over, because nothing else wakes those. The arguments from `?3` on are the names of workflows.
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

/// Placeholders for `count` arguments from `first` on. For none it is `NULL`, so that `IN` matches
/// nothing.
fn places(first: usize, count: usize) -> String {
    let places: Vec<_> = (first..first + count).map(|n| format!("?{n}")).collect();
    if places.is_empty() { "NULL".to_owned() } else { places.join(", ") }
}

/// Selects the events after `?3` of the run with stream `?1` and id `?2`, of its gates and of its
/// questions. `position + 0` keeps PostgreSQL from using the index by position, with which it would
/// read the whole log.
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

/// Which deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryQuery {
    pub status: Option<DeliveryStatus>,
    pub channel: Option<String>,
    pub after: Option<Cursor>,
    pub limit: u32,
}

/// A channel with deliveries that are still to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingFor {
    pub channel: String,
    /// When the first of them is due.
    pub due: Timestamp,
}

impl DeliveryQuery {
    /// The statement and its arguments. It selects one row more than the page holds, to show
    /// whether there is another page.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select: rows::select_deliveries().to_owned(),
            deadline: "due",
            at: "created_at",
            equals: vec![("channel", self.channel.as_deref())],
            either: None,
            plus: Vec::new(),
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

/// Selects at most `?1` channels after `?2` with deliveries that wait, each with the time at which
/// the first is due. It steps through the index from channel to channel, so the number of
/// deliveries does not matter.
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

/// Counts the deliveries with the status `?1`.
pub(crate) const COUNT_DELIVERIES: &str = "SELECT count(*) FROM outbox WHERE status = ?1";

/// The next `?2` deliveries to the channel `?1` that wait or are being sent.
pub(crate) const LOAD_WAITING: &str = "channel = ?1 AND due IS NOT NULL ORDER BY due, id LIMIT ?2";

/// Counts the pending gates of `?1` and the bytes of their content, looking at no more than `?2` of
/// them. For SQLite, which without the named index would read every gate that `?1` has ever opened.
pub(crate) const PENDING_OF: &str = "SELECT count(*), CAST(coalesce(sum(content_bytes), 0) AS BIGINT) FROM (
    SELECT content_bytes FROM gates INDEXED BY gates_inbox_of
    WHERE asker = ?1 AND requested_by = ?1 AND status = 'pending' LIMIT ?2) AS own";

/// Counts the open questions of `?1`, no more than `?2`. For SQLite.
pub(crate) const OPEN_OF: &str = "SELECT count(*) FROM (
    SELECT 1 FROM questions INDEXED BY questions_open_of
    WHERE asker = ?1 AND asked_by = ?1 AND status = 'pending' LIMIT ?2) AS own";

/// Counts the runs of `?1` that Folkmoot executes and that are not over, no more than `?2`. For
/// SQLite.
pub(crate) const OPEN_RUNS_OF: &str = "SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_open_of
    WHERE initiator = ?1 AND kind <> 'external' AND status NOT IN ('completed', 'failed', 'cancelled') LIMIT ?2) AS own";

/// Counts the halts of `?1` that are not lifted, no more than `?2`. For SQLite.
pub(crate) const HALTS_OF: &str = "SELECT count(*) FROM (SELECT 1 FROM halts INDEXED BY halts_standing
    WHERE raised_by = ?1 AND lifted_at IS NULL LIMIT ?2) AS own";

/// Selects at most `?1` principals that have pending gates, or whose runs have. It steps through
/// the index from principal to principal, so the number of gates does not matter.
pub(crate) const REQUESTERS: &str = "WITH RECURSIVE requesters (name) AS (
    SELECT min(asker) FROM gates WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(asker) FROM gates WHERE status = 'pending' AND asker > requesters.name)
    FROM requesters WHERE requesters.name IS NOT NULL)
  SELECT name FROM requesters WHERE name IS NOT NULL LIMIT ?1";

/// Like [`REQUESTERS`], for questions.
pub(crate) const ASKERS: &str = "WITH RECURSIVE askers (name) AS (
    SELECT min(asker) FROM questions WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(asker) FROM questions WHERE status = 'pending' AND asker > askers.name)
    FROM askers WHERE askers.name IS NOT NULL)
  SELECT name FROM askers WHERE name IS NOT NULL LIMIT ?1";

/// How far to count for a quota: one above the limit shows that it is exceeded.
pub(crate) fn counted(limit: Option<u64>) -> i64 {
    limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
}

/// What the lists of gates, questions, runs and deliveries have in common.
struct Listing<'a> {
    select: String,
    deadline: &'static str,
    at: &'static str,
    equals: Vec<(&'static str, Option<&'a str>)>,
    /// One of the two columns must have this value.
    either: Option<([&'static str; 2], &'a str)>,
    plus: Vec<&'static str>,
    status: Option<&'static str>,
    /// Whether the list holds pending items, which are sorted by urgency.
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
        conditions.extend(self.plus.iter().map(ToString::to_string));
        // The status is part of the statement and not an argument, because the planner uses a
        // partial index only if it sees the value.
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
        // The limit is an argument. Callers choose it, and each different statement is kept
        // prepared.
        arguments.push(Value::Int(i64::from(self.limit) + 1));
        let n = arguments.len();
        Ok((format!("{} WHERE {conditions} ORDER BY {order} LIMIT ?{n}", self.select), arguments))
    }
}

/// The maximum total length of the texts on one page. A single longer text still fits.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// Cuts the rows that were found to a page. One row more than the limit means that there is another
/// page. Each item may have a long text; many of them make the page shorter.
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

/// The id after which runs continue in a walk through all streams that has reached `after`, so that
/// the index by id can be used. The streams of runs (`run:…`) lie together, but other streams can
/// sort before and after them.
pub(crate) fn runs_after(after: &str) -> &str {
    match after.strip_prefix("run:") {
        Some(id) => id,
        None if after < "run:" => "",
        None => AFTER_ALL_IDS,
    }
}

/// Sorts after every id, because ids are ASCII.
const AFTER_ALL_IDS: &str = "\u{10ffff}";

/// Selects the next `?2` streams by id after `?1`, both those that have a row and those that only
/// the log knows. Runs start after the id `?3`.
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

/// Selects the bytes with digest `?1` that gates and questions may show.
pub(crate) const SHOWN: &str = "SELECT content FROM artifacts WHERE digest = ?1 AND barred = 0";
/// Selects the bytes with digest `?1` that a run recorded.
pub(crate) const RECORDED: &str = "SELECT content FROM artifacts WHERE digest = ?1";

/// Selects something that is not over and needs the content with digest `?1`. A run that Folkmoot
/// executes is replayed from its top until it ends, so it needs the decisions on its gates and the
/// results of its child runs, however old they are.
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

/// Selects the events that erased the content with digest `?1` because of its age. The condition on
/// the stream lets the index find them.
pub(crate) fn retirements() -> String {
    let names = rows::EVENTS.names();
    format!(
        "SELECT {names} FROM events WHERE stream > 'retention:' AND stream < 'retention;' AND payload LIKE '%' || ?1 || '%'"
    )
}

/// Sorts events into the order of the log and removes duplicates.
pub(crate) fn each_once(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| event.position);
    events.dedup_by_key(|event| event.position);
    events
}

/// Selects the contents that no gate and no question may show again.
pub(crate) const BARRED: &str = "SELECT digest FROM artifacts WHERE barred = 1";

/// The condition for questions that hold somebody.
pub(crate) const HOLDING: &str = "holds IS NOT NULL";
/// The condition for halts that are not lifted.
pub(crate) const STANDING: &str = "lifted_at IS NULL";
