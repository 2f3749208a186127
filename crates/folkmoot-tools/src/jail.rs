//! The jail: a command on a set of files, with limits, and nothing else within reach.
//!
//! ```text
//! Job ─▶ Jail::run ─▶ `folkmoot __jail start` ─▶ uid, namespaces, mounts
//!          │            └▶ `folkmoot __jail init`, pid 1 ─▶ limits, Landlock, seccomp ─▶ command
//!          └▶ Report: how it ended, which limits it reached, what it printed, what it took
//! ```
//!
//! It fails closed: where the kernel cannot hold a command, nothing is executed, and the error says
//! why. Nothing runs as root, inside or outside; nothing outlives its job; and a job leaves no
//! process, no control group and no folder behind.

mod check;
mod inmate;
mod language;
mod probe;

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod pipe;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod talk;
#[cfg(target_os = "linux")]
mod user;
#[cfg(target_os = "linux")]
mod wire;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

pub use inmate::Inmate;
pub use language::{Execution, Program, ProgramLanguage, ToolChain};
pub use probe::{Description, Feature, LanguageFound};

/// The writable folder, as a job sees it. It starts there.
pub const FOLDER: &str = "/job";

/// Where a job finds programs, unless it says otherwise.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether a job can have this where it is to be: not where it has its own.
pub(crate) fn can_be_lent(readable: &Readable) -> bool {
    check::readable(readable).is_ok()
}

/// Runs commands that nobody trusts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Jail {
    pub(crate) walls: Arc<probe::JailWalls>,
    pub(crate) network: bool,
}

impl Jail {
    /// Tries what this machine can do: really executes a harmless command with each driver, and
    /// takes the first that holds. Where none does, the jail refuses every job, and says why.
    pub async fn probe(helper: Helper) -> Self {
        Self {
            walls: Arc::new(probe::JailWalls::find(helper, &[Driver::Namespaces, Driver::Bubblewrap]).await),
            network: false,
        }
    }

    /// As [`Jail::probe`], with this driver or none.
    pub async fn probe_driver(helper: Helper, driver: Driver) -> Self {
        Self { walls: Arc::new(probe::JailWalls::find(helper, &[driver]).await), network: false }
    }

    /// A jail that refuses every job.
    pub fn refuse(why: impl Into<String>) -> Self {
        Self { walls: Arc::new(probe::JailWalls::none(why.into())), network: false }
    }

    /// Lets jobs of the profile `agent` have this machine's network, and with it all that listens
    /// on its loopback.
    #[must_use]
    pub fn allow_network(mut self) -> Self {
        self.network = true;
        self
    }

    /// What holds the jobs.
    pub fn driver(&self) -> Driver {
        self.walls.driver()
    }

    /// Executes a job, and tells how it ended. Dropping the future ends the job and cleans up after
    /// it.
    ///
    /// # Errors
    /// Where nothing was executed, or nobody knows how it ended. That a command failed is no error,
    /// but its end.
    pub async fn run(&self, job: JailJob) -> Result<JobReport, JailError> {
        check::job(&job, self.network)?;
        // On the heap: the caller's own future would be some tens of kilobytes larger, and that of
        // its caller, too.
        Box::pin(self.walls.run(job)).await
    }

    /// What a job is held with. Nothing, where every job is refused.
    pub fn features(&self) -> Vec<Feature> {
        probe::features(self)
    }

    /// What holds here and what does not, and which languages there are, for people.
    pub async fn describe(&self) -> Description {
        probe::describe(self).await
    }
}

folkmoot_core::vocabulary! {
    /// What holds the jobs.
    pub enum Driver {
        /// Namespaces of the kernel, by ourselves.
        Namespaces = "namespaces",
        /// The same by `bwrap`, which some systems trust with more than they trust us.
        Bubblewrap = "bubblewrap",
        /// Nothing: every job is refused.
        Refuse = "refuse",
    }
}

/// The program that builds a jail around itself: it must call [`inside`] before all else when it is
/// started so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl Helper {
    /// This very program, with the argument `__jail`. Also when its file has been replaced
    /// meanwhile.
    pub fn this_program() -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments: vec!["__jail".to_owned()] }
    }

    /// Another program, which does nothing but [`inside`].
    pub fn at(program: impl AsRef<Path>) -> Self {
        let program = program.as_ref();
        Self { program: std::path::absolute(program).unwrap_or_else(|_| program.to_owned()), arguments: Vec::new() }
    }

    /// `folkmoot` itself, for a program that is another.
    pub fn folkmoot(program: impl AsRef<Path>) -> Self {
        Self { arguments: Self::this_program().arguments, ..Self::at(program) }
    }
}

