//! Queries for records and for run summaries, and their SQL.

use folkmoot_core::{
    Name, RecordQuery, Refusal, RunId,
    record::RecordOrder,
    run::{RunKind, RunSummary, SummaryStatus},
};

use super::{Cursor, Listing, Page, cut};
use crate::rows::{Value, int};

/// Which run summaries to list, newest first.
#[derive(Clone, Debug, Default)]
pub struct RunSummaryQuery {
    pub id: Option<RunId>,
    pub kind: Option<RunKind>,
    pub status: Option<SummaryStatus>,
    pub initiated_by: Option<Name>,
    pub after: Option<Cursor>,
    pub limit: u32,
}

impl RunSummaryQuery {
    /// The statement and its arguments. It selects one row more than the page holds, to show
    /// whether there is another page.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value<'_>>), Refusal> {
        Listing {
            select:
                "SELECT id, session_id, title, initiator, started_at, moved_at, status, waiting_at FROM run_summaries"
                    .to_owned(),
            deadline: "started_at",
            at: "started_at",
            equals: vec![
                ("id", self.id.as_ref().map(RunId::as_str)),
                ("kind", self.kind.map(RunKind::word)),
                ("initiator", self.initiated_by.as_ref().map(Name::as_str)),
            ],
            either: None,
            plus: self.status.map(of_status).into_iter().collect(),
            status: None,
            inbox: false,
            after: self.after.as_ref(),
            limit: self.limit,
        }
        .sql()
    }

    /// Cuts what [`RunSummaryQuery::sql`] found to a page.
    pub(crate) fn page(&self, items: Vec<RunSummary>) -> Page<RunSummary> {
        cut(
            items,
            self.limit,
            |_| None,
            |run| Cursor { inbox: None, at: run.created_at.as_micros(), id: run.id.to_string() },
        )
    }
}

/// Each condition matches an index, so that a search for runs that are not over does not read those
/// that are.
fn of_status(status: SummaryStatus) -> &'static str {
    match status {
        SummaryStatus::Pending => "run_status NOT IN ('completed', 'failed', 'cancelled') AND status = 'pending'",
        SummaryStatus::Running => "run_status NOT IN ('completed', 'failed', 'cancelled') AND status = 'running'",
        SummaryStatus::Paused => "run_status NOT IN ('completed', 'failed', 'cancelled') AND status = 'paused'",
        SummaryStatus::Completed => "run_status = 'completed'",
        SummaryStatus::Failed => "run_status = 'failed'",
        SummaryStatus::Cancelled => "run_status = 'cancelled'",
    }
}

/// The statement and its arguments. Values of fields are compared as JSON text, which both
/// databases write in the same way.
pub(crate) fn sql(query: &RecordQuery) -> (String, Vec<Value<'_>>) {
    let mut arguments: Vec<Value<'_>> = Vec::new();
    let mut place = |value| {
        arguments.push(value);
        format!("?{}", arguments.len())
    };
    let mut conditions = vec!["1 = 1".to_owned()];
    let collection = Some(query.collection.as_str()).filter(|name| !name.is_empty()).into_iter().collect();
    let runs: Vec<&str> = query.runs.iter().map(RunId::as_str).collect();
    let ids: Vec<&str> = query.ids.iter().map(String::as_str).collect();
    for (column, values) in [("collection", collection), ("run_id", runs), ("id", ids)] {
        let places: Vec<_> = values.into_iter().map(|value| place(Value::Text(value.into()))).collect();
        if !places.is_empty() {
            conditions.push(format!("{column} IN ({})", places.join(", ")));
        }
    }
    for (name, values) in &query.fields {
        let name = place(Value::Text((*name).into()));
        let places: Vec<_> = values.iter().map(|value| place(Value::Text(value.to_string().into()))).collect();
        conditions.push(format!("CAST(fields -> CAST({name} AS TEXT) AS TEXT) IN ({})", places.join(", ")));
    }
    if let Some(name) = &query.initiated_by {
        let by = place(Value::Text(name.as_str().into()));
        conditions.push(format!("EXISTS (SELECT 1 FROM runs WHERE runs.id = run_id AND runs.initiator = {by})"));
    }
    if let Some(name) = query.with_text {
        let digest = format!("texts ->> CAST({} AS TEXT)", place(Value::Text(name.into())));
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM artifacts WHERE digest = {digest} AND content IS NOT NULL AND barred = 0)"
        ));
    }
    let order = match &query.order {
        RecordOrder::Place { after } => {
            conditions.extend(after.map(|after| format!("place > {}", place(Value::Int(int(after))))));
            "place"
        }
        RecordOrder::Id { after } => {
            let after = after.as_deref().map(|after| format!("id > {}", place(Value::Text(after.into()))));
            conditions.extend(after);
            "id"
        }
        RecordOrder::Newest => "created_at DESC, id DESC",
    };
    let (conditions, limit) = (conditions.join(" AND "), place(Value::Int(query.limit.into())));
    let sql = format!(
        "SELECT run_id, collection, id, place, CAST(fields AS TEXT), CAST(texts AS TEXT), created_at, expires_at
         FROM record_fields WHERE {conditions} ORDER BY {order} LIMIT {limit}"
    );
    (sql, arguments)
}

/// Selects at most `?1` ids of runs that have records but no row.
pub(crate) const STRAYS: &str = "SELECT DISTINCT run_id FROM records
    WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = records.run_id) ORDER BY run_id LIMIT ?1";

/// Deletes at most `?2` records that expired by `?1`.
pub(crate) const FORGET: &str = "DELETE FROM records WHERE (run_id, collection, id) IN
    (SELECT run_id, collection, id FROM records WHERE expires_at <= ?1 ORDER BY expires_at, run_id, id LIMIT ?2)";
