//! How much one run may do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Run;
use crate::{Principal, Refusal, Role, Timestamp};

/// What a run may use up before it fails. Recorded when it starts: a later change of code does not
/// reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct RunLimits {
    /// Entries in its journal.
    pub steps_max: u32,
    /// Bytes of all results in its journal, and of what it keeps.
    pub journal_bytes_max: u64,
    /// Time during which it is worked on; waiting is not counted.
    pub active_ms_max: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { steps_max: 100_000, journal_bytes_max: 256 << 20, active_ms_max: 24 * 3600 * 1000 }
    }
}

impl RunLimits {
    /// Refuses limits of zero, and an agent that asks for more than the default: only people may
    /// grant what costs more.
    pub(crate) fn must_not_exceed_default(&self, by: &Principal) -> Result<(), Refusal> {
        if self.steps_max == 0 || self.journal_bytes_max == 0 || self.active_ms_max == 0 {
            return Err(Refusal::invalid("limits", "must be at least 1 each: a run that may do nothing is none"));
        }
        let usual = RunLimits::default();
        let more = self.steps_max > usual.steps_max
            || self.journal_bytes_max > usual.journal_bytes_max
            || self.active_ms_max > usual.active_ms_max;
        if more && by.role == Role::Agent {
            let RunLimits { steps_max, journal_bytes_max, active_ms_max } = usual;
            let policy = format!(
                "at most {steps_max} steps, {journal_bytes_max} bytes of journal and {active_ms_max} ms of work"
            );
            return Err(Refusal::WeakensPolicy { field: "limits", policy });
        }
        Ok(())
    }

    /// How much longer a run may be worked on.
    pub fn time_left(&self, run: &Run, now: Timestamp) -> Duration {
        Duration::from_millis(self.active_ms_max).saturating_sub(run.active(now))
    }
}

impl Run {
    /// Refuses `new_entries` more entries with `bytes` more bytes of results if the run may not
    /// have them, or if its time is used up.
    pub(crate) fn must_have_room(&self, new_entries: u32, bytes: u64, now: Timestamp) -> Result<(), Refusal> {
        let limits = &self.start.limits;
        let over = |what, limit: u64| Err(Refusal::LimitExceeded { run: self.start.id.clone(), what, limit });
        if new_entries > 0 && self.steps >= limits.steps_max {
            return over("steps", limits.steps_max.into());
        }
        if self.journal_bytes.saturating_add(bytes) > limits.journal_bytes_max {
            return over("bytes of journal", limits.journal_bytes_max);
        }
        if limits.time_left(self, now).is_zero() {
            return over("milliseconds of work", limits.active_ms_max);
        }
        Ok(())
    }
}
