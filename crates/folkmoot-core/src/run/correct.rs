//! Correcting a record that a run has kept.

use super::{Run, RunEvent};
use crate::{
    Commit, Row,
    judge::{Case, RefusedWith},
    record::Correction,
};

/// Judges a correction and returns what to write.
pub(super) fn judge(case: &Case<'_>, correction: &Correction, run: Option<Run>) -> Result<Commit, RefusedWith> {
    let run = Run::found(run, &correction.record.run_id)?;
    let (record, kind, payload) = correction.correct(&run, case.principal("correct a record")?)?;
    let texts = case.store_contents_unless_erased(std::iter::once(correction.text.as_bytes().to_vec()))?;
    let on_behalf_of = Some(run.start.initiator.clone());
    let event = RunEvent::Emitted { kind, payload, at: case.now };
    let mut commit = run.commit_event(case, &event);
    commit.events.iter_mut().for_each(|fact| fact.on_behalf_of.clone_from(&on_behalf_of));
    commit.rows.extend(texts);
    commit.rows.push(Row::Record(Box::new(record)));
    Ok(commit)
}
