//! The jail: a command on a set of files, with limits, and nothing else within reach.
//!
//! ```text
//! Job ─▶ Jail::run ─▶ driver ─▶ `folkmoot __jail` ─▶ namespaces, mounts, uid, limits, Landlock, seccomp ─▶ the command
//!                                                        └▶ Report: how it ended, what it printed, what it took
//! ```
//!
//! It fails closed: where the kernel cannot hold a command, nothing is executed, and the error says why.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, time::Duration};

/// Runs commands that nobody trusts.
#[derive(Clone, Debug)]
pub struct Jail {}

/// What is to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What it may see and do.
    pub profile: Profile,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Files that are put into the writable folder first; relative paths that stay within it.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that are read back when it has ended, where they are there; what is longer than the output may be is cut.
    pub keep: Vec<String>,
    /// A folder that becomes the writable one, in place of an empty one: the worktree of a project.
    pub folder: Option<PathBuf>,
    /// What it can read on its standard input.
    pub stdin: Vec<u8>,
    /// Its whole environment, beside a few harmless usual variables.
    pub environment: BTreeMap<String, String>,
    /// How much it may use.
    pub limits: Limits,
}

folkmoot_core::vocabulary! {
    /// What a job may see and do.
    pub enum Profile {
        /// Code that a model wrote: the system's programs to read, an empty folder to write, no network.
        Code = "code",
        /// A project's own commands: the tool chains and declared caches to read as well, no network.
        Project = "project",
        /// Another agent's program: as a project, with the network. Only where somebody has asked for it.
        Agent = "agent",
    }
}

/// How much a job may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time on the wall.
    pub wall: Duration,
    /// Time on the processors, of all its processes together.
    pub cpu: Duration,
    /// Memory, of all its processes together.
    pub memory_bytes: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// All that it writes to its folder.
    pub disk_bytes: u64,
    /// Files open at the same time, of one process.
    pub open_files: u64,
    /// What is kept of each of its outputs. More ends the job.
    pub output_bytes: usize,
}

/// How a job ended, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub end: End,
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
    /// The most memory that it had, where that can be told.
    pub peak_memory_bytes: Option<u64>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It went beyond a limit, which ended it or made it fail.
    Limited(Limit),
}

folkmoot_core::vocabulary! {
    /// What a job can have too much of.
    pub enum Limit {
        /// Time on the wall.
        Wall = "wall_clock",
        /// Time on the processors.
        Cpu = "cpu",
        /// Memory.
        Memory = "memory",
        /// Processes and threads.
        Processes = "processes",
        /// Bytes in its folder, or in one file.
        Disk = "disk",
        /// Open files.
        Files = "open_files",
        /// What it printed.
        Output = "output",
        /// A system call that nothing in a jail has a use for.
        Syscall = "syscall",
    }
}

/// Why a job was not executed, or nobody knows how it ended.
#[derive(Debug, thiserror::Error)]
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

/// What `folkmoot __jail` does.
pub fn inside() -> ExitCode {
    ExitCode::FAILURE
}
