//! The same jail, built by `bwrap`; our `init` is its first process too.

use std::{path::Path, process::Command};

use super::{ENVIRONMENT_OF_INIT, FaultContext, INSIDE_ID, arguments_of_init, root};
use crate::jail::{
    FOLDER,
    wire::{JailFault, Spec},
};

/// The path of this program for `init`.
const HELPER: &str = "/.folkmoot-jail";

pub(super) fn command(spec: &Spec) -> Result<Command, JailFault> {
    let id = INSIDE_ID.to_string();
    let size = spec.disk_bytes.to_string();
    let helper = std::fs::read_link("/proc/self/exe").doing("finding our own program")?;
    let mut bwrap = Command::new("bwrap");
    bwrap.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    bwrap.args(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    if !spec.network {
        bwrap.arg("--unshare-net");
    }
    bwrap.args([
        "--die-with-parent",
        "--as-pid-1",
        "--clearenv",
        "--cap-drop",
        "ALL",
        "--uid",
        &id,
        "--gid",
        &id,
        "--hostname",
        "jail",
        "--setenv",
        ENVIRONMENT_OF_INIT.0,
        ENVIRONMENT_OF_INIT.1,
    ]);
    for system in root::system().doing("looking for the system's folders")? {
        match system.link {
            Some(target) => bwrap.arg("--symlink").arg(target).arg(&system.path),
            None => bwrap.arg("--ro-bind").arg(&system.path).arg(&system.path),
        };
    }
    for shared in root::shared(spec.network) {
        bwrap.args(["--ro-bind", shared, shared]);
    }
    if spec.network {
        bwrap.args(["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]);
    }
    for node in root::DEVICES {
        bwrap.args(["--dev-bind", node, node]);
    }
    for (link, target) in root::LINKS {
        bwrap.args(["--symlink", target, link]);
    }
    bwrap.args(["--proc", "/proc", "--size", &size, "--perms", "0755", "--tmpfs", "/tmp"]);
    match &spec.mounted {
        Some(folder) => {
            bwrap.arg(if spec.read_only { "--ro-bind" } else { "--bind" }).arg(folder).arg(FOLDER);
            let git = folder.join(".git");
            // A link would be followed on both sides, and lead out of the folder.
            if git.symlink_metadata().is_ok_and(|git| !git.is_symlink()) {
                bwrap.arg("--ro-bind").arg(git).arg(Path::new(FOLDER).join(".git"));
            }
        }
        None => {
            bwrap.args(["--size", &size, "--perms", "0755", "--tmpfs", FOLDER]);
        }
    }
    for readable in &spec.readable {
        bwrap.arg("--ro-bind").arg(&readable.host).arg(&readable.inside);
    }
    bwrap.arg("--ro-bind").arg(helper).arg(HELPER).args(["--chdir", FOLDER, "--", HELPER]).args(arguments_of_init());
    Ok(bwrap)
}
