//! Automatic checkpoints: signed lines, appended to a file that is best on another disk or machine.

use std::{
    fs::OpenOptions,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use folkmoot_core::checkpoint::{Checkpoint, LogSummary};
use serde_json::Value;

use crate::{app::App, signed};

/// How many lines a short-lived server compares.
const RECENT: usize = 100;
/// How many mismatches are logged.
const TOLD_MAX: usize = 5;
const LINE_BYTES_MAX: u64 = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    pub file: PathBuf,
    /// The minimum interval; only if the log has grown.
    pub every: Duration,
}

impl Checkpoints {
    /// Compares the log with every line of the file, and writes the next checkpoint. Returns `None`
    /// if one does not match: then none is written, because the wrong log would soon match the last
    /// checkpoint. A short-lived server compares only the last lines, which do not match a wrong
    /// log either.
    pub(crate) async fn begin(&self, app: &App, temporary: bool) -> io::Result<Option<u64>> {
        if !self.hold(app, if temporary { RECENT } else { usize::MAX }).await? {
            metrics::counter!("folkmoot_checkpoint_failures_total").increment(1);
            return Ok(None);
        }
        match self.write(app).await {
            // Written later, when there is room.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                self.complain(&error);
                Ok(Some(0))
            }
            written => written.map(Some),
        }
    }

    /// Whether the log matches the last `count` checkpoints in the file, whichever key signed them.
    async fn hold(&self, app: &App, count: usize) -> io::Result<bool> {
        let (file, shown) = (self.file.clone(), self.file.display());
        let lines = blocking(move || lines(&file)).await?;
        let seen = app.engine.seen(0).await.map_err(io::Error::other)?;
        let ours = app.key.public().to_pem();
        let (mut others, mut broken) = (0_usize, 0_usize);
        let before = lines.len().saturating_sub(count);
        for (n, line) in lines.iter().enumerate().skip(before).filter(|(_, line)| !line.is_empty()) {
            let statement: Option<Value> = serde_json::from_str(line).ok();
            let Some((statement, checkpoint)) = statement.and_then(|it| Some((it.clone(), unsigned(it)?))) else {
                tracing::warn!("{shown}, line {} is no checkpoint; a crash may have cut it off", n + 1);
                continue;
            };
            let is_ours = statement["public_key"] == *ours;
            let there = app.engine.hash_at(checkpoint.position).await.map_err(io::Error::other)?;
            let seen = LogSummary { there, ..seen };
            // Signatures are checked only for mismatches, because that takes longer.
            match checkpoint.check(&seen).map_err(|broken| (broken, signed::check(&statement, None))) {
                Ok(()) => others += usize::from(!is_ours),
                Err((_, Err(unsigned))) => tracing::warn!("{shown}, line {} counts for nothing: {unsigned}", n + 1),
                Err((why, Ok(key))) => {
                    broken += 1;
                    if broken <= TOLD_MAX {
                        let key = key.id();
                        tracing::error!("the log is not the one of {shown}, line {}, which {key} signed: {why}", n + 1);
                    }
                }
            }
        }
        if others > 0 {
            tracing::warn!(
                "{others} checkpoints in {shown} were signed with another key than this server's; the log holds them"
            );
        }
        if broken > 0 {
            tracing::error!(
                "{broken} checkpoints in {shown} do not hold: no more are written there until they do, or are moved away"
            );
        }
        Ok(broken == 0)
    }

    /// The last line's checkpoint, if this server's key signed it.
    async fn last(&self, app: &App) -> io::Result<Option<Checkpoint>> {
        let file = self.file.clone();
        let line = blocking(move || last_line(&file)).await?;
        Ok(line.and_then(|line| parse(&line, app)))
    }

    /// Keeps writing until the server ends. `written` is the last position.
    pub(crate) async fn go_on(self, app: App, mut written: u64) {
        loop {
            tokio::select! {
                biased;
                () = app.closing.cancelled() => return,
                () = tokio::time::sleep(self.every) => {}
            }
            if app.engine.position().await.is_ok_and(|position| position == written) {
                continue;
            }
            match self.write(&app).await {
                Ok(position) => written = position,
                Err(error) => self.complain(&error),
            }
        }
    }

    /// Writes the last checkpoint, after all writes.
    pub(crate) async fn end(&self, app: &App) {
        if let Err(error) = self.write(app).await {
            self.complain(&error);
        }
    }

    fn complain(&self, error: &io::Error) {
        tracing::error!("no checkpoint could be written to {}: {error}", self.file.display());
        metrics::counter!("folkmoot_checkpoint_failures_total").increment(1);
    }

    async fn write(&self, app: &App) -> io::Result<u64> {
        let checkpoint = app.engine.own_checkpoint().await.map_err(io::Error::other)?;
        let is_same = |last: Checkpoint| (last.position, last.hash) == (checkpoint.position, checkpoint.hash);
        if self.last(app).await?.is_some_and(is_same) {
            return Ok(checkpoint.position);
        }
        let line = signed::sign(&app.key, &checkpoint).to_string();
        let file = self.file.clone();
        blocking(move || append(&file, &line)).await?;
        Ok(checkpoint.position)
    }
}

/// The checkpoint of a line that this server signed.
fn parse(line: &str, app: &App) -> Option<Checkpoint> {
    let statement: Value = serde_json::from_str(line).ok()?;
    signed::check(&statement, Some(&app.key.public())).ok()?;
    unsigned(statement)
}

fn unsigned(mut statement: Value) -> Option<Checkpoint> {
    let members = statement.as_object_mut()?;
    members.remove("signature");
    members.remove("public_key");
    serde_json::from_value(statement).ok()
}

/// All lines; empty if there is no file.
fn lines(path: &Path) -> io::Result<Vec<String>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The last complete line. A line cut off by a crash does not count.
fn last_line(path: &Path) -> io::Result<Option<String>> {
    let mut file = match OpenOptions::new().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(2 * LINE_BYTES_MAX)))?;
    let mut end = Vec::new();
    file.take(2 * LINE_BYTES_MAX).read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end);
    let whole = end.rsplit_once('\n').map(|(whole, _)| whole);
    Ok(whole.and_then(|whole| whole.lines().next_back()).map(str::to_owned))
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    // Keep a line that a crash cut off as a separate line.
    let begin = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{begin}{line}\n").as_bytes())?;
    file.sync_data()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_and_one_that_was_cut_off_stays_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        assert_eq!(last_line(&path).unwrap(), None);
        append(&path, "one").unwrap();
        append(&path, "two").unwrap();
        assert_eq!(last_line(&path).unwrap().as_deref(), Some("two"));
        std::fs::write(&path, "one\ntw").unwrap();
        assert_eq!(last_line(&path).unwrap().as_deref(), Some("one"));
        append(&path, "three").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntw\nthree\n");
    }
}
