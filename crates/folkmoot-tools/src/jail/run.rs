//! The outside: starts the helper, enforces limits from outside, and reports how the job ended.

use std::{
    collections::BTreeMap,
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::AsyncRead,
    net::{UnixStream, unix::pipe},
    process::{Child, ChildStderr, ChildStdout, Command},
    sync::oneshot,
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Driver, Helper, Inmate, JailError, JailJob, JobReport, Limit, PATH, Profile,
    cgroup::{Group, Groups},
    check,
    folder::{self, FolderAccess},
    judge,
    output::Output,
    talk::{self, HelperConversation},
    user,
    wire::{Facts, JailEntry, Spec, WatchedLimits},
};

/// Building a jail takes milliseconds, except on a very busy machine. This includes copying the
/// folder.
const SET_UP_MAX: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs a job with a driver. Also reports the kernel features that confined it.
pub(super) async fn run(
    helper: &Helper,
    driver: Driver,
    groups: &Groups,
    job: JailJob,
) -> Result<(JobReport, Facts), JailError> {
    let (begun, stdout, facts) = begin(helper, driver, groups, job, None).await?;
    let out = Output::new(stdout, begun.job.limits.output_bytes);
    Ok((begun.finish(out, std::future::pending()).await?, facts))
}

/// Starts a job that communicates, with its own watcher.
pub(super) async fn start(helper: &Helper, driver: Driver, groups: &Groups, job: JailJob) -> Result<Inmate, JailError> {
    let (stdin, theirs) = pipe::pipe().map_err(talk::broken)?;
    let theirs = theirs.into_blocking_fd().map_err(talk::broken)?;
    let (begun, stdout, _) = begin(helper, driver, groups, job, Some(theirs)).await?;
    let output_bytes = begun.job.limits.output_bytes;
    let (stop, stopped) = oneshot::channel();
    let stopped = async {
        // The job was dropped.
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    // The owner reads its output.
    let watch = tokio::spawn(begun.finish(Output::new(tokio::io::empty(), output_bytes), stopped));
    let watch = AbortOnDropHandle::new(watch);
    Ok(Inmate { stdin: Some(stdin), stdout: Some(stdout), output_bytes, stop, watch })
}

/// A job that runs.
#[derive(Debug)]
struct RunningJob {
    job: JailJob,
    /// Where changes in its folder are brought back to.
    brought_back: Option<PathBuf>,
    group: Group,
    talk: HelperConversation,
    err: Output<ChildStderr>,
}

async fn begin(
    helper: &Helper,
    driver: Driver,
    groups: &Groups,
    job: JailJob,
    input: Option<OwnedFd>,
) -> Result<(RunningJob, ChildStdout, Facts), JailError> {
    let way = job.folder.as_ref().map(|path| folder::way(path, user::caller())).transpose()?;
    let entries = entries(&job, way.as_ref()).await?;
    let group = Group::make(groups, &job.limits)?;
    let (control, mut child, pid) = launch(helper)?;
    group.add(pid)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(JailError::Failed("the helper has no outputs".to_owned()));
    };

    let spec = Spec { piped: input.is_some(), ..spec(driver, &job, way.as_ref(), entries, groups, pid)? };
    let mut talk = HelperConversation { control, child };
    let err = Output::new(stderr, job.limits.output_bytes);
    let facts = timeout(SET_UP_MAX, talk.set_up(&spec, &job, input))
        .await
        .map_err(|_| JailError::Failed("building the jail took too long".to_owned()))??;
    let brought_back = job.folder.clone().filter(|_| spec.copied);
    Ok((RunningJob { job, brought_back, group, talk, err }, stdout, facts))
}

impl RunningJob {
    /// Enforces limits from outside until the job has ended or is stopped.
    async fn finish(
        self,
        mut out: Output<impl AsyncRead + Unpin>,
        told: impl Future<Output = ()>,
    ) -> Result<JobReport, JailError> {
        let Self { job, brought_back, group, mut talk, mut err } = self;
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
                () = told => Some(Limit::Wall),
            };
            (stopped, ended.flatten())
        };
        let wall = started.elapsed();
        let (control, child) = talk.into_parts()?;
        // A job that was killed leaves nothing worth keeping.
        let kept = match ended.clone().filter(|ended| ended.stopped.is_none()) {
            Some(ended) => {
                let kept_bytes_max = job.limits.output_bytes as u64;
                blocking(move || folder::bring_back(control, &ended, kept_bytes_max, brought_back.as_deref())).await?
            }
            None => BTreeMap::new(),
        };
        talk::end(child).await?;
        // All writers are dead, so this ends.
        let rest = async { tokio::join!(out.rest(), err.rest()) };
        timeout(talk::END_MAX, rest)
            .await
            .map_err(|_| JailError::Failed("something still holds the outputs of a job that has ended".to_owned()))?;
        let taken = group.taken();
        group.end().await;

        let mut reached = judge::reached(ended.as_ref(), &taken, stopped);
        if out.over || err.over {
            reached.insert(Limit::Output);
        }
        let end = judge::judge(ended.as_ref(), &reached, stopped.or((out.over || err.over).then_some(Limit::Output)))?;
        let counted = ended.as_ref().map(|ended| Duration::from_micros(ended.cpu_us)).unwrap_or_default();
        let largest = ended.as_ref().map(|ended| ended.peak_bytes).filter(|bytes| *bytes > 0);
        Ok(JobReport {
            end,
            reached,
            stdout: out.kept,
            stderr: err.kept,
            kept,
            wall,
            cpu: taken.cpu.unwrap_or(counted),
            peak_memory_bytes: taken.peak_bytes.or(largest),
        })
    }
}

