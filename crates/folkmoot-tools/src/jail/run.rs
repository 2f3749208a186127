//! The outside: starts the helper, talks to it, holds the limits that only somebody outside can hold, and judges the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::{Child, Command},
    time::timeout,
};

use super::{
    Driver, End, FOLDER, Helper, JailError, Job, Limit, Profile, Report,
    beneath::Folder,
    cgroup::{Group, Groups, Taken},
    check,
    folder::{self, Way},
    wire::{self, Ended, Entry, Facts, Fault, FaultKind, Message, Spec, User, Watch},
};

/// Building a jail takes milliseconds, and minutes only on a machine that is out of breath. The folder is copied in this time too.
const SET_UP_MAX: Duration = Duration::from_secs(120);
/// How long the dead may take to be gone.
const END_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ids that nobody has: systems give out none in this range. One for each helper, by its process id, so that no two jobs are
/// the same user.
const FIRST_ID: u32 = 1_879_048_192;
/// Where a container has only the usual 65536 ids: those that systems keep for users who come and go.
const FIRST_ID_SMALL: u32 = 61_184;
const IDS_SMALL: u32 = 4_000;

/// Executes a job with a driver that holds. What of the kernel held it is told as well.
pub(super) async fn run(
    helper: &Helper,
    driver: Driver,
    groups: &Groups,
    job: Job,
) -> Result<(Report, Facts), JailError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| JailError::Failed(format!("{what}: {error}"));
    let way = job.folder.as_ref().map(|path| folder::way(path, caller())).transpose()?;
    let entries = entries(&job, way.as_ref()).await?;
    let group = Group::make(groups, &job.limits)
        .map_err(|error| failed(&format!("the control group {}", error.path.display()), &error.error))?;

    let (control, theirs) = UnixStream::pair().map_err(|error| failed("a socket", &error))?;
    let theirs = theirs
        .into_std()
        .and_then(|socket| socket.set_nonblocking(false).map(|()| socket))
        .map_err(|error| failed("a socket", &error))?;
    let mut child = Command::new(&helper.program)
        .args(&helper.arguments)
        .arg("start")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(&format!("starting {}", helper.program.display()), &error))?;
    let Some(pid) = child.id() else { return Err(JailError::Failed("the helper ended at once".to_owned())) };
    group.add(pid).map_err(|error| failed(&format!("the control group {}", error.path.display()), &error.error))?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(JailError::Failed("the helper has no outputs".to_owned()));
    };

    let spec = spec(driver, &job, way.as_ref(), entries, groups, pid)?;
    let mut talk = Talk { control, child };
    let (mut out, mut err) =
        (Output::new(stdout, job.limits.output_bytes), Output::new(stderr, job.limits.output_bytes));
    let facts = timeout(SET_UP_MAX, talk.set_up(&spec, &job))
        .await
        .map_err(|_| JailError::Failed("building the jail took too long".to_owned()))??;
    let started = Instant::now();
    let (stopped, ended) = {
        let mut ended = None;
        let stopped = tokio::select! {
            biased;
            told = talk.ended() => { ended = Some(told?); None }
            () = out.overflow() => Some(Limit::Output),
            () = err.overflow() => Some(Limit::Output),
            () = out_of_time(&group, job.limits.cpu) => Some(Limit::Cpu),
            () = tokio::time::sleep(job.limits.wall) => Some(Limit::Wall),
        };
        (stopped, ended.flatten())
    };
    let wall = started.elapsed();
    let (kept, changes) = match &ended {
        Some(ended) => timeout(SET_UP_MAX, talk.contents(ended, &job))
            .await
            .map_err(|_| JailError::Failed("reading back what is to be kept took too long".to_owned()))??,
        None => (BTreeMap::new(), Vec::new()),
    };
    talk.end().await?;
    // All who could write are dead, so that this ends.
    let rest = async { tokio::join!(out.rest(), err.rest()) };
    timeout(END_MAX, rest)
        .await
        .map_err(|_| JailError::Failed("something still holds the outputs of a job that has ended".to_owned()))?;
    let taken = group.taken();
    drop(group);

    let mut reached = reached(ended.as_ref(), &taken, stopped);
    if out.over || err.over {
        reached.insert(Limit::Output);
    }
    let end = judge(ended.as_ref(), &reached, stopped.or((out.over || err.over).then_some(Limit::Output)))?;
    if let (Some(Way::Copied), Some(path), Some(ended)) = (&way, &job.folder, &ended) {
        bring_back(path.clone(), changes, ended.removed.clone()).await?;
    }
    let counted = ended.as_ref().map(|ended| Duration::from_micros(ended.cpu_us)).unwrap_or_default();
    let largest = ended.as_ref().map(|ended| ended.peak_bytes).filter(|bytes| *bytes > 0);
    Ok((
        Report {
            end,
            reached,
            stdout: out.kept,
            stderr: err.kept,
            kept,
            wall,
            cpu: taken.cpu.unwrap_or(counted),
            peak_memory_bytes: taken.peak_bytes.or(largest),
        },
        facts,
    ))
}

