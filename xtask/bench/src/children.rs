//! Child processes, so that an interrupted benchmark leaves none behind.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts a process that is killed if we are interrupted.
pub(crate) fn spawn(command: &mut Command) -> Result<Child> {
    // Locked during the start, or an interrupt in between would miss it.
    let mut running = running();
    let child = command.spawn()?;
    running.insert(child.id());
    Ok(child)
}

/// Call it after waiting for the process: its id may soon be reused.
pub(crate) fn ended(child: &Child) {
    forget(child.id());
}

/// The same by id.
pub(crate) fn forget(id: u32) {
    running().remove(&id);
}

/// Sends a signal; std supports only SIGKILL.
pub(crate) fn send(name: &str, pid: u32) -> bool {
    Command::new("sh")
        .args(["-c", "kill -\"$1\" \"$2\"", "sh", name])
        .arg(pid.to_string())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// From now on an interrupt kills our children, removes the folder, and ends us.
pub(crate) fn die_cleanly(folder: &Path) -> Result<()> {
    let folder: PathBuf = folder.to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        let running = running();
        for pid in running.iter() {
            send("KILL", *pid);
        }
        let _ = std::fs::remove_dir_all(&folder);
        eprintln!("folkmoot-bench: interrupted");
        std::process::exit(130);
    });
    Ok(())
}

fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