/// A job to execute in the jail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JailJob {
    /// What it may see and do.
    pub profile: Profile,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Files that are put into the writable folder first; relative paths that stay within it.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that are read back when it has ended by itself, where they are there and are plain
    /// files: no link is followed. What is longer than the output may be is cut.
    pub keep: Vec<String>,
    /// A folder that becomes the writable one, in place of an empty one: the worktree of a project.
    ///
    /// If it belongs to whom the job runs as (the caller, or, under root, whoever but root owns the
    /// folder), it is mounted: the job writes into it directly, a `.git` in it can only be read,
    /// and of [`JailLimits::disk_bytes`] only the size of each single file is held. If root owns
    /// it, it is copied in, and when the job has ended by itself, the plain files and folders that
    /// it made, changed or removed are brought back; links and what lies below `.git` are not.
    pub folder: Option<PathBuf>,
    /// Whether the folder is only to be read: mounted so, or copied in and nothing brought back.
    pub folder_is_read_only: bool,
    /// What else it can read: tool chains outside the system's folders, caches.
    pub readable: Vec<Readable>,
    /// What it can read on its standard input.
    pub stdin: Vec<u8>,
    /// Its whole environment, beside a few harmless usual variables.
    pub environment: BTreeMap<String, String>,
    /// How much it may use.
    pub limits: JailLimits,
}

impl JailJob {
    /// A command alone, with the limits that suit its profile.
    pub fn new<S: Into<String>>(profile: Profile, command: impl IntoIterator<Item = S>) -> Self {
        Self {
            profile,
            command: command.into_iter().map(Into::into).collect(),
            files: Vec::new(),
            keep: Vec::new(),
            folder: None,
            folder_is_read_only: false,
            readable: Vec::new(),
            stdin: Vec::new(),
            environment: BTreeMap::new(),
            limits: JailLimits::of(profile),
        }
    }
}

/// A file or folder of this machine that a job can read, and where it finds it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Readable {
    /// Here.
    pub host: PathBuf,
    /// There: an absolute path, for instance the same.
    pub inside: PathBuf,
}

folkmoot_core::vocabulary! {
    /// What a job may see and do.
    pub enum Profile {
        /// Code that a model wrote: the system's programs and its own tool chain to read, an empty
        /// folder to write, no network.
        Code = "code",
        /// A project's own commands: the project's folder to write as well, no network.
        Project = "project",
        /// Another agent's program: as a project, with the network. Only where somebody has asked
        /// for it.
        Agent = "agent",
    }
}

/// How much a job may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JailLimits {
    /// Time on the wall.
    pub wall: Duration,
    /// Time on the processors, of all its processes together.
    pub cpu: Duration,
    /// Memory, of all its processes together and of what they write to their folder, which lies in
    /// memory.
    pub memory_bytes: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// All that it writes to its folder and to `/tmp`.
    pub disk_bytes: u64,
    /// Files open at the same time, of one process. The kernel refuses more, and nobody outside
    /// sees that it did: it is the command's own failure.
    pub open_files: u64,
    /// What is kept of each of its outputs. More ends the job.
    pub output_bytes: usize,
}

impl JailLimits {
    /// What usually suffices.
    pub fn of(profile: Profile) -> Self {
        const MIB: u64 = 1 << 20;
        match profile {
            Profile::Code => Self {
                wall: Duration::from_secs(30),
                cpu: Duration::from_secs(30),
                memory_bytes: 512 * MIB,
                processes: 64,
                disk_bytes: 64 * MIB,
                open_files: 256,
                output_bytes: 1 << 20,
            },
            Profile::Project | Profile::Agent => Self {
                wall: Duration::from_secs(600),
                cpu: Duration::from_secs(1800),
                memory_bytes: 4096 * MIB,
                processes: 512,
                disk_bytes: 2048 * MIB,
                open_files: 1024,
                output_bytes: 8 << 20,
            },
        }
    }
}

/// How a job ended, and what it used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// How it ended.
    pub end: JobEnd,
    /// Every limit that it was seen to reach, also where it went on and succeeded.
    pub reached: BTreeSet<Limit>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: Vec<u8>,
    /// The files that were to be kept.
    pub kept: BTreeMap<String, Vec<u8>>,
    /// Time on the wall.
    pub wall: Duration,
    /// Time on the processors.
    pub cpu: Duration,
    /// The most memory that it had: of all its processes where control groups count it, else of the
    /// largest one.
    pub peak_memory_bytes: Option<u64>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It went beyond a limit, which ended it, or it failed after reaching one.
    Limited(Limit),
}

folkmoot_core::vocabulary! {
    /// What a job can have too much of.
    pub enum Limit {
        /// Time on the wall.
        Wall = "wall_clock",
        /// What it printed.
        Output = "output",
        /// Time on the processors.
        Cpu = "cpu",
        /// A system call that nothing in a jail has a use for.
        Syscall = "syscall",
        /// Memory.
        Memory = "memory",
        /// Processes and threads.
        Processes = "processes",
        /// Bytes in its folder, or in one file. Seen where the folder is full at the end or a
        /// signal said so.
        Disk = "disk",
    }
}

/// Why a job was not executed, or nobody knows how it ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JailError {
    /// This machine cannot hold it.
    #[error("nothing is executed here, because there is no jail: {0}")]
    NoJail(String),
    /// What it needs is not on this machine.
    #[error("{0}")]
    Missing(String),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The jail itself failed.
    #[error("the jail failed: {0}")]
    Failed(String),
}

/// What `folkmoot __jail` does. Call it before anything starts a thread.
pub fn inside() -> ExitCode {
    #[cfg(target_os = "linux")]
    return inside::main();
    #[cfg(not(target_os = "linux"))]
    ExitCode::FAILURE
}
