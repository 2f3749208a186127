//! `GET /v1/runs/{id}/journal`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, JournalEntry, JournalPage, Problem};
use folkmoot_core::{
    Refusal, Timestamp,
    journal::{Entry, EntryKey, EntryState},
};
use folkmoot_store::{JournalLine, JournalQuery};

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, RunPath, limit},
};

const LIMIT: u32 = 100;
const LIMIT_MAX: u32 = 500;
/// The size of all results on a page, unless a single one is longer.
const PAGE_BYTES_MAX: u64 = 4 << 20;

/// Reads a run's journal
///
/// Its steps in the order in which they began, with their results, and its waits.
#[utoipa::path(get, path = "/v1/runs/{id}/journal", operation_id = "read_journal", tag = "runs", params(("id" = String, Path), wire::JournalListParams),
    responses((status = 200, body = JournalPage), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn journal(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(run): RunPath,
    Query(query): Query<wire::JournalListParams>,
) -> Result<Json<JournalPage>, ApiError> {
    let after = query.cursor.as_deref().map(place).transpose()?;
    let limit = limit(query.limit, LIMIT, LIMIT_MAX)?;
    // One more than the page, to know whether there is another page.
    let query = JournalQuery { run, after, limit: limit + 1, key: None, results: false };
    let mut lines = app.engine.journal(&who.principal, query).await?;
    let found = lines.len();
    lines.truncate(limit as usize);
    lines.truncate(fitting(&lines));
    let next = lines.last().filter(|_| found > lines.len()).map(|line| cursor(&line.entry));
    let mut entries = Vec::with_capacity(lines.len());
    for line in lines {
        let result = app.engine.result(&line.entry).await?;
        let awaited = match &line.entry.state {
            EntryState::Waiting(waits) => app.engine.awaited(waits).await?,
            EntryState::Begun | EntryState::Failing { .. } | EntryState::Done { .. } | EntryState::Failed { .. } => {
                None
            }
        };
        let awaited = awaited.map(|awaited| (awaited.at, awaited.outcome));
        entries.push(JournalEntry::new(line.entry, result, awaited));
    }
    Ok(Json(JournalPage { entries, next }))
}

/// How many lines fit a page of [`PAGE_BYTES_MAX`], at least one.
fn fitting(lines: &[JournalLine]) -> usize {
    let mut bytes = 0;
    let fits = |line: &&JournalLine| {
        bytes += line.entry.bytes();
        bytes <= PAGE_BYTES_MAX
    };
    lines.iter().take_while(fits).count().max(1)
}

/// A place in a journal, safe in a URL for any key.
fn cursor(Entry { began_at, key, .. }: &Entry) -> String {
    let hex: String = key.as_str().bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}~{hex}", began_at.as_micros())
}

fn place(cursor: &str) -> Result<(Timestamp, EntryKey), Refusal> {
    let read = || {
        let (micros, hex) = cursor.split_once('~')?;
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let key: Vec<u8> = hex.as_bytes().chunks(2).map(byte).collect::<Option<_>>()?;
        let key = String::from_utf8(key).ok()?.parse().ok()?;
        Some((Timestamp::from_micros(micros.parse().ok()?), key))
    };
    read().ok_or_else(|| Refusal::invalid("cursor", "is invalid; use the `next` of the previous page unchanged"))
}
