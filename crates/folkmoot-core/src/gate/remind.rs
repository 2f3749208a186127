//! Reminders and escalations before a gate's deadline. They neither open nor close the gate.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Gate, GateEvent, GatePolicy};
use crate::{Deadline, Refusal, Timestamp};

/// The maximum number of reminders before one deadline.
const REMINDERS_MAX: usize = 16;

/// When a gate reminds and escalates before its deadline, as the policy said when it was opened,
/// and how often it has done so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reminders {
    /// It reminds when this much time is left; the longest time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remind_before_ms: Vec<u64>,
    /// It escalates when this much time is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_before_ms: Option<u64>,
    /// Additional channels to notify of an escalation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalate_to: Vec<String>,
    #[serde(flatten)]
    pub next: NextReminders,
    /// How often it has reminded.
    #[serde(skip_serializing_if = "is_zero")]
    pub reminded: u32,
    /// How often it has escalated before its deadline.
    #[serde(skip_serializing_if = "is_zero")]
    pub escalations: u32,
}

/// When the next reminder and the next escalation before the current deadline are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NextReminders {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_at: Option<Timestamp>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Reminders {
    /// Whether nothing is configured and nothing has happened, so that JSON can leave it out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What the policy says, for a gate that opens now.
    pub(super) fn resolve(policy: &GatePolicy, deadline: Deadline, now: Timestamp) -> Self {
        let mut reminders = Self {
            remind_before_ms: policy.remind_before_ms.clone(),
            escalate_before_ms: policy.escalate_before_ms,
            escalate_to: policy.escalate_to.clone(),
            ..Self::default()
        };
        reminders.remind_before_ms.sort_unstable_by(|a, b| b.cmp(a));
        reminders.remind_before_ms.dedup();
        reminders.next = reminders.before(deadline, now);
        reminders
    }

    /// The next reminder and escalation after `now` and before this deadline. Those that would
    /// already have been due are skipped, because another event of the gate has just happened. Only
    /// the first escalation is never skipped, because its channels may not know of the gate at all.
    pub(super) fn before(&self, deadline: Deadline, now: Timestamp) -> NextReminders {
        let Deadline::At(deadline) = deadline else { return NextReminders::default() };
        let moment = |left_ms: u64| {
            let left = i64::try_from(Duration::from_millis(left_ms).as_micros()).unwrap_or(i64::MAX);
            Timestamp::from_micros(deadline.as_micros().saturating_sub(left))
        };
        let escalate_at = self.escalate_before_ms.map(moment);
        NextReminders {
            remind_at: self.remind_before_ms.iter().map(|left| moment(*left)).find(|moment| *moment > now),
            escalate_at: match self.escalations {
                0 => escalate_at.map(|moment| moment.max(now)),
                _ => escalate_at.filter(|moment| *moment > now),
            },
        }
    }
}

impl Gate {
    /// When its timer must fire: for a reminder, for an escalation, or at its deadline.
    pub fn due(&self) -> Deadline {
        let NextReminders { remind_at, escalate_at } = self.reminders.next;
        let sooner = [remind_at, escalate_at].into_iter().flatten().min().map_or(Deadline::Never, Deadline::At);
        sooner.min(self.deadline)
    }
}

/// The event that follows when the timer fires before the deadline. If several reminders were
/// missed because the server was down, there is only one.
pub(super) fn remind(gate: &Gate, now: Timestamp) -> Option<GateEvent> {
    let NextReminders { remind_at, escalate_at } = gate.reminders.next;
    let is_due = |moment: Option<Timestamp>| moment.is_some_and(|moment| moment <= now);
    let requested_by = gate.requested_by.clone();
    if is_due(escalate_at) {
        let next = NextReminders { remind_at, escalate_at: None };
        return Some(GateEvent::Escalated { requested_by, deadline: gate.deadline, early: true, next });
    }
    let next = NextReminders { remind_at: gate.reminders.before(gate.deadline, now).remind_at, escalate_at };
    is_due(remind_at).then_some(GateEvent::Reminded { requested_by, deadline: gate.deadline, next })
}

impl GatePolicy {
    pub(super) fn check_reminders(&self) -> Result<(), Refusal> {
        let spans = [("remind_before_ms", self.remind_before_ms.as_slice())];
        let escalation = [("escalate_before_ms", self.escalate_before_ms.as_slice())];
        for (field, spans) in spans.into_iter().chain(escalation) {
            if spans.contains(&0) {
                return Err(Refusal::invalid(field, "must be above zero: at the deadline itself it is too late"));
            }
        }
        if self.remind_before_ms.len() > REMINDERS_MAX {
            return Err(Refusal::invalid("remind_before_ms", format!("has more than {REMINDERS_MAX} moments")));
        }
        Ok(())
    }
}
