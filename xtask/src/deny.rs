//! `cargo xtask deny`: checks our dependencies against `deny.toml`.
//!
//! Advisories are left out, because they need a Git server.

use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{cargo, exit_code, target_dir};

const VERSION: &str = "0.20.2";

pub(crate) fn run() -> Result<ExitCode> {
    install_if_missing()?;
    exit_code(cargo().args(["deny", "--locked", "check", "bans", "licenses", "sources"]))
}

pub(crate) fn install_if_missing() -> Result<()> {
    let present = cargo()
        .args(["deny", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start cargo")?
        .success();
    if present {
        return Ok(());
    }
    eprintln!("xtask: cargo-deny is missing; building {VERSION}, which takes some minutes");
    // In a separate folder: its features would otherwise rebuild our shared dependencies.
    let installed = cargo()
        .args(["install", "cargo-deny", "--locked", "--version", VERSION])
        .env("CARGO_TARGET_DIR", target_dir().join("deny"))
        .status()?
        .success();
    if !installed {
        bail!("cannot install cargo-deny {VERSION}; see above");
    }
    Ok(())
}
