//! A disk that fails to sync: whatever it says later, nothing is acknowledged after it.

use std::{
    path::Path,
    process::{Command, Output},
    sync::Arc,
    time::Duration,
};

use folkmoot_store::{Error, ManualClock, Sqlite, Store};

use crate::support::*;

/// Where the child works; also what makes it one.
const CHILD: &str = "FOLKMOOT_TEST_SYNC_CHILD";

/// Runs [`the_child_that_writes`] under strace, which makes syncs fail.
fn child(folder: &Path, strace: &[&str]) -> Option<Output> {
    let child = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"])
        .args(strace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::sync::the_child_that_writes", "--nocapture"])
        .env(CHILD, folder)
        .output();
    if child.is_err() {
        let skipped = "SKIPPED: no strace, so no sync can be made to fail; use `cargo xtask test`\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes());
    }
    child.ok()
}

/// What the child said, and that it said it in the right order.
async fn check(folder: &Path, child: Output) {
    let said = String::from_utf8(child.stdout).unwrap();
    assert!(child.status.success(), "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    let said: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("child: ")).collect();
    let stopped = said.iter().position(|line| line.starts_with("stopped")).expect("the child has seen it stop");
    assert!(said[stopped].contains("a sync failed"), "{}", said[stopped]);
    let written: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("written ")).collect();
    assert!(written.len() > 10, "only {} written", written.len());
    let after = &said[stopped + 1..];
    assert_eq!(after, ["refused"; 20], "something was acknowledged after the sync had failed");
    // What was acknowledged is there, as far as this machine did not lose its memory too.
    let store = Sqlite::open(&folder.join("folkmoot.db"), Arc::new(ManualClock::at(noon()))).unwrap();
    for gate in written {
        assert!(store.gate(&id(gate)).await.unwrap().is_some(), "{gate} was acknowledged and is lost");
    }
    assert_sound(&store).await;
}

#[tokio::test]
async fn a_failed_sync_of_a_commit_stops_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let Some(child) = child(folder.path(), &["-e", "inject=fsync,fdatasync:error=EIO:when=40+"]) else { return };
    check(folder.path(), child).await;
}

/// The log is synced as it should be; the database, into which a checkpoint moves it, is not.
#[tokio::test]
async fn a_failed_sync_of_a_checkpoint_stops_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("folkmoot.db");
    let only = ["-P", database.to_str().unwrap(), "-e", "inject=fsync,fdatasync:error=EIO:when=2+"];
    let Some(child) = child(folder.path(), &only) else { return };
    check(folder.path(), child).await;
}

/// Not a test of its own: does nothing unless it was started by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_child_that_writes() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let store = Sqlite::open(&Path::new(&folder).join("folkmoot.db"), Arc::new(ManualClock::at(noon()))).unwrap();
    let write = async || {
        let content = format!("{} ", unique()).repeat(100_000);
        let new_gate = new_gate();
        let id = new_gate.id.clone();
        let command = open_with(agent("agent-a"), new_gate, vec![("content", content.as_bytes())]);
        (id, store.execute(command).await)
    };
    for _ in 0..2000 {
        let (id, answer) = write().await;
        match answer {
            Ok(_) => println!("child: written {id}"),
            Err(Error::Stopped(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
        // Long enough for a checkpoint to fail while the writer has nothing to do.
        if let Ok(reason) = tokio::time::timeout(Duration::from_millis(25), store.stopped()).await {
            println!("child: stopped, {reason}");
            break;
        }
    }
    for _ in 0..20 {
        match write().await.1 {
            Err(Error::Stopped(_)) => println!("child: refused"),
            other => println!("child: {other:?}"),
        }
    }
}
