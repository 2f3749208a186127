//! A job that communicates while it runs: a server on its standard input and output.
//!
//! ```text
//! Jail::start ─▶ Inmate: stdin, stdout ─▶ end: input closed, exit, or its time is up ─▶ Report
//!                  └▶ dropped: it ends at once, with everything
//! ```
//!
//! It has the restrictions and limits of any job. The wall clock also counts while it is idle.

use std::time::Duration;

use tokio::{net::unix::pipe, process::ChildStdout, sync::oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::{Jail, JailError, JailJob, JobReport, check};
#[cfg(target_os = "linux")]
use super::{Limit, output::Output};

/// A running job. Dropping it ends it.
#[derive(Debug)]
pub struct Inmate {
    /// Its input. Taking or closing it signals the end.
    pub stdin: Option<pipe::Sender>,
    /// Its output. If nobody reads it, the job blocks.
    pub stdout: Option<ChildStdout>,
    pub(super) output_bytes: usize,
    /// Tells the watcher to end it.
    pub(super) stop: oneshot::Sender<()>,
    /// Enforces its limits. Dropping it cleans up.
    pub(super) watch: AbortOnDropHandle<Result<JobReport, JailError>>,
}

impl Inmate {
    /// Closes its input and reports how it ended. If it does not end within `patience`, it is
    /// ended, which is reported as the wall-clock limit. [`JobReport::stdout`] is the unread
    /// output.
    ///
    /// # Errors
    /// If the outcome is unknown.
    #[cfg(target_os = "linux")]
    pub async fn end(mut self, patience: Duration) -> Result<JobReport, JailError> {
        drop(self.stdin.take());
        let left = self.stdout.take().map(|stdout| Output::new(stdout, self.output_bytes));
        // Owned by this block, so that the pipe closes when there is too much output.
        let left = async move {
            let mut left = left?;
            left.rest().await;
            Some((left.kept, left.over))
        };
        let (mut watch, stop) = (self.watch, self.stop);
        let ended = async {
            if let Ok(ended) = tokio::time::timeout(patience, &mut watch).await {
                return ended;
            }
            // Fails if it has just ended by itself.
            let _ = stop.send(());
            watch.await
        };
        let (ended, left) = tokio::join!(ended, left);
        let mut report = ended.map_err(|error| JailError::Failed(error.to_string()))??;
        if let Some((kept, over)) = left {
            report.stdout = kept;
            report.reached.extend(over.then_some(Limit::Output));
        }
        Ok(report)
    }

    /// There is no jail on this system.
    #[cfg(not(target_os = "linux"))]
    pub async fn end(self, _: Duration) -> Result<JobReport, JailError> {
        self.watch.await.map_err(|error| JailError::Failed(error.to_string()))?
    }
}

impl Jail {
    /// Starts a job that communicates. It counts as started when its jail is complete;
    /// [`Inmate::end`] reports a missing program.
    ///
    /// # Errors
    /// If nothing was started.
    pub async fn start(&self, job: JailJob) -> Result<Inmate, JailError> {
        check::job(&job, self.network)?;
        if !job.stdin.is_empty() {
            return Err(JailError::Invalid("a job that is talked to has no input beforehand; write to it".to_owned()));
        }
        Box::pin(self.walls.start(job)).await
    }
}
