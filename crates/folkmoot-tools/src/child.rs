//! A child process that lives for a while: a server, or a command-line program that answers.
//!
//! It leads its own process group and sees only the variables it was given. Dropping its [`Child`]
//! kills the whole group. A process that leaves the group escapes this; untrusted programs belong
//! in the [jail](crate::jail).

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};

use crate::foreign;

/// What to start outside the jail. Git and tool-chain probes start their own processes.
#[derive(Clone, Debug)]
pub(crate) struct ProcessSpec<'a> {
    /// The program and its arguments. No shell interprets them.
    pub(crate) command: &'a [String],
    /// Variables in addition to [`USUAL`].
    pub(crate) environment: &'a BTreeMap<String, String>,
    /// The working folder.
    pub(crate) folder: &'a Path,
}

/// Variables that every program gets; hardly any program starts without them.
const USUAL: [&str; 3] = ["PATH", "HOME", "LANG"];

/// How much of the end of its stderr is kept.
const COMPLAINTS_BYTES: usize = 4096;
/// How much of that is shown.
const COMPLAINT_BYTES_SHOWN: usize = 300;
/// How long to wait for the rest of stderr.
const COMPLAINTS_TIMEOUT: Duration = Duration::from_millis(100);

/// A process with its pipes.
#[derive(Debug)]
pub(crate) struct Child {
    inner: tokio::process::Child,
    group: Option<Pid>,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    complaints: Complaints,
}

pub(crate) fn start(start: &ProcessSpec<'_>) -> Result<Child, String> {
    let Some((program, arguments)) = start.command.split_first() else {
        return Err("the command is empty: name a program".to_owned());
    };
    // Resolved from here, not from its working folder. Links stay, because some programs depend on
    // the path they are called by.
    let found = find(program, start.environment).and_then(|path| std::path::absolute(path).ok());
    let found = found.ok_or_else(|| format!("`{program}` is not installed, or not on PATH"))?;
    let mut inner = Command::new(found)
        .args(arguments)
        .env_clear()
        .envs(USUAL.iter().filter_map(|name| Some((name, env::var_os(name)?))))
        .envs(start.environment)
        .current_dir(start.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let group = inner.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let complaints = Complaints::collect(inner.stderr.take());
    let (stdin, stdout) = (inner.stdin.take(), inner.stdout.take());
    Ok(Child { inner, group, stdin, stdout, complaints })
}

/// Runs a program to its end. Its input is empty and its output is discarded.
///
/// # Errors
/// If it cannot be started, takes longer than `patience`, or fails: its stderr.
pub async fn run_once(
    command: &[String],
    environment: &BTreeMap<String, String>,
    patience: Duration,
) -> Result<(), String> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let mut child = start(&ProcessSpec { command, environment, folder: Path::new("/") })?;
    (child.stdin, child.stdout) = (None, None);
    match tokio::time::timeout(patience, child.wait()).await {
        Err(_) => Err(format!("`{program}` did not end within {patience:?}")),
        Ok(Err(error)) => Err(format!("`{program}` was lost: {error}")),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => {
            let complaint = foreign::line(&child.complaint().await, COMPLAINT_BYTES_SHOWN);
            Err(format!("`{program}` ended with {status}: {complaint}"))
        }
    }
}

/// Finds a program: the given path, or the first match on PATH.
pub fn find(program: &str, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let paths = environment.get("PATH").map(Into::into).or_else(|| env::var_os("PATH"))?;
    env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}

impl Child {
    /// Waits for its end, then kills the rest of its group, so that nothing keeps its pipes open.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.inner.wait().await;
        // At once: a group's id is not reused while it has members, nor shortly after.
        self.kill();
        status
    }

    /// Closes its input, waits for it to end, and kills it after `patience`.
    pub(crate) async fn end(mut self, patience: Duration) {
        self.stdin = None;
        let _ = tokio::time::timeout(patience, self.wait()).await;
    }

    /// Kills its process group.
    pub(crate) fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // It is fine if nobody is left.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    /// The end of its stderr. Complete once the process has ended.
    pub(crate) async fn complaint(&mut self) -> String {
        self.complaints.text().await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads stderr, so that the process never blocks on it, and keeps the end.
#[derive(Debug)]
struct Complaints {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Complaints {
    fn collect(from: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let bytes = Arc::default();
        let reader = from.map(|mut from| {
            let kept: Arc<Mutex<Vec<u8>>> = Arc::clone(&bytes);
            tokio::spawn(async move {
                let mut piece = [0; 1024];
                while let Ok(read @ 1..) = from.read(&mut piece).await {
                    let mut kept = kept.lock();
                    kept.extend_from_slice(&piece[..read]);
                    let surplus = kept.len().saturating_sub(COMPLAINTS_BYTES);
                    kept.drain(..surplus);
                }
            })
        });
        Self { bytes, reader }
    }

    async fn text(&mut self) -> String {
        if let Some(reader) = &mut self.reader
            && tokio::time::timeout(COMPLAINTS_TIMEOUT, &mut *reader).await.is_ok()
        {
            self.reader = None;
        }
        let bytes = self.bytes.lock();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        // A process that left the group could keep the pipe open for ever.
        if let Some(reader) = &self.reader {
            reader.abort();
        }
    }
}
