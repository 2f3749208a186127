//! Calling cargo from inside `cargo xtask`.

use std::{
    env,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
};

use anyhow::{Context, Result};

use crate::packages;

/// Cargo at the workspace's root, as a shell would call it; terminated if we are.
///
/// `cargo run` describes our own package in environment variables. Build scripts such as ring's
/// watch those, so passing them on would rebuild ring each time somebody alternates between
/// `cargo xtask test` and `cargo test`.
pub(crate) fn cargo() -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = terminated_with_us(Path::new(&cargo));
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        let told_by_cargo_run =
            name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"));
        if told_by_cargo_run {
            command.env_remove(name);
        }
    }
    command
}

/// A program that the kernel terminates when we die, if `setpriv` is available.
pub(crate) fn terminated_with_us(program: &Path) -> Command {
    if !packages::works("setpriv") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig=TERM", "--"]).arg(program);
    command
}

/// Runs the command, and returns its exit code.
pub(crate) fn exit_code(command: &mut Command) -> Result<ExitCode> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    Ok(code_of(status))
}

pub(crate) fn code_of(status: ExitStatus) -> ExitCode {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The folder of the workspace's `Cargo.toml`.
///
/// At run time, because clones that share a target folder share this binary.
pub(crate) fn root() -> PathBuf {
    let xtask = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    match xtask.as_deref().and_then(Path::parent) {
        Some(root) => root.to_owned(),
        None => PathBuf::from("."),
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}
