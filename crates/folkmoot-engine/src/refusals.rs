//! Limits how many refused attempts of one principal are recorded in the log, so that repeated
//! attempts cannot fill it.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use folkmoot_core::{Action, Actor, Command, Name, Timestamp, gate, question};
use folkmoot_store::Error;

use crate::lock::lock;

/// How many refused attempts of one principal are recorded within [`SPAN`]. Further ones are only
/// counted.
const RECORDED_MAX: u32 = 60;
const SPAN: Duration = Duration::from_secs(60 * 60);

/// The refused attempts on this node, by principal. There are at most as many principals as tokens.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<HashMap<Name, RefusalCount>>);

#[derive(Debug)]
struct RefusalCount {
    since: Timestamp,
    recorded: u32,
    unrecorded: u64,
}

impl Refusals {
    /// Sets whether the command's refusal would be recorded, and how many were not since the last
    /// one that was.
    pub(crate) fn prepare(&self, command: &mut Command, now: Timestamp) {
        let Some(name) = attempts(command) else { return };
        let counted = lock(&self.0);
        if let Some(RefusalCount { since, recorded, unrecorded }) = counted.get(name) {
            command.quota.records_refusals = *recorded < RECORDED_MAX || now.since(*since) >= SPAN;
            command.quota.unrecorded = *unrecorded;
        }
    }

    /// Counts an attempt if it was refused.
    pub(crate) fn note(&self, attempt: &ReviewAttempt, error: &Error, now: Timestamp) {
        if error.refusal().is_none() {
            return;
        }
        let mut all = lock(&self.0);
        let counted =
            all.entry(attempt.name.clone()).or_insert(RefusalCount { since: now, recorded: 0, unrecorded: 0 });
        if now.since(counted.since) >= SPAN {
            (counted.since, counted.recorded) = (now, 0);
        }
        if attempt.recorded {
            counted.recorded += 1;
            counted.unrecorded = counted.unrecorded.saturating_sub(attempt.unrecorded);
        } else {
            if counted.unrecorded == 0 {
                tracing::warn!("{} is refused so often that its attempts are no longer recorded", attempt.name);
            }
            counted.unrecorded += 1;
            metrics::counter!("folkmoot_refusals_unrecorded_total").increment(1);
        }
    }
}

/// An attempt to decide, to answer, or to raise or lift a halt.
#[derive(Debug)]
pub(crate) struct ReviewAttempt {
    name: Name,
    recorded: bool,
    unrecorded: u64,
}

impl ReviewAttempt {
    /// `None` for a command whose refusal is never recorded.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        let name = attempts(command)?.clone();
        Some(Self { name, recorded: command.quota.records_refusals, unrecorded: command.quota.unrecorded })
    }
}

fn attempts(command: &Command) -> Option<&Name> {
    match (&command.by, &command.action) {
        (
            Actor::Principal(by),
            Action::Gate(gate::Action::Decide(_)) | Action::Question(question::Action::Close(_)) | Action::Halt(_),
        ) => Some(&by.name),
        _ => None,
    }
}
