//! A small disk under a data folder.

use std::{path::PathBuf, process::Command};

use super::process::Home;

/// Unmounted, and only that, when it goes out of scope.
pub(super) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts one on the data folder of `home`; `None` where this user may not, which is said.
    pub(super) fn under(home: &Home, megabytes: u32) -> Option<Self> {
        let (folder, size) = (home.data(), format!("size={megabytes}m,mode=700"));
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder });
        }
        super::skipped("no small disk to fill, because this user may not mount one");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.folder).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            // The home is removed after this, which must not reach into a disk that is still there.
            eprintln!("cannot unmount {}", self.folder.display());
            std::process::abort();
        }
    }
}
