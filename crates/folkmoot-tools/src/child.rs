//! A process of ours that lives for a while: a server that we talk to, a command line that answers.
//!
//! It leads a process group of its own, sees the variables that it was given and no others, and its
//! whole group ends when its [`Child`] is dropped. What leaves the group on purpose is out of reach
//! here: for programs that nobody trusts there is the [jail](crate::jail).

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};

use crate::foreign;

/// What is started. The only way to a process outside of the jail, so that there is one place that
/// could put it inside.
#[derive(Clone, Debug)]
pub(crate) struct ProcessSpec<'a> {
    /// The program and its arguments; no shell reads them.
    pub(crate) command: &'a [String],
    /// Variables beside [`USUAL`].
    pub(crate) environment: &'a BTreeMap<String, String>,
    /// Where it works.
    pub(crate) folder: &'a Path,
}

/// The variables that a program gets from us without being named: without them hardly any program
/// starts.
const USUAL: [&str; 3] = ["PATH", "HOME", "LANG"];

/// How much of the end of its complaints is kept.
const COMPLAINTS_BYTES: usize = 4096;
/// How much of it is told.
const COMPLAINT_BYTES_SHOWN: usize = 300;
/// How long we wait for the last of them.
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

/// Starts it, or says why not.
pub(crate) fn start(start: &ProcessSpec<'_>) -> Result<Child, String> {
    let Some((program, arguments)) = start.command.split_first() else {
        return Err("the command is empty: name a program".to_owned());
    };
    // From here, not from the folder that it will work in. Links stay: some programs tell by their
    // own path what they are.
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

/// Starts a program that has something to do and then ends, and waits for that. Its input is empty,
/// and what it prints is nobody's.
///
/// # Errors
/// If it cannot be started, takes longer than `patience`, or ends badly: what it complained.
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

/// Where a program is: the path that was given, or the first of that name on PATH.
pub fn find(program: &str, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let paths = environment.get("PATH").map(Into::into).or_else(|| env::var_os("PATH"))?;
    env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}

impl Child {
    /// Waits until it has ended. What it leaves behind in its group is ended then, so that nothing
    /// holds its pipes open.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.inner.wait().await;
        // At once: while somebody is left in the group its number is taken, and an empty group's is
        // not given anew so soon.
        self.kill();
        status
    }

    /// Lets it end by itself for a while, with its input closed, and then ends it.
    pub(crate) async fn end(mut self, patience: Duration) {
        self.stdin = None;
        let _ = tokio::time::timeout(patience, self.wait()).await;
    }

    /// Ends its group now.
    pub(crate) fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // Nobody left to signal is what we want.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    /// What it complained, or the end of it. After its own end, all of that has been read.
    pub(crate) async fn complaint(&mut self) -> String {
        self.complaints.text().await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads what a process complains, so that it never blocks on it, and keeps the end.
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
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
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
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        // A process that left the group could hold the pipe open for ever.
        if let Some(reader) = &self.reader {
            reader.abort();
        }
    }
}
