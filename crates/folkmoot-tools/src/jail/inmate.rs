//! A job that is talked to while it runs: a server on its standard input and output.
//!
//! ```text
//! Jail::start ─▶ Inmate: stdin, stdout ─▶ end: input closed, exit, or its time is up ─▶ Report
//!                  └▶ dropped: it ends at once, with everything
//! ```
//!
//! The walls and the limits are those of any job, and the time on the wall counts while nobody
//! talks to it too.

use std::time::Duration;

use tokio::{net::unix::pipe, process::ChildStdout, sync::oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::{Jail, JailError, JailJob, JobReport, check};
#[cfg(target_os = "linux")]
use super::{Limit, output::Output};

/// A job that runs, and can be talked to. Dropping it ends it.
#[derive(Debug)]
pub struct Inmate {
    /// What it reads. Taken or closed, it reads its end.
    pub stdin: Option<pipe::Sender>,
    /// What it prints. What nobody reads makes it wait.
    pub stdout: Option<ChildStdout>,
    pub(super) output_bytes: usize,
    /// Tells the watch to end it.
    pub(super) stop: oneshot::Sender<()>,
    /// Holds its limits, and with it goes all that there is of it.
    pub(super) watch: AbortOnDropHandle<Result<JobReport, JailError>>,
}

impl Inmate {
    /// Closes its input, and tells how it ended. If it has not ended by itself after a while, it is
    /// ended, which is told as the limit of time. [`JobReport::stdout`] is what it printed that
    /// nobody had read yet.
    ///
    /// # Errors
    /// Where nobody knows how it ended.
    #[cfg(target_os = "linux")]
    pub async fn end(mut self, patience: Duration) -> Result<JobReport, JailError> {
        drop(self.stdin.take());
        let left = self.stdout.take().map(|stdout| Output::new(stdout, self.output_bytes));
        // Owned by this block, so that who prints without end has nobody to print to when it is too
        // much.
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
            // If it has just ended by itself, nobody hears this.
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

    /// As there is none, it cannot be.
    #[cfg(not(target_os = "linux"))]
    pub async fn end(self, _: Duration) -> Result<JobReport, JailError> {
        self.watch.await.map_err(|error| JailError::Failed(error.to_string()))?
    }
}

impl Jail {
    /// Starts a job that is talked to. It counts as begun when its walls stand; that its program
    /// does not exist is told by [`Inmate::end`].
    ///
    /// # Errors
    /// Where nothing was started.
    pub async fn start(&self, job: JailJob) -> Result<Inmate, JailError> {
        check::job(&job, self.network)?;
        if !job.stdin.is_empty() {
            return Err(JailError::Invalid("a job that is talked to has no input beforehand; write to it".to_owned()));
        }
        Box::pin(self.walls.start(job)).await
    }
}
