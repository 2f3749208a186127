//! `cargo xtask test`: runs every test of the workspace with a temporary PostgreSQL. A failing test
//! does not stop the others; all failures are listed at the end.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo::{cargo, code_of},
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
            // The first driver is still tested; without bwrap nobody uses the second.
            eprintln!("xtask: {error:#}; going on without it");
        }
    }
    if cfg!(target_os = "linux") && !has_faketime() {
        // Without it one test cannot run: a node with a wrong clock.
        if let Err(error) = packages::install("libfaketime", "a node's clock is made wrong with libfaketime") {
            eprintln!("xtask: {error:#}; going on without it");
        }
    }
    if cfg!(target_os = "linux") && !packages::works("pgbouncer") && !packages::works("/usr/sbin/pgbouncer") {
        // Without it two tests cannot run: losses behind a connection pooler.
        if let Err(error) = packages::install("pgbouncer", "a connection pooler stands before PostgreSQL in two tests")
        {
            eprintln!("xtask: {error:#}; going on without it");
        }
    }
    let cluster = Cluster::start(Sync::Off)?;

    let mut test = cargo();
    test.args(["test", "--locked", "--no-fail-fast", "--all-features"]);
    if !names_packages(arguments) {
        test.arg("--workspace");
    }
    test.args(arguments);
    test.env("FOLKMOOT_TEST_POSTGRES", cluster.connection());
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // Most tests wait for a sync, a process or the clock, so one per core would leave the cores
        // idle.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        test.env("RUST_TEST_THREADS", (2 * cores).to_string());
    }
    let (code, failed) = run_and_watch(&mut test)?;
    if !failed.is_empty() {
        eprintln!("\nxtask: {} tests failed:", failed.len());
        failed.iter().for_each(|name| eprintln!("  {name}"));
        eprintln!("xtask: `cargo xtask test -p CRATE -- NAME` runs one of them again");
    }
    Ok(code)
}

/// Runs the tests, shows their output, and returns the names of failed ones.
fn run_and_watch(test: &mut Command) -> Result<(ExitCode, Vec<String>)> {
    let mut running =
        test.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {:?}", test.get_program()))?;
    let printed = running.stdout.take().context("cargo's output cannot be read")?;
    let failed = watch(printed, &mut std::io::stdout())?;
    Ok((code_of(running.wait()?), failed))
}

/// Copies the output, and returns the names of failed tests.
fn watch(printed: impl Read, shown: &mut impl Write) -> Result<Vec<String>> {
    let (mut printed, mut line, mut failed) = (BufReader::new(printed), Vec::new(), Vec::new());
    while printed.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        shown.flush()?;
        failed.extend(failure(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    Ok(failed)
}

/// The test that a line says has failed.
fn failure(line: &str) -> Option<String> {
    let (name, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
    end.trim_start().starts_with("FAILED").then(|| name.to_owned())
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

#[cfg(test)]
mod tests {
    use super::watch;

    #[test]
    fn every_test_that_failed_is_listed_whichever_crate_it_is_of() {
        let printed = "running 2 tests\ntest a::works ... ok\ntest a::fails ... FAILED\n\nfailures:\n    a::fails\n\n\
                       test result: FAILED. 1 passed; 1 failed\n\nrunning 1 test\ntest b::fails ... FAILED\n";
        let mut shown = Vec::new();
        let failed = watch(printed.as_bytes(), &mut shown).expect("it can be read");
        assert_eq!(failed, ["a::fails", "b::fails"]);
        assert_eq!(shown, printed.as_bytes());
    }
}
