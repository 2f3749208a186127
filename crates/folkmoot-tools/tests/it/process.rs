//! Programs and processes of this machine.

use std::{process::Command, sync::OnceLock, time::Duration};

use nix::{sys::signal::kill, unistd::Pid};

/// Whether a process is gone, or goes within a moment. A zombie that nobody has collected yet is
/// gone for all that matters.
pub(crate) async fn is_gone(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    for _ in 0..100 {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_zombie = state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'));
        if kill(pid, None).is_err() || is_zombie {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// Python itself: `python3` on PATH is on many machines a script that looks for it, which takes
/// longer than to start it.
pub(crate) fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let asked = Command::new("python3").args(["-IS", "-c", "import sys; print(sys.executable)"]).output().unwrap();
        String::from_utf8(asked.stdout).unwrap().trim().to_owned()
    })
}
