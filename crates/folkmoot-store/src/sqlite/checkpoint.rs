//! Checkpoints: moves the write-ahead log into the database, beside the writer instead of inside
//! its commits.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::OpenFlags;
use tokio::sync::watch;

use crate::Error;

/// From this many pages on, a checkpoint runs beside the writer.
pub(super) const PAGES_PASSIVE: i32 = 1000;
/// From this many pages on (32 MB), the writer itself resets the log: a passive checkpoint never
/// resets it while commits keep coming.
pub(super) const PAGES_RESTART: i32 = 8192;

/// How long the writer waits for readers of the log while commands queue.
pub(super) const READERS_TIMEOUT: Duration = Duration::from_millis(250);

/// What to do with the log after it was moved.
#[derive(Clone, Copy, Debug)]
pub(super) enum CheckpointMode {
    /// Reuse it from its start.
    Restart,
    /// Truncate it, so that nothing of its content is left.
    Truncate,
}

impl CheckpointMode {
    pub(super) fn statement(self) -> &'static str {
        match self {
            CheckpointMode::Restart => "PRAGMA wal_checkpoint(RESTART)",
            CheckpointMode::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        }
    }
}

/// Starts checkpoints on a thread that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Checkpointer {
    ask: mpsc::SyncSender<()>,
    running: Arc<Mutex<()>>,
}

impl Checkpointer {
    pub(super) fn start(
        path: &Path,
        stop: watch::Sender<Option<String>>,
    ) -> Result<(Checkpointer, JoinHandle<()>), Error> {
        let connection = super::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (ask, asked) = mpsc::sync_channel(1);
        let running = Arc::new(Mutex::new(()));
        let ours = running.clone();
        let run = move || {
            for () in asked {
                let _running = ours.lock().unwrap_or_else(PoisonError::into_inner);
                let done = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                if let Err(error) = done.map_err(super::failed) {
                    tracing::warn!("a checkpoint failed: {error}");
                    if let Error::Stopped(reason) = error {
                        stop.send_replace(Some(reason));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("folkmoot-checkpoint".to_owned())
            .spawn(run)
            .map_err(|error| Error::Database(format!("the checkpoint thread does not start: {error}")))?;
        Ok((Checkpointer { ask, running }, thread))
    }

    /// Requests a checkpoint, unless one is already requested.
    pub(super) fn ask(&self) {
        let _ = self.ask.try_send(());
    }

    /// Waits for a running checkpoint and prevents the next. Two at once conflict: the second finds
    /// the log busy and cannot reset it.
    pub(super) fn pause(&self) -> MutexGuard<'_, ()> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
