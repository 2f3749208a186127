//! Processes that we started, so that an interrupted bench leaves none of them behind.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts a process that an interrupt of ours ends.
pub(crate) fn spawn(command: &mut Command) -> Result<Child> {
    // Locked over the start, or an interrupt in between would miss it.
    let mut running = running();
    let child = command.spawn()?;
    running.insert(child.id());
    Ok(child)
}

/// To be called once the process has been waited for: its id may soon be another's.
pub(crate) fn ended(child: &Child) {
    forget(child.id());
}

/// The same where only its id is left of it.
pub(crate) fn forget(id: u32) {
    running().remove(&id);
}

/// Sends a signal, which std cannot: it knows only SIGKILL.
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
