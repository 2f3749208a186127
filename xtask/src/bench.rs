//! `cargo xtask bench`: builds the release, starts a durable PostgreSQL, and runs `folkmoot-bench`.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    cargo::{cargo, exit_code, target_dir, terminated_with_us},
    cluster::{Cluster, Sync},
};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    // The whole workspace, as `-p` would unify features differently and build the dependencies
    // again.
    let built = cargo().args(["build", "--release", "--workspace", "--bins", "--locked"]).status()?.success();
    if !built {
        bail!("cannot build the release binaries; see above");
    }
    let binaries = target_dir().join("release");
    let cluster = Cluster::start(Sync::On)?;
    exit_code(
        terminated_with_us(&binaries.join("folkmoot-bench"))
            .arg("run")
            .args(arguments)
            .env("FOLKMOOT_BENCH_SERVER", binaries.join("folkmoot"))
            .env("FOLKMOOT_BENCH_POSTGRES", cluster.connection()),
    )
}
