//! `cargo xtask soak`: a long run at a steady load, which fails if memory, open files or the
//! write-ahead log grow.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::cargo::{cargo, exit_code, target_dir, terminated_with_us};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let (server, rest) = server(arguments)?;
    let binaries = target_dir().join("release");
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]);
    match &server {
        // As `bench` does, and for the same reason.
        None => build.args(["--workspace", "--bins"]),
        Some(_) => build.args(["-p", "folkmoot-bench"]),
    };
    if !build.status()?.success() {
        bail!("cannot build the release binaries; see above");
    }
    exit_code(
        terminated_with_us(&binaries.join("folkmoot-bench"))
            .arg("soak")
            .args(rest)
            .env("FOLKMOOT_BENCH_SERVER", server.unwrap_or_else(|| binaries.join("folkmoot"))),
    )
}

/// The server that is given, if one is, and all other arguments.
fn server(arguments: &[String]) -> Result<(Option<PathBuf>, Vec<String>)> {
    let (mut server, mut rest) = (None, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--server" => server = Some(PathBuf::from(arguments.next().context("--server takes a path")?)),
            _ => rest.push(argument.clone()),
        }
    }
    Ok((server, rest))
}