/// Starts the helper. It waits for instructions, so that it can be put into its control group
/// first.
fn launch(helper: &Helper) -> Result<(UnixStream, Child, u32), JailError> {
    let failed = |error: io::Error| JailError::Failed(format!("starting {}: {error}", helper.program.display()));
    let (control, theirs) = UnixStream::pair().map_err(failed)?;
    let theirs = theirs.into_std().map_err(failed)?;
    theirs.set_nonblocking(false).map_err(failed)?;
    let child = Command::new(&helper.program)
        .args(&helper.arguments)
        .arg("start")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let pid = child.id().ok_or_else(|| JailError::Failed("the helper ended at once".to_owned()))?;
    Ok((control, child, pid))
}

/// The files for the folder. A copied folder comes first; the job's own files must not be in it.
async fn entries(job: &JailJob, way: Option<&FolderAccess>) -> Result<Vec<JailEntry>, JailError> {
    let mut entries = match (way, job.folder.clone()) {
        (Some(FolderAccess::Copied), Some(path)) => {
            let bytes_max = job.limits.disk_bytes.min(job.limits.memory_bytes - check::MEMORY_BYTES_MIN);
            blocking(move || folder::list(&path, bytes_max)).await?
        }
        _ => Vec::new(),
    };
    let brought = job.files.iter();
    entries.extend(brought.map(|(path, content)| JailEntry::File {
        path: path.clone(),
        executable: false,
        bytes: content.len() as u64,
    }));
    Ok(entries)
}

/// Runs file operations on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JailError> + Send + 'static,
) -> Result<T, JailError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(JailError::Failed(error.to_string())))
}

fn spec(
    driver: Driver,
    job: &JailJob,
    way: Option<&FolderAccess>,
    files: Vec<JailEntry>,
    groups: &Groups,
    pid: u32,
) -> Result<Spec, JailError> {
    let usual = [
        // Not the working folder, which belongs to a project.
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("PATH", PATH),
        ("TMPDIR", "/tmp"),
        ("USER", "jail"),
    ];
    let mut environment =
        usual.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect::<BTreeMap<_, _>>();
    environment.extend(job.environment.clone());
    Ok(Spec {
        driver,
        become_user: user::become_user(way, pid)?,
        network: job.profile == Profile::Agent,
        command: job.command.clone(),
        environment,
        cpu_seconds: job.limits.cpu.as_secs() + 1,
        cpu_ms: u64::try_from(job.limits.cpu.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: job.limits.memory_bytes,
        processes: job.limits.processes,
        disk_bytes: job.limits.disk_bytes,
        open_files: job.limits.open_files,
        watch: WatchedLimits {
            cpu: !groups.counts_cpu(),
            memory: !groups.counts_memory(),
            processes: !groups.counts_processes(),
        },
        readable: job.readable.clone(),
        mounted: job.folder.clone().filter(|_| matches!(way, Some(FolderAccess::Mounted { .. }))),
        // A copy must be filled first.
        read_only: job.folder_is_read_only && matches!(way, Some(FolderAccess::Mounted { .. })),
        copied: matches!(way, Some(FolderAccess::Copied)) && !job.folder_is_read_only,
        piped: false,
        stdin_bytes: job.stdin.len() as u64,
        files,
        keep: job.keep.clone(),
        keep_bytes: job.limits.output_bytes as u64,
    })
}

/// Returns when the CPU limit is exceeded. Without a control group it never returns; sampling
/// inside does the work.
async fn out_of_time(group: &Group, cpu: Duration) {
    loop {
        match group.cpu() {
            Some(used) if used > cpu => return,
            Some(_) => tokio::time::sleep(LOOK_EVERY).await,
            None => std::future::pending().await,
        }
    }
}
