//! The first process of the jail: enters the root, drops every right, starts the command, and
//! reports how it ended.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read, Seek},
    os::{
        fd::AsFd,
        unix::{fs::MetadataExt, fs::PermissionsExt, net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        prctl,
        resource::{UsageWho, getrusage},
        signal::{SigSet, Signal, kill},
        signalfd::{SfdFlags, SignalFd},
        statvfs::statvfs,
        time::TimeVal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, sethostname},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
};

use super::{FaultContext, confine, root, watch};
use crate::{
    beneath::Folder,
    jail::{
        Driver, FOLDER, Limit, check, pipe,
        wire::{self, FaultKind, JailEntry, JailFault, JailMessage, JobExit, Spec},
    },
};

pub(super) fn init(control: &mut UnixStream) -> Result<(), JailFault> {
    prctl::set_pdeathsig(Signal::SIGKILL).doing("dying with who started us")?;
    let spec: Spec = wire::receive(control).doing("reading what to do")?;
    let proc = match spec.driver {
        Driver::Namespaces => {
            sethostname("jail").doing("naming the machine")?;
            root::enter()?
        }
        Driver::Bubblewrap | Driver::Refuse => {
            // bwrap's root is writable for us until Landlock closes it.
            root::etc(Path::new("/etc"), None).doing("writing /etc")?;
            true
        }
    };
    let stdin = match spec.piped {
        true => pipe::receive(control),
        false => input(control, spec.stdin_bytes),
    };
    let stdin = stdin.doing("taking the input")?;
    let folder = Folder::open(FOLDER).doing(FOLDER)?;
    fill(&folder, &spec.files, control)?;
    let before = if spec.copied { everything() } else { BTreeMap::new() };
    let facts = confine::confine(&spec, proc)?;

    wire::send(control, &JailMessage::Ready(facts)).doing("saying that all is ready")?;
    let mut go = [0];
    control.read_exact(&mut go).doing("waiting for the word to go")?;
    let mut ended = execute(&spec, stdin)?;
    gather(&spec, &folder, &before, &mut ended).doing("looking for what is to be kept")?;
    wire::send(control, &JailMessage::Ended(Box::new(ended.clone()))).doing("telling how it ended")?;
    hand_out(&folder, &ended, control).doing("handing out what is to be kept")
}

