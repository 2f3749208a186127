//! System calls that fail when we say so.

use std::{path::Path, process::Command};

/// strace before a command, so that `calls` on these files fail with `error`, from the call that `when` says on. Each
/// thread counts its own calls. `None` where strace is missing or forbidden, which is said.
pub(super) fn failing(calls: &str, error: &str, when: &str, files: &[&Path]) -> Option<Vec<String>> {
    let works = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        super::skipped(
            "no strace, or no right to trace, so no system call can be made to fail; use `cargo xtask test`",
        );
        return None;
    }
    let mut words: Vec<String> = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e"].map(str::to_owned).into();
    // -D: the server stays our child, and strace goes when it goes.
    words.extend([format!("trace={calls}"), "-e".to_owned(), format!("inject={calls}:error={error}:when={when}")]);
    for file in files {
        words.extend(["-P".to_owned(), file.display().to_string()]);
    }
    Some(words)
}
