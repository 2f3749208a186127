//! System calls that fail when we say so.

use std::{path::Path, process::Command};

/// strace before a command, so that `calls` on a file fail with `error`, from the call that `when`
/// says on. Each thread counts its own calls. `None` where strace is missing or forbidden, which is
/// said.
pub(super) fn failing(calls: &str, error: &str, when: &str, file: &Path) -> Option<Vec<String>> {
    let works = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        super::skipped(
            "no strace, or no right to trace, so no system call can be made to fail; use `cargo xtask test`",
        );
        return None;
    }
    // -D: the server stays our child, and strace goes when it goes.
    let mut words: Vec<String> = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-P"].map(str::to_owned).into();
    words.push(file.display().to_string());
    words.extend([
        "-e".to_owned(),
        format!("trace={calls}"),
        "-e".to_owned(),
        format!("inject={calls}:error={error}:when={when}"),
    ]);
    Some(words)
}
