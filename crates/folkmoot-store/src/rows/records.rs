//! The rows of records and of run summaries.

use std::collections::BTreeMap;

use folkmoot_core::{Deadline, Record, RecordView, Timestamp, record::RecordNote, run::RunSummary};

use super::{
    Columns, Conflict, Table,
    Type::{Int, Text},
    Value, from_json, int, json, parse, parse_maybe, position, read_text, text,
};
use crate::{Error, Store};

pub(crate) const TABLE: Table = Table {
    name: "records",
    conflict: Conflict::Replaces { key: &["run_id", "collection", "id"], but: &[] },
    columns: &[
        ("run_id", Text),
        ("collection", Text),
        ("id", Text),
        ("place", Int),
        ("fields", Text),
        ("texts", Text),
        ("created_at", Int),
        ("expires_at", Int),
    ],
};

pub(crate) fn record(row: &Record) -> Vec<Value<'_>> {
    vec![
        text(row.run_id.as_str()),
        text(&row.collection),
        text(&row.id),
        Value::Int(int(row.place)),
        json(&row.fields),
        json(&row.texts),
        Value::Int(row.at.as_micros()),
        Value::Int(row.expires_at.as_micros()),
    ]
}

pub(crate) fn read_record(row: &dyn Columns) -> Result<Record, Error> {
    Ok(Record {
        run_id: parse(&row.text(0)?)?,
        collection: row.text(1)?,
        id: row.text(2)?,
        place: position(row.int(3)?)?,
        fields: from_json(&row.text(4)?)?,
        texts: from_json(&row.text(5)?)?,
        at: Timestamp::from_micros(row.int(6)?),
        expires_at: Deadline::from_micros(row.int(7)?),
    })
}

/// Adds the texts of the records, except for those that were erased.
pub(crate) async fn with_texts(store: &(impl Store + ?Sized), rows: Vec<Record>) -> Result<Vec<RecordView>, Error> {
    let digests = rows.iter().flat_map(|row| row.texts.values().copied()).collect();
    let mut contents = store.contents(digests).await?.into_iter();
    let mut views = Vec::new();
    for record in rows {
        let mut texts = BTreeMap::new();
        for (name, content) in record.texts.keys().zip(contents.by_ref().take(record.texts.len())) {
            texts.extend(read_text(content)?.map(|text| (name.clone(), text)));
        }
        views.push(RecordView { record, texts });
    }
    Ok(views)
}

/// Sorts notes as the fold of the log has them.
pub(crate) fn in_order(mut notes: Vec<RecordNote>) -> Vec<RecordNote> {
    notes.sort_by(|one, other| (&one.collection, &one.id).cmp(&(&other.collection, &other.id)));
    notes
}

pub(crate) fn read_summary(row: &dyn Columns) -> Result<RunSummary, Error> {
    Ok(RunSummary {
        id: parse(&row.text(0)?)?,
        session_id: parse(&row.text(1)?)?,
        title: row.text(2)?,
        initiated_by: parse(&row.text(3)?)?,
        created_at: Timestamp::from_micros(row.int(4)?),
        updated_at: Timestamp::from_micros(row.int(5)?),
        status: parse(&row.text(6)?)?,
        waiting_at: parse_maybe(row.maybe_text(7)?)?,
    })
}
