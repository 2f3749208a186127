//! The writer's metrics, recorded once per transaction.

use std::time::Instant;

use metrics::Histogram;

/// Kept by the writer, so that nothing is looked up. Install a recorder before the store is opened.
#[derive(Clone)]
pub(crate) struct Figures {
    commands: Histogram,
    seconds: Histogram,
}

impl std::fmt::Debug for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Figures").finish_non_exhaustive()
    }
}

impl Figures {
    pub(crate) fn new() -> Self {
        Self {
            commands: metrics::histogram!("folkmoot_store_batch_commands"),
            seconds: metrics::histogram!("folkmoot_store_commit_seconds"),
        }
    }

    /// Records that a transaction of `commands` commands, begun at `began`, is durable.
    pub(crate) fn committed(&self, commands: usize, began: Instant) {
        let took = began.elapsed();
        self.commands.record(commands as f64);
        self.seconds.record(took);
        tracing::trace!(target: "folkmoot::batch", commands, ms = took.as_micros() as f64 / 1000.0, "committed");
    }
}
