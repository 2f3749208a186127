//! Fires timers that are due. The store's timers are authoritative; memory holds only the time of
//! the next one.

#[cfg(test)]
mod tests;

use std::{sync::atomic::Ordering, time::Duration};

use folkmoot_core::{Action, Deadline, Subject, Timestamp, gate, question, run};
use folkmoot_store::{Error, Store};
use futures_util::future::join_all;
use tokio::sync::Notify;

use crate::{Engine, lock::AtomicI64};

/// Check at least this often: another node may have opened a gate and died.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Concurrent timers, so that they share commits.
const AT_ONCE: u32 = 256;

#[derive(Debug)]
pub(crate) struct Deadlines {
    /// The time that is waited for; `i64::MIN` while the next one is being determined.
    armed_micros: AtomicI64,
    /// The earliest deadline that was set since the search began.
    soonest_micros: AtomicI64,
    sooner: Notify,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { armed_micros: i64::MIN.into(), soonest_micros: i64::MAX.into(), sooner: Notify::new() }
    }
}

impl Deadlines {
    /// Notes a new deadline, which may be earlier than the awaited one.
    pub(crate) fn consider(&self, deadline: Deadline) {
        let micros = deadline.as_micros();
        // In this order, and [`Deadlines::arm`] in the other: one of the two sees what the other
        // did.
        self.soonest_micros.fetch_min(micros, Ordering::SeqCst);
        if micros < self.armed_micros.load(Ordering::SeqCst) {
            self.sooner.notify_one();
        }
    }

    /// Makes the watcher check the store, which may have a deadline that was not noted here.
    pub(crate) fn look(&self) {
        self.sooner.notify_one();
    }

    fn disarm(&self) {
        self.armed_micros.store(i64::MIN, Ordering::SeqCst);
        self.soonest_micros.store(i64::MAX, Ordering::SeqCst);
    }

    /// The time to wait for, given the store's next timer.
    fn arm(&self, next: Option<Timestamp>) -> i64 {
        let next = next.map_or(i64::MAX, Timestamp::as_micros);
        self.armed_micros.store(next, Ordering::SeqCst);
        next.min(self.soonest_micros.load(Ordering::SeqCst))
    }
}

impl Engine {
    /// Fires every timer that is due now, and returns how many there were.
    pub async fn fire_due(&self) -> Result<usize, Error> {
        let mut fired = 0;
        loop {
            let due = self.0.store.due(self.now(), AT_ONCE).await?;
            if due.is_empty() {
                return Ok(fired);
            }
            fired += due.len();
            let fire = |timer: folkmoot_core::Timer| {
                let action = match timer.subject {
                    Subject::Gate(gate) => Action::Gate(gate::Action::TimerDue { gate }),
                    Subject::Question(question) => Action::Question(question::Action::TimerDue { question }),
                    Subject::Run(run) => Action::Run(run::Action::TimerDue { run }),
                };
                self.execute_command(self.system_command(action))
            };
            for outcome in join_all(due.into_iter().map(fire)).await {
                self.note(&outcome);
                outcome?;
            }
            self.worker().nudge();
        }
    }
}

/// Waits for the next timer, fires it, and so on.
pub(crate) async fn watch(engine: Engine) {
    loop {
        let pause = match arm(&engine).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!("deadlines cannot be fired just now: {error}");
                LOOK_EVERY
            }
        };
        tokio::select! {
            biased;
            () = engine.0.deadlines.sooner.notified() => {}
            () = engine.0.host.sleep(pause) => {}
        }
    }
}

/// Fires what is due, and returns how long to wait.
async fn arm(engine: &Engine) -> Result<Duration, Error> {
    engine.0.deadlines.disarm();
    engine.fire_due().await?;
    let next = engine.0.deadlines.arm(engine.0.store.next_due().await?);
    let pause = u64::try_from(next.saturating_sub(engine.now().as_micros())).unwrap_or(0);
    Ok(Duration::from_micros(pause).min(LOOK_EVERY))
}
