//! The jail: runs a command on a set of files, with limits, and with access to nothing else.
//!
//! ```text
//! Job ─▶ Jail::run ─▶ `folkmoot __jail start` ─▶ uid, namespaces, mounts
//!          │            └▶ `folkmoot __jail init`, pid 1 ─▶ limits, Landlock, seccomp ─▶ command
//!          └▶ Report: how it ended, which limits it reached, what it printed, what it took
//! ```
//!
//! It fails closed: if the kernel cannot confine a command, nothing is executed, and the error says
//! why. Nothing runs as root, inside or outside. Nothing outlives its job: it leaves no process,
//! control group or folder behind.

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

/// The writable working folder inside the jail.
pub const FOLDER: &str = "/job";

/// The default PATH of a job.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether this path can be mounted in a job: not where the jail puts its own files.
pub(crate) fn can_be_lent(readable: &Readable) -> bool {
    check::readable(readable).is_ok()
}

/// Runs untrusted commands. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Jail {
    pub(crate) walls: Arc<probe::JailWalls>,
    pub(crate) network: bool,
}

impl Jail {
    /// Tests what this machine supports: runs a harmless command with each driver, and takes the
    /// first that works. If none does, the jail refuses every job and says why.
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

    /// Gives jobs of the profile `agent` this machine's network, including everything on its
    /// loopback.
    #[must_use]
    pub fn allow_network(mut self) -> Self {
        self.network = true;
        self
    }

    pub fn driver(&self) -> Driver {
        self.walls.driver()
    }

    /// Runs a job and reports how it ended. Dropping the future ends the job and cleans up.
    ///
    /// # Errors
    /// If nothing was executed, or the outcome is unknown. A command that fails is not an error.
    pub async fn run(&self, job: JailJob) -> Result<JobReport, JailError> {
        check::job(&job, self.network)?;
        // Boxed, because it would make the futures of all callers tens of kilobytes larger.
        Box::pin(self.walls.run(job)).await
    }

    /// The features that confine a job; empty if every job is refused.
    pub fn features(&self) -> Vec<Feature> {
        probe::features(self)
    }

    /// What works here and what does not, with the languages, for people.
    pub async fn describe(&self) -> Description {
        probe::describe(self).await
    }
}

folkmoot_core::vocabulary! {
    /// What confines the jobs.
    pub enum Driver {
        /// The kernel's namespaces, used directly.
        Namespaces = "namespaces",
        /// `bwrap`, which some systems allow more than ordinary programs.
        Bubblewrap = "bubblewrap",
        /// Nothing: every job is refused.
        Refuse = "refuse",
    }
}

/// The program that builds the jail around itself. When started that way, it must call [`inside`]
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl Helper {
    /// This program with the argument `__jail`, even if its file has been replaced meanwhile.
    pub fn this_program() -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments: vec!["__jail".to_owned()] }
    }

    /// Another program, which only calls [`inside`].
    pub fn at(program: impl AsRef<Path>) -> Self {
        let program = program.as_ref();
        Self { program: std::path::absolute(program).unwrap_or_else(|_| program.to_owned()), arguments: Vec::new() }
    }

    /// The `folkmoot` binary, for other programs.
    pub fn folkmoot(program: impl AsRef<Path>) -> Self {
        Self { arguments: Self::this_program().arguments, ..Self::at(program) }
    }
}

/// A job to execute in the jail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JailJob {
    pub profile: Profile,
    pub command: Vec<String>,
    /// Files to put into the writable folder; relative paths inside it.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files to read back if it ends by itself. Only plain files; links are not followed. Longer
    /// ones than the output limit are cut.
    pub keep: Vec<String>,
    /// A folder to use as the writable one, such as the worktree of a project.
    ///
    /// If it belongs to the job's user (the caller; under root, the folder's owner unless that is
    /// root), it is mounted: the job writes into it directly, a `.git` in it is read-only, and
    /// [`JailLimits::disk_bytes`] limits only the size of each file. If root owns it, it is copied
    /// in. When the job has ended by itself, the plain files and folders that it made, changed or
    /// removed are brought back; links and what lies below `.git` are not.
    pub folder: Option<PathBuf>,
    /// Whether the folder is read-only: mounted so, or copied in and not brought back.
    pub folder_is_read_only: bool,
    /// Additional readable paths: tool chains outside the system's folders, caches.
    pub readable: Vec<Readable>,
    pub stdin: Vec<u8>,
    /// Its whole environment, besides a few usual variables.
    pub environment: BTreeMap<String, String>,
    pub limits: JailLimits,
}

impl JailJob {
    /// A command with the default limits of its profile.
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

/// A file or folder of this machine that a job can read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Readable {
    /// Its path on this machine.
    pub host: PathBuf,
    /// Its absolute path in the jail.
    pub inside: PathBuf,
}

folkmoot_core::vocabulary! {
    /// What a job may access.
    pub enum Profile {
        /// Code that a model wrote: can read the system's programs and its tool chain, and write to
        /// an empty folder. No network.
        Code = "code",
        /// A project's own commands: can also write to the project's folder. No network.
        Project = "project",
        /// Another agent's program: as a project, with the network. Only if it was enabled.
        Agent = "agent",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JailLimits {
    pub wall: Duration,
    /// CPU time of all its processes.
    pub cpu: Duration,
    /// Memory of all its processes, including its folder, which is in memory.
    pub memory_bytes: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Everything that it writes to its folder and to `/tmp`.
    pub disk_bytes: u64,
    /// Open files of one process. The kernel enforces it and we cannot observe it, so reaching it
    /// looks like an ordinary failure.
    pub open_files: u64,
    /// What is kept of each output. More ends the job.
    pub output_bytes: usize,
}

impl JailLimits {
    /// The default limits.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    pub end: JobEnd,
    /// All limits that it reached, even if it went on and succeeded.
    pub reached: BTreeSet<Limit>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub kept: BTreeMap<String, Vec<u8>>,
    pub wall: Duration,
    pub cpu: Duration,
    /// The peak memory: of all processes if control groups count it, otherwise of the largest one.
    pub peak_memory_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It exceeded a limit, or failed after reaching one.
    Limited(Limit),
}

folkmoot_core::vocabulary! {
    pub enum Limit {
        Wall = "wall_clock",
        Output = "output",
        Cpu = "cpu",
        /// A system call that the jail forbids.
        Syscall = "syscall",
        Memory = "memory",
        Processes = "processes",
        /// Bytes in its folder, or in one file. Detected if the folder is full at the end, or by a
        /// signal.
        Disk = "disk",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JailError {
    /// This machine cannot confine it.
    #[error("nothing is executed here, because there is no jail: {0}")]
    NoJail(String),
    /// A required program is not installed.
    #[error("{0}")]
    Missing(String),
    /// The job is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The jail itself failed.
    #[error("the jail failed: {0}")]
    Failed(String),
}

/// The entry point of `folkmoot __jail`. Call it before any thread is started.
pub fn inside() -> ExitCode {
    #[cfg(target_os = "linux")]
    return inside::main();
    #[cfg(not(target_os = "linux"))]
    ExitCode::FAILURE
}
