//! Moves what is in the write-ahead log into the database, beside the writer instead of inside its
//! commits.

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
/// From this many pages on (32 MB), the writer itself makes the log start again: a passive
/// checkpoint alone never resets it while there is always another commit.
pub(super) const PAGES_RESTART: i32 = 8192;

/// How long the writer waits, while commands queue, for those who still read what is in the log.
pub(super) const READERS_TIMEOUT: Duration = Duration::from_millis(250);

/// What becomes of the log when all of it is in the database.
#[derive(Clone, Copy, Debug)]
pub(super) enum CheckpointMode {
    /// It is written from its start again.
    Restart,
    /// It is cut off, so that nothing of what it held is left in it.
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

/// The way to the thread that makes checkpoints. It ends when this is dropped.
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

    /// Asks for a checkpoint, unless one is already asked for.
    pub(super) fn ask(&self) {
        let _ = self.ask.try_send(());
    }

    /// Waits for the one that runs, and keeps the next from starting. It moves what the writer
    /// would otherwise have to move itself, and two at once are one too many: the second finds the
    /// log busy and can not start it again.
    pub(super) fn pause(&self) -> MutexGuard<'_, ()> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