fn caller() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// What is put into the folder. The content of a folder that is copied comes first, and what the job brings may not be in it.
async fn entries(job: &Job, way: Option<&Way>) -> Result<Vec<Entry>, JailError> {
    let mut entries = match (way, job.folder.clone()) {
        (Some(Way::Copied), Some(path)) => {
            let bytes_max = job.limits.disk_bytes.min(job.limits.memory_bytes - check::MEMORY_BYTES_MIN);
            blocking(move || folder::list(&path, bytes_max)).await?
        }
        _ => Vec::new(),
    };
    let brought = job.files.iter();
    entries.extend(brought.map(|(path, content)| Entry::File {
        path: path.clone(),
        executable: false,
        bytes: content.len() as u64,
    }));
    Ok(entries)
}

/// Work on files, where it keeps nobody else waiting.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JailError> + Send + 'static,
) -> Result<T, JailError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(JailError::Failed(error.to_string())))
}

fn spec(
    driver: Driver,
    job: &Job,
    way: Option<&Way>,
    files: Vec<Entry>,
    groups: &Groups,
    pid: u32,
) -> Result<Spec, JailError> {
    let usual = [
        ("HOME", FOLDER),
        ("LANG", "C.UTF-8"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TMPDIR", "/tmp"),
        ("USER", "jail"),
    ];
    let mut environment =
        usual.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect::<BTreeMap<_, _>>();
    environment.extend(job.environment.clone());
    Ok(Spec {
        driver,
        become_user: become_user(way, pid)?,
        network: job.profile == Profile::Agent,
        command: job.command.clone(),
        environment,
        cpu_seconds: job.limits.cpu.as_secs() + 1,
        cpu_ms: u64::try_from(job.limits.cpu.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: job.limits.memory_bytes,
        processes: job.limits.processes,
        disk_bytes: job.limits.disk_bytes,
        open_files: job.limits.open_files,
        watch: Watch {
            cpu: !groups.counts_cpu(),
            memory: !groups.counts_memory(),
            processes: !groups.counts_processes(),
        },
        readable: job.readable.clone(),
        mounted: job.folder.clone().filter(|_| matches!(way, Some(Way::Mounted { .. }))),
        copied: matches!(way, Some(Way::Copied)),
        stdin_bytes: job.stdin.len() as u64,
        files,
        keep: job.keep.clone(),
        keep_bytes: job.limits.output_bytes as u64,
    })
}

/// Whom a job of root runs as. Others run jobs as themselves, which is nobody inside.
fn become_user(way: Option<&Way>, pid: u32) -> Result<Option<User>, JailError> {
    if caller() != 0 {
        return Ok(None);
    }
    if let Some(Way::Mounted { owner, group }) = way {
        return Ok(Some(User { uid: *owner, gid: *group }));
    }
    let map = std::fs::read_to_string("/proc/self/uid_map")
        .map_err(|error| JailError::NoJail(format!("/proc/self/uid_map: {error}")))?;
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    choose_user(&map, &users, pid)
}

fn choose_user(map: &str, users: &str, pid: u32) -> Result<Option<User>, JailError> {
    let ranges = map.lines().filter_map(|line| {
        let numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
        Some((*numbers.first()?, *numbers.get(1)?, *numbers.get(2)?))
    });
    let ranges = ranges.collect::<Vec<_>>();
    let exists = |id: u32| ranges.iter().any(|(inside, _, count)| (*inside..inside + count).contains(&u64::from(id)));
    let taken = |id: u32| users.lines().any(|line| line.split(':').nth(2) == Some(id.to_string().as_str()));
    let chosen = [FIRST_ID.checked_add(pid), Some(FIRST_ID_SMALL + pid % IDS_SMALL)]
        .into_iter()
        .flatten()
        .find(|id| exists(*id) && !taken(*id));
    match (chosen, ranges.as_slice()) {
        (Some(id), _) => Ok(Some(User { uid: id, gid: id })),
        // Root only by name: outside of this container it is one unprivileged user, and there is no other to become.
        (None, [(0, outside, 1)]) if *outside != 0 => Ok(None),
        (None, _) => {
            Err(JailError::NoJail("root cannot become an unprivileged user here; run Folkmoot as one".to_owned()))
        }
    }
}

/// The conversation with the helper, and its life.
#[derive(Debug)]
struct Talk {
    control: UnixStream,
    child: Child,
}

impl Talk {
    async fn set_up(&mut self, spec: &Spec, job: &Job) -> Result<Facts, JailError> {
        // A helper that fails stops listening, and then says why.
        let told = self.tell(spec, job).await;
        match self.hear().await {
            Ok(Message::Ready(facts)) => {
                told.map_err(broken)?;
                // If it is dead, nobody would tell init when we die.
                if matches!(self.child.try_wait(), Ok(None)) {
                    self.control.write_all(&[1]).await.map_err(broken)?;
                    Ok(facts)
                } else {
                    Err(JailError::Failed("the helper is dead".to_owned()))
                }
            }
            Ok(Message::Failed(fault)) => Err(fault.into()),
            Ok(Message::Ended(_)) => Err(JailError::Failed("it ended before it began".to_owned())),
            Err(error) => Err(self.silence(&error).await),
        }
    }

    /// What a helper that says nothing has written instead.
    async fn silence(&mut self, error: &io::Error) -> JailError {
        let status = timeout(END_MAX, self.child.wait()).await;
        match status {
            Ok(Ok(status)) => JailError::Failed(format!("the helper said nothing and ended with {status}")),
            _ => JailError::Failed(format!("the helper said nothing: {error}")),
        }
    }

    async fn tell(&mut self, spec: &Spec, job: &Job) -> io::Result<()> {
        let frame = wire::frame(spec)?;
        // Once for `start`, once for `init`.
        self.control.write_all(&frame).await?;
        self.control.write_all(&frame).await?;
        self.control.write_all(&job.stdin).await?;
        // What the job brings is last.
        let copied = &spec.files[..spec.files.len().saturating_sub(job.files.len())];
        if let Some(source) = job.folder.as_ref().filter(|_| spec.copied) {
            let source = Arc::new(Folder::open(source.as_path())?);
            for entry in copied {
                let Entry::File { path, bytes, .. } = entry.clone() else { continue };
                let source = Arc::clone(&source);
                let content = tokio::task::spawn_blocking(move || folder::content(&source, &path, bytes))
                    .await
                    .map_err(io::Error::other)??;
                self.control.write_all(&content).await?;
            }
        }
        for (_, content) in &job.files {
            self.control.write_all(content).await?;
        }
        Ok(())
    }

    /// How the command ended. `None` if init died without a word, as it does when memory is short.
    async fn ended(&mut self) -> Result<Option<Ended>, JailError> {
        match self.hear().await {
            Ok(Message::Ended(ended)) => Ok(Some(*ended)),
            Ok(Message::Failed(fault)) => Err(fault.into()),
            Ok(Message::Ready(_)) => Err(JailError::Failed("it began twice".to_owned())),
            Err(_) => Ok(None),
        }
    }

    async fn hear(&mut self) -> io::Result<Message> {
        let mut length = [0; 4];
        self.control.read_exact(&mut length).await?;
        let mut body = vec![0; wire::length_of(length)?];
        self.control.read_exact(&mut body).await?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// What was kept, and what has changed in the folder.
    async fn contents(
        &mut self,
        ended: &Ended,
        job: &Job,
    ) -> Result<(BTreeMap<String, Vec<u8>>, Vec<Change>), JailError> {
        let mut kept = BTreeMap::new();
        for (path, bytes) in &ended.kept {
            let content = self.content(*bytes, job.limits.output_bytes as u64).await?;
            if job.keep.contains(path) {
                kept.insert(path.clone(), content);
            }
        }
        let mut changes = Vec::new();
        for entry in &ended.changed {
            match entry {
                Entry::Folder { path } => changes.push(Change::Folder(path.clone())),
                Entry::File { path, executable, bytes } => {
                    let content = self.content(*bytes, job.limits.disk_bytes).await?;
                    changes.push(Change::File { path: path.clone(), executable: *executable, content });
                }
                Entry::Link { .. } => {}
            }
        }
        Ok((kept, changes))
    }

    async fn content(&mut self, bytes: u64, bytes_max: u64) -> Result<Vec<u8>, JailError> {
        if bytes > bytes_max {
            return Err(JailError::Failed("the helper hands out more than it may".to_owned()));
        }
        let mut content = vec![0; usize::try_from(bytes).unwrap_or_default()];
        self.control.read_exact(&mut content).await.map_err(broken)?;
        Ok(content)
    }

    /// Ends the helper, and with it everything in the jail, unless it has ended already.
    async fn end(&mut self) -> Result<(), JailError> {
        // Fails only if it is dead.
        let _ = self.child.start_kill();
        match timeout(END_MAX, self.child.wait()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(JailError::Failed(format!("waiting for the helper: {error}"))),
            Err(_) => Err(JailError::Failed("the helper does not die".to_owned())),
        }
    }
}

fn broken(error: io::Error) -> JailError {
    JailError::Failed(format!("the talk with the helper broke off: {error}"))
}

impl From<Fault> for JailError {
    fn from(Fault { kind, detail }: Fault) -> Self {
        match kind {
            FaultKind::Refused => Self::NoJail(detail),
            FaultKind::Missing => Self::Missing(detail),
            FaultKind::Invalid => Self::Invalid(detail),
            FaultKind::Failed => Self::Failed(detail),
        }
    }
}

/// One of the outputs: so much of it is kept, and not more is read.
#[derive(Debug)]
struct Output<R> {
    from: R,
    kept: Vec<u8>,
    bytes_max: usize,
    over: bool,
    closed: bool,
}

impl<R: AsyncRead + Unpin> Output<R> {
    fn new(from: R, bytes_max: usize) -> Self {
        Self { from, kept: Vec::new(), bytes_max, over: false, closed: false }
    }

    /// Returns when there is more than may be, and never otherwise.
    async fn overflow(&mut self) {
        self.rest().await;
        if !self.over {
            std::future::pending::<()>().await;
        }
    }

    /// Reads to the end, or to where it is too much. What was read is kept also where this is dropped.
    async fn rest(&mut self) {
        let mut chunk = [0; 16 * 1024];
        while !self.over && !self.closed {
            match self.from.read(&mut chunk).await {
                Ok(0) | Err(_) => self.closed = true,
                Ok(read) => {
                    let room = self.bytes_max - self.kept.len();
                    self.kept.extend_from_slice(&chunk[..read.min(room)]);
                    self.over = read > room;
                }
            }
        }
    }
}

/// Returns when the job has used more time on the processors than it may. Never, where no control group counts it: then it is
/// looked at from inside.
async fn out_of_time(group: &Group, cpu: Duration) {
    loop {
        match group.cpu() {
            Some(used) if used > cpu => return,
            Some(_) => tokio::time::sleep(LOOK_EVERY).await,
            None => std::future::pending().await,
        }
    }
}

/// Every limit of whose reaching there is evidence.
fn reached(ended: Option<&Ended>, taken: &Taken, stopped: Option<Limit>) -> BTreeSet<Limit> {
    let mut reached = stopped.into_iter().collect::<BTreeSet<_>>();
    if taken.killed_for_memory {
        reached.insert(Limit::Memory);
    }
    if taken.refused_a_process {
        reached.insert(Limit::Processes);
    }
    if let Some(ended) = ended {
        reached.extend(&ended.reached);
        reached.extend(ended.stopped);
        if ended.disk_full {
            reached.insert(Limit::Disk);
        }
        reached.extend(match ended.signal {
            Some(nix::libc::SIGXFSZ) => Some(Limit::Disk),
            Some(nix::libc::SIGXCPU) => Some(Limit::Cpu),
            Some(nix::libc::SIGSYS) => Some(Limit::Syscall),
            _ => None,
        });
    }
    reached
}

/// A job that succeeds has succeeded, whatever it has reached. One that fails after reaching a limit has failed by it; of several, by
/// the first in the order of [`Limit`].
fn judge(ended: Option<&Ended>, reached: &BTreeSet<Limit>, stopped: Option<Limit>) -> Result<End, JailError> {
    if let Some(limit) = stopped.or(ended.and_then(|ended| ended.stopped)) {
        return Ok(End::Limited(limit));
    }
    match (ended.map(|ended| (ended.code, ended.signal)), reached.first()) {
        (Some((Some(0), _)), _) => Ok(End::Exited(0)),
        (_, Some(limit)) => Ok(End::Limited(*limit)),
        (Some((Some(code), _)), None) => Ok(End::Exited(code)),
        (Some((None, Some(signal))), None) => Ok(End::Signalled(signal)),
        (Some((None, None)) | None, None) => {
            Err(JailError::Failed("the first process of the jail died without a word".to_owned()))
        }
    }
}

/// Something that the job has done to a folder that was copied.
#[derive(Debug)]
enum Change {
    Folder(String),
    File { path: String, executable: bool, content: Vec<u8> },
}

async fn bring_back(path: PathBuf, changes: Vec<Change>, removed: Vec<String>) -> Result<(), JailError> {
    let bring = move || {
        let folder = Folder::open(path.as_path())?;
        for path in removed.iter().filter(|path| folder::comes_back(path)) {
            folder.remove(path)?;
        }
        for change in changes {
            match change {
                Change::Folder(path) if folder::comes_back(&path) => folder.make_folder(&path)?,
                Change::File { path, executable, content } if folder::comes_back(&path) => {
                    folder.replace(&path, executable, |file| io::Write::write_all(file, &content))?;
                }
                Change::Folder(_) | Change::File { .. } => {}
            }
        }
        Ok::<_, io::Error>(())
    };
    blocking(move || {
        bring().map_err(|error| JailError::Failed(format!("bringing back what the job has changed: {error}")))
    })
    .await
}

#[cfg(test)]
mod tests;