/// The standard input as a sealed file in memory.
fn input(control: &mut UnixStream, bytes: u64) -> io::Result<File> {
    if bytes == 0 {
        return File::open("/dev/null");
    }
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    copy(control, &mut file, bytes)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

fn fill(folder: &Folder, entries: &[JailEntry], control: &mut UnixStream) -> Result<(), JailFault> {
    for entry in entries {
        let (path, put) = match entry {
            JailEntry::Folder { path } => (path, folder.make_folder(path)),
            JailEntry::Link { path, target } => (path, folder.link(path, target)),
            JailEntry::File { path, executable, bytes } => {
                (path, folder.create(path, *executable).and_then(|mut file| copy(control, &mut file, *bytes)))
            }
        };
        put.map_err(|error| JailFault {
            kind: FaultKind::Invalid,
            detail: format!("{path:?} cannot be put into the folder: {error}"),
        })?;
    }
    Ok(())
}

fn copy(from: &mut UnixStream, to: &mut File, bytes: u64) -> io::Result<()> {
    match io::copy(&mut from.take(bytes), to)? {
        copied if copied == bytes => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Starts the command, waits for it, and reaps other processes.
fn execute(spec: &Spec, stdin: File) -> Result<JobExit, JailFault> {
    let (program, arguments) = spec
        .command
        .split_first()
        .ok_or_else(|| JailFault { kind: FaultKind::Invalid, detail: "no command".to_owned() })?;
    // Blocked signals would stay blocked in the command; a shell would wait for its children for
    // ever.
    SigSet::empty().thread_set_mask().doing("unblocking signals")?;
    let mut command = Command::new(program);
    // In its own group: a command that kills its group must not kill `start`, which has the same
    // user.
    command.process_group(0);
    command.args(arguments).env_clear().envs(&spec.environment).current_dir(FOLDER).stdin(Stdio::from(stdin));
    let payload = command.spawn().map_err(|error| JailFault {
        kind: match error.raw_os_error() {
            Some(nix::libc::EAGAIN | nix::libc::ENOMEM) => FaultKind::Failed,
            _ => FaultKind::Missing,
        },
        detail: format!("{program:?} cannot be executed in the jail: {error}"),
    })?;
    // Only the number is needed; it is waited for with all others.
    let payload = Pid::from_raw(payload.id() as i32);
    // Processes that ended before this are found by the first check below.
    let mut child_ended = SigSet::empty();
    child_ended.add(Signal::SIGCHLD);
    child_ended.thread_block().doing("waiting for signals")?;
    let signals = SignalFd::with_flags(&child_ended, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
        .doing("waiting for signals")?;

    let mut reached = BTreeSet::new();
    let mut stopped = None;
    let mut watcher = watch::Watcher::default();
    let status = loop {
        if let Some(status) = bury(payload).doing("waiting for the command")? {
            break Some(status);
        }
        if spec.watch.anything() {
            stopped = watcher.look(spec, &mut reached);
            if stopped.is_some() {
                break None;
            }
        }
        let every = Timespec { tv_sec: 0, tv_nsec: watch::EVERY.subsec_nanos().into() };
        let patience = spec.watch.anything().then_some(&every);
        match poll(&mut [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)], patience) {
            Ok(_) | Err(rustix::io::Errno::INTR) => while let Ok(Some(_)) = signals.read_signal() {},
            Err(error) => return Err(error).doing("waiting for the command"),
        }
    };
    end_everybody();

    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).doing("counting")?;
    let cpu = time(usage.user_time()) + time(usage.system_time());
    Ok(JobExit {
        code: match status {
            Some(WaitStatus::Exited(_, code)) => Some(code),
            _ => None,
        },
        signal: match status {
            Some(WaitStatus::Signaled(_, signal, _)) => Some(signal as i32),
            _ => None,
        },
        cpu_us: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX),
        peak_bytes: u64::try_from(usage.max_rss()).unwrap_or_default() * 1024,
        reached: reached.into_iter().collect(),
        stopped,
        disk_full: disk_full(),
        kept: Vec::new(),
        changed: Vec::new(),
        removed: Vec::new(),
    })
}

/// Reaps all ended processes. Returns the command's status if it is among them.
fn bury(payload: Pid) -> nix::Result<Option<WaitStatus>> {
    let mut found = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(found),
            Ok(status) if status.pid() == Some(payload) => found = Some(status),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Kills everything, so that nothing can write while the results are read.
fn end_everybody() {
    // In this namespace, -1 means all processes except the first. It is fine if none is left.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    while !matches!(waitpid(None, None), Err(Errno::ECHILD)) {}
}

pub(super) fn time(value: TimeVal) -> Duration {
    Duration::new(
        u64::try_from(value.tv_sec()).unwrap_or_default(),
        u32::try_from(value.tv_usec()).unwrap_or_default() * 1000,
    )
}

fn disk_full() -> bool {
    [FOLDER, "/tmp"]
        .iter()
        .filter_map(|path| statvfs(*path).ok())
        .any(|disk| disk.blocks() > 0 && (disk.blocks_available() == 0 || disk.files_free() == 0))
}

/// Names and lengths of kept and changed files. Nobody is left to change them.
fn gather(spec: &Spec, folder: &Folder, before: &BTreeMap<PathBuf, Mark>, ended: &mut JobExit) -> io::Result<()> {
    for path in &spec.keep {
        if let Some(file) = folder.file(path)? {
            ended.kept.push((path.clone(), file.metadata()?.len().min(spec.keep_bytes)));
        }
    }
    if !spec.copied {
        return Ok(());
    }
    let after = everything();
    for (path, mark) in after.iter().filter(|(path, mark)| before.get(*path) != Some(mark)) {
        let Some(name) = path.to_str().filter(|name| check::relative(name).is_ok()) else { continue };
        if mark.folder {
            ended.changed.push(JailEntry::Folder { path: name.to_owned() });
        } else if let Some(file) = folder.file(name)? {
            let kind = file.metadata()?;
            let executable = kind.permissions().mode() & 0o100 != 0;
            ended.changed.push(JailEntry::File { path: name.to_owned(), executable, bytes: kind.len() });
        }
    }
    // The size outside, where holes and hard links take full space.
    let bytes = ended.changed.iter().map(|entry| match entry {
        JailEntry::File { bytes, .. } => *bytes,
        JailEntry::Folder { .. } | JailEntry::Link { .. } => 0,
    });
    if bytes.fold(0, u64::saturating_add) > spec.disk_bytes {
        (ended.stopped, ended.kept, ended.changed) = (Some(Limit::Disk), Vec::new(), Vec::new());
        return Ok(());
    }
    // Deepest first, so that folders are empty when they are removed. Includes files or links that
    // became folders.
    let gone = before.iter().rev().filter(|(path, mark)| after.get(*path).is_none_or(|now| now.folder != mark.folder));
    ended.removed = gone.filter_map(|(path, _)| path.to_str().map(str::to_owned)).collect();
    Ok(())
}

/// Their contents, in the same order and in pieces, because the memory limit applies to us too.
fn hand_out(folder: &Folder, ended: &JobExit, control: &mut UnixStream) -> io::Result<()> {
    let kept = ended.kept.iter().map(|(path, bytes)| (path, *bytes));
    let changed = ended.changed.iter().filter_map(|entry| match entry {
        JailEntry::File { path, bytes, .. } => Some((path, *bytes)),
        JailEntry::Folder { .. } | JailEntry::Link { .. } => None,
    });
    for (path, bytes) in kept.chain(changed) {
        let file = folder.file(path)?.ok_or(io::ErrorKind::NotFound)?;
        io::copy(&mut file.take(bytes), control)?;
    }
    Ok(())
}

/// Detects a changed file. The kernel sets the change time, and no program can forge it.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    folder: bool,
    node: u64,
    bytes: u64,
    changed: (i64, i64),
}

fn everything() -> BTreeMap<PathBuf, Mark> {
    let root = Path::new(FOLDER);
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        // The command may have made a folder inaccessible to itself; its content must still be
        // found.
        let here = root.join(&below);
        if fs::symlink_metadata(&here).is_ok_and(|kind| kind.mode() & 0o500 != 0o500) {
            // It is ours; if not, we could not open it either.
            let _ = fs::set_permissions(&here, fs::Permissions::from_mode(0o755));
        }
        for entry in fs::read_dir(&here).into_iter().flatten().flatten() {
            let Ok(kind) = entry.metadata() else { continue };
            let path = below.join(entry.file_name());
            let folder = kind.is_dir();
            // A folder changes with each file in it; only its existence matters.
            let changed = if folder { (0, 0) } else { (kind.ctime(), kind.ctime_nsec()) };
            let bytes = if folder { 0 } else { kind.len() };
            found.insert(path.clone(), Mark { folder, node: kind.ino(), bytes, changed });
            if folder {
                open.push(path);
            }
        }
    }
    found
}
