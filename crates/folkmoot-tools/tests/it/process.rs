//! Whether processes are there.

use std::time::Duration;

use nix::{sys::signal::kill, unistd::Pid};

/// Whether a process is gone, or goes within a moment. A zombie that nobody has collected yet is gone for all that matters.
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
