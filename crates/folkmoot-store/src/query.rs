//! What can be asked of the gates.

use std::fmt;

use folkmoot_core::{Gate, GateId, Name, Refusal, RunId, SessionId, Status};

use crate::rows::{self, Value};

/// A gate, with the text of its summary unless that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateView {
    /// The row.
    pub gate: Gate,
    /// What the row has only as a digest.
    pub summary: Option<String>,
}

/// Which gates, and from where on.
#[derive(Clone, Debug, Default)]
pub struct GateQuery {
    /// Only these.
    pub status: Option<Status>,
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

/// Part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// In order.
    pub items: Vec<T>,
    /// `None` at the end.
    pub next: Option<Cursor>,
}

/// A place in a list of gates. Text to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// In the inbox.
    Inbox {
        /// How urgent, 0 first.
        urgency: i64,
        /// Then by deadline.
        deadline: i64,
        /// Then by age.
        requested_at: i64,
        /// Then by id.
        id: GateId,
    },
    /// Among all gates, newest first.
    Newest {
        /// By age.
        requested_at: i64,
        /// Then by id.
        id: GateId,
    },
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Inbox { urgency, deadline, requested_at, id } => {
                write!(f, "i~{urgency}~{deadline}~{requested_at}~{id}")
            }
            Cursor::Newest { requested_at, id } => write!(f, "n~{requested_at}~{id}"),
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
    match parts.as_slice() {
        ["i", urgency, deadline, requested_at, id] => Some(Cursor::Inbox {
            urgency: urgency.parse().ok()?,
            deadline: deadline.parse().ok()?,
            requested_at: requested_at.parse().ok()?,
            id: id.parse().ok()?,
        }),
        ["n", requested_at, id] => {
            Some(Cursor::Newest { requested_at: requested_at.parse().ok()?, id: id.parse().ok()? })
        }
        _ => None,
    }
}

impl GateQuery {
    /// The statement and its arguments, one more row than the page holds.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        let mut arguments = Vec::new();
        let mut conditions = Vec::new();
        let mut equals = |column: &str, text: &'_ str| {
            arguments.push(Value::Text(text.to_owned().into()));
            conditions.push(format!("{column} = ?{}", arguments.len()));
        };
        if let Some(run) = &self.run {
            equals("run_id", run.as_str());
        }
        if let Some(session) = &self.session {
            equals("session_id", session.as_str());
        }
        if let Some(requester) = &self.requester {
            equals("requested_by", requester.as_str());
        }
        // The word itself, not an argument: a partial index is only used where the planner sees it.
        conditions.extend(self.status.map(|status| format!("status = '{status}'")));
        let inbox = self.status == Some(Status::Pending);
        match (&self.after, inbox) {
            (None, _) => {}
            (Some(Cursor::Inbox { urgency, deadline, requested_at, id }), true) => {
                let n = arguments.len();
                conditions.push(format!(
                    "(urgency, deadline, requested_at, id) > (?{}, ?{}, ?{}, ?{})",
                    n + 1,
                    n + 2,
                    n + 3,
                    n + 4
                ));
                arguments.extend([Value::Int(*urgency), Value::Int(*deadline), Value::Int(*requested_at)]);
                arguments.push(Value::Text(id.as_str().into()));
            }
            (Some(Cursor::Newest { requested_at, id }), false) => {
                let n = arguments.len();
                conditions.push(format!("(requested_at, id) < (?{}, ?{})", n + 1, n + 2));
                arguments.extend([Value::Int(*requested_at), Value::Text(id.as_str().into())]);
            }
            (Some(_), _) => {
                return Err(Refusal::invalid("cursor", "belongs to a list with another status; start again"));
            }
        }
        let conditions = if conditions.is_empty() { "1 = 1".to_owned() } else { conditions.join(" AND ") };
        let order = if inbox { "urgency, deadline, requested_at, id" } else { "requested_at DESC, id DESC" };
        // An argument, so that there are few statements: each is kept prepared, and callers choose the number.
        arguments.push(Value::Int(i64::from(self.limit) + 1));
        let n = arguments.len();
        let sql = format!("{} WHERE {conditions} ORDER BY {order} LIMIT ?{n}", rows::select_gates());
        Ok((sql, arguments))
    }

    /// Cuts what [`GateQuery::sql`] found to a page.
    pub(crate) fn page(&self, mut items: Vec<GateView>) -> Page<GateView> {
        let whole = items.len() <= self.limit as usize;
        items.truncate(self.limit as usize);
        let next = if whole { None } else { items.last().map(|last| self.cursor(&last.gate)) };
        Page { items, next }
    }

    fn cursor(&self, gate: &Gate) -> Cursor {
        let (requested_at, id) = (gate.requested_at.as_micros(), gate.id.clone());
        if self.status != Some(Status::Pending) {
            return Cursor::Newest { requested_at, id };
        }
        Cursor::Inbox {
            urgency: rows::urgency(gate.content.risk),
            deadline: gate.deadline.as_micros(),
            requested_at,
            id,
        }
    }
}

/// The next gates by id, of those that have a row and of those that only the log knows.
pub(crate) const STREAMS: &str = "SELECT id FROM (
    SELECT id FROM (SELECT id FROM gates WHERE id > ?1 ORDER BY id LIMIT ?2) AS with_row
    UNION
    SELECT stream FROM (
      SELECT stream FROM events WHERE stream > ?1 AND stream_seq = 1 AND type = 'gate.opened' ORDER BY stream LIMIT ?2
    ) AS with_log
  ) AS known ORDER BY id LIMIT ?2";
