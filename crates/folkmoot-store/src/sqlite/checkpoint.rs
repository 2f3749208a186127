//! Moves what is in the write-ahead log into the database, beside the writer instead of inside its commits.

use std::{path::Path, sync::mpsc, thread::JoinHandle, time::Duration};

use rusqlite::OpenFlags;
use tokio::sync::watch;

use crate::Error;

/// From this many pages on, a checkpoint runs beside the writer.
pub(super) const PAGES_PASSIVE: i32 = 1000;
/// From this many pages on (32 MB), the writer itself makes the log start again: a passive checkpoint alone never
/// resets it while there is always another commit.
pub(super) const PAGES_RESTART: i32 = 8192;

/// How long the writer waits, while commands queue, for those who still read what is in the log.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);

/// Starts the thread; a message asks for a checkpoint.
pub(super) fn start(
    path: &Path,
    stop: watch::Sender<Option<String>>,
) -> Result<(mpsc::SyncSender<()>, JoinHandle<()>), Error> {
    let connection = super::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let (ask, asked) = mpsc::sync_channel(1);
    let run = move || {
        for () in asked {
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
    Ok((ask, thread))
}
