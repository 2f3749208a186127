//! Deletes what is too old: contents of what is over, delivered messages, expired records and
//! idempotency keys.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use folkmoot_core::{Digest, Outcome, RunId, Timestamp, audit::AuditedRow, erase, run::RunKind};
use folkmoot_store::{Error, History, RunQuery, Store};

use crate::Engine;

/// How often to check for old data.
const HOUR: Duration = Duration::from_secs(3600);
/// Contents are checked only every this many times, because all rows must be read for it.
const CONTENTS_EVERY: u32 = 6;
/// How many rows are read at once.
const PAGE: u32 = 500;
/// How many digests are held in memory while checking whether anything needs them.
const DIGESTS: usize = 20_000;
/// How many contents one command erases, and one event records.
const AT_ONCE: usize = 100;
/// How many deliveries or records are deleted at once.
const FORGOTTEN_AT_ONCE: u32 = 1000;

/// How long data is kept; `None` means forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Contents, counted from when everything that shows them is over.
    pub contents: Option<Duration>,
    /// Deliveries, counted from when they were delivered.
    pub deliveries: Option<Duration>,
    /// Idempotency keys, counted from their use.
    pub idempotency: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { contents: None, deliveries: None, idempotency: Duration::from_secs(7 * 24 * 3600) }
    }
}

impl Engine {
    /// Erases contents of what has been over for long enough, unless something else needs them.
    /// Returns how many were erased.
    pub async fn retire(&self) -> Result<u64, Error> {
        let Some(span) = self.0.retention.contents else { return Ok(0) };
        let before = ago(self.now(), span);
        let over = RetentionCutoff { before, going_on: self.going_on().await? };
        let (mut after, mut erased) = (String::new(), 0);
        loop {
            let (mut old, reached) = self.old_contents(after, &over).await?;
            self.keep_needed(&mut old, &over).await?;
            let old: Vec<Digest> = old.into_iter().collect();
            for digests in old.chunks(AT_ONCE) {
                let action = erase::Action::Retire { digests: digests.to_vec(), decided_before: before };
                if let Outcome::Erased(digests) = self.execute_command(self.system_command(action)).await? {
                    erased += digests.len() as u64;
                }
            }
            match reached {
                Some(reached) => after = reached,
                None => break,
            }
        }
        if erased > 0 && !self.scrub().await? && !self.0.store.is_shared() {
            tracing::warn!("what was erased is still in the database's write-ahead log; it goes when nobody reads it");
        }
        Ok(erased)
    }

    /// The runs that Folkmoot executes and that are not over.
    async fn going_on(&self) -> Result<HashSet<RunId>, Error> {
        let (mut going_on, mut after) = (HashSet::new(), None);
        loop {
            let page = self.0.store.runs(RunQuery { after, limit: PAGE, ..RunQuery::default() }).await?;
            let live =
                page.items.into_iter().filter(|run| run.ending().is_none() && run.start.kind != RunKind::External);
            going_on.extend(live.map(|run| run.start.id));
            after = page.next;
            if after.is_none() {
                return Ok(going_on);
            }
        }
    }

    /// The contents of what was over before the cutoff, at most about [`DIGESTS`], and where to
    /// continue.
    async fn old_contents(
        &self,
        mut after: String,
        over: &RetentionCutoff,
    ) -> Result<(HashSet<Digest>, Option<String>), Error> {
        let mut old = HashSet::new();
        while old.len() < DIGESTS {
            let histories = self.0.store.histories(&after, PAGE).await?;
            let Some(last) = histories.last() else { return Ok((old, None)) };
            after.clone_from(&last.stream);
            let mut digests = BTreeSet::new();
            for history in &histories {
                let row = readable(history)?;
                if let Some(row) = row.filter(|row| over.is(row)) {
                    digests.extend(row.all_contents(&history.events));
                }
            }
            let kept = self.0.store.content_statuses(digests.into_iter().collect()).await?;
            let retiring = kept.iter().filter(|kept| kept.present && kept.is_unused_since(over.before));
            old.extend(retiring.map(|kept| kept.digest));
        }
        Ok((old, Some(after)))
    }

    /// Removes the contents that something needs that is not over, or not for long enough.
    async fn keep_needed(&self, old: &mut HashSet<Digest>, over: &RetentionCutoff) -> Result<(), Error> {
        let mut after = String::new();
        while !old.is_empty() {
            let histories = self.0.store.histories(&after, PAGE).await?;
            let Some(last) = histories.last() else { return Ok(()) };
            after.clone_from(&last.stream);
            for history in &histories {
                if let Some(row) = readable(history)?.filter(|row| !over.is(row)) {
                    for digest in row.all_contents(&history.events) {
                        old.remove(&digest);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Decides which rows have been over for so long that their contents may be erased.
struct RetentionCutoff {
    /// Rows that were over before this time.
    before: Timestamp,
    /// Runs that Folkmoot executes and that are not over. They are replayed from their top, and
    /// need the decisions on their gates and the results of their children.
    going_on: HashSet<RunId>,
}

impl RetentionCutoff {
    fn is(&self, row: &AuditedRow) -> bool {
        let run = match row {
            AuditedRow::Gate(gate) => gate.run_id.as_ref(),
            AuditedRow::Run(run, ..) => run.start.parent.as_ref(),
            AuditedRow::Question(_) | AuditedRow::Halt(_) => None,
        };
        let is_replayed = run.is_some_and(|run| self.going_on.contains(run));
        !is_replayed && row.over_since().is_some_and(|since| since < self.before)
    }
}

/// The row of a history. A row that cannot be read may need any content, so it is an error and
/// nothing is erased.
fn readable(history: &History) -> Result<Option<&AuditedRow>, Error> {
    let unreadable = |why: &String| Error::Unreadable(format!("the row of {}: {why}", history.stream));
    history.row.as_ref().map(|row| row.as_ref().map_err(unreadable)).transpose()
}

/// Deletes what is too old, forever.
pub(crate) async fn keep(engine: Engine) {
    for round in 0_u32.. {
        if let Err(error) = forget(&engine, round).await {
            tracing::warn!("what is too old cannot be removed just now: {error}");
        }
        engine.0.host.sleep(HOUR).await;
    }
}

async fn forget(engine: &Engine, round: u32) -> Result<(), Error> {
    let (store, retention) = (&engine.0.store, &engine.0.retention);
    store.forget_keys(ago(engine.now(), retention.idempotency)).await?;
    if let Some(span) = retention.deliveries {
        while store.forget_deliveries(ago(engine.now(), span), FORGOTTEN_AT_ONCE).await? >= FORGOTTEN_AT_ONCE.into() {}
    }
    // Each record has its own expiry.
    while store.forget_records(engine.now(), FORGOTTEN_AT_ONCE).await? >= FORGOTTEN_AT_ONCE.into() {}
    if retention.contents.is_some() && round.is_multiple_of(CONTENTS_EVERY) {
        let erased = engine.retire().await?;
        tracing::info!("{erased} contents were older than they are kept, and were erased");
    }
    Ok(())
}

fn ago(now: Timestamp, span: Duration) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
}
