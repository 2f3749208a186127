use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use folkmoot_core::{GateId, GateStatus, gate::NewGate};
use folkmoot_store::{Error, ManualClock, Sqlite, Store};
use futures_util::future::join_all;

use crate::support::*;

/// A small disk. Unmounted, and only that, when it goes out of scope.
struct SmallDisk {
    folder: PathBuf,
    _parent: tempfile::TempDir,
}

impl SmallDisk {
    fn new(megabytes: u32) -> Option<Self> {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("disk");
        std::fs::create_dir(&folder).unwrap();
        let size = format!("size={megabytes}m,mode=700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder, _parent: parent });
        }
        let skipped = "SKIPPED: no small disk to fill, because this user may not mount one\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes());
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.folder).status();
        // The folder's parent is removed after this, which must not reach into a disk that is still
        // there.
        assert!(unmounted.is_ok_and(|status| status.success()), "cannot unmount {}", self.folder.display());
    }
}

/// Each gate brings its own 40 kB, many at once, until the disk is full. Returns what was
/// acknowledged and what not.
async fn fill(store: &Sqlite) -> (Vec<GateId>, Vec<GateId>) {
    let (mut written, mut refused) = (Vec::new(), Vec::new());
    for round in 0..200 {
        let openings: Vec<NewGate> = (0..32).map(|_| new_gate()).collect();
        let ids: Vec<GateId> = openings.iter().map(|new_gate| new_gate.id.clone()).collect();
        let commands = openings.into_iter().enumerate().map(|(n, new_gate)| {
            let content = format!("{round}-{n} ").repeat(6000);
            let command = open_with(agent("agent-a"), new_gate, vec![("content", content.as_bytes())]);
            store.execute(command)
        });
        for (id, answer) in ids.into_iter().zip(join_all(commands).await) {
            match answer {
                Ok(_) => written.push(id),
                Err(Error::Full) => refused.push(id),
                Err(error) => panic!("neither written nor full: {error:?}"),
            }
        }
        // A full disk stays full, and says so again.
        if refused.len() > 100 {
            return (written, refused);
        }
    }
    panic!("{} gates were written, and the disk is not full", written.len());
}

async fn assert_written(store: &Sqlite, written: &[GateId], refused: &[GateId]) {
    for id in written {
        assert!(store.gate(id).await.unwrap().is_some(), "{id} was acknowledged and is lost");
    }
    for id in refused {
        assert_eq!(store.gate(id).await, Ok(None), "{id} was not acknowledged and is there");
    }
    assert_sound(store).await;
}

fn assert_intact(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let intact: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(intact, "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_and_works_again_with_space() {
    let Some(disk) = SmallDisk::new(24) else { return };
    let ballast = disk.folder.join("ballast");
    std::fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let path = disk.folder.join("folkmoot.db");
    let clock = Arc::new(ManualClock::at(noon()));
    let store = Sqlite::open(&path, clock.clone()).unwrap();

    let (written, refused) = fill(&store).await;
    assert!(written.len() > 20, "only {} before the disk was full", written.len());
    // Reading goes on meanwhile.
    assert_written(&store, &written, &refused).await;

    std::fs::remove_file(&ballast).unwrap();
    let gate = an_open_gate(&store).await;
    assert_eq!(gate_of(store.execute(approve(&gate.id, "alice")).await).status(), GateStatus::Approved);
    assert_eq!(gate_of(store.execute(approve(&written[0], "alice")).await).status(), GateStatus::Approved);
    assert_written(&store, &written, &refused).await;
    drop(store);

    assert_intact(&path);
    let store = Sqlite::open(&path, clock).unwrap();
    assert_written(&store, &written, &refused).await;
    drop(store);
}
