//! `cargo xtask lint`: rustfmt, then clippy over everything that compiles.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cargo::{cargo, exit_code};

pub(crate) fn run() -> Result<ExitCode> {
    if !cargo().args(["fmt", "--all", "--check"]).status()?.success() {
        bail!("run `cargo fmt --all`");
    }
    exit_code(cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}
