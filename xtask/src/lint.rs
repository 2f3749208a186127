//! `cargo xtask lint`: the width of comments, rustfmt, then clippy over everything that compiles.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    cargo::{cargo, exit_code},
    width,
};

pub(crate) fn run() -> Result<ExitCode> {
    width::check()?;
    if !cargo().args(["fmt", "--all", "--check"]).status()?.success() {
        bail!("run `cargo fmt --all`");
    }
    exit_code(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))
}
