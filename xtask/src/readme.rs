//! `cargo xtask readme`: runs every block of README.md in a fresh home, and fails if the output
//! differs in more than ids, times and sizes. `xtask/readme/readme.py` explains how blocks are
//! marked.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo::{cargo, exit_code, root, target_dir},
    packages,
};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    for program in ["curl", "jq", "python3"] {
        if !packages::works(program) {
            packages::install(program, "README.md is tried with it")?;
        }
    }
    // As `cargo test` does it, so that nothing is built twice.
    let built = cargo().args(["test", "--locked", "--workspace", "--all-features", "--no-run", "--quiet"]).status();
    ensure!(built.context("cannot start cargo")?.success(), "the binary cannot be built; see above");
    let mut script = Command::new("python3");
    script.arg(root().join("xtask/readme/readme.py")).arg(root().join("README.md")).arg(target_dir().join("debug"));
    exit_code(script.args(arguments))
}
