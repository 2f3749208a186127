//! `cargo xtask test`: every test of the workspace, with a PostgreSQL that lives as long as they do.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use crate::{
    cargo::{cargo, exit_code},
    cluster::{Cluster, Sync},
    packages,
};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if !packages::works("strace") {
        packages::install("strace", "the tests make fdatasync fail with strace")?;
        ensure!(packages::works("strace"), "strace was installed, but does not run");
    }
    if cfg!(target_os = "linux") && !packages::works("bwrap") {
        let installed = packages::install("bubblewrap", "the jail's second driver is tested with bubblewrap");
        if let Err(error) = installed {
            // The first driver is tested all the same, and where there is no bwrap, nobody uses the second.
            eprintln!("xtask: {error:#}; going on without it");
        }
    }
    if cfg!(target_os = "linux") && !has_faketime() {
        // Without it one test says that it proves nothing: what a node does whose clock is wrong.
        if let Err(error) = packages::install("libfaketime", "a node's clock is made wrong with libfaketime") {
            eprintln!("xtask: {error:#}; going on without it");
        }
    }
    if cfg!(target_os = "linux") && !packages::works("pgbouncer") && !packages::works("/usr/sbin/pgbouncer") {
        // Without it two tests say that they prove nothing: what is lost behind a connection pooler.
        if let Err(error) = packages::install("pgbouncer", "a connection pooler stands before PostgreSQL in two tests")
        {
            eprintln!("xtask: {error:#}; going on without it");
        }
    }
    let cluster = Cluster::start(Sync::Off)?;

    let mut test = cargo();
    test.args(["test", "--locked"]);
    if !names_packages(arguments) {
        test.arg("--workspace");
    }
    test.args(arguments);
    test.env("FOLKMOOT_TEST_POSTGRES", cluster.connection());
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // Most tests wait: for a sync, for a process, for the clock. One for each core would leave the cores idle.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        test.env("RUST_TEST_THREADS", (2 * cores).to_string());
    }
    exit_code(&mut test)
}

/// Where Debian puts it: in the folder of the machine's libraries.
fn has_faketime() -> bool {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1")).any(|shim| shim.exists())
}

fn names_packages(arguments: &[String]) -> bool {
    arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument.starts_with("-p") || argument.starts_with("--package"))
}
