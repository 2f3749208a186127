//! Outside the process namespace: sets the user, the namespaces and the root, and watches `init`.

use std::{
    fs, io,
    os::{
        fd::{AsFd, AsRawFd},
        unix::net::UnixStream,
    },
    process::{Child, Command},
};

use nix::{
    sched::{CloneFlags, unshare},
    sys::{
        prctl,
        stat::{Mode, umask},
    },
    unistd::{Gid, Uid, close, getegid, geteuid, setgroups, setresgid, setresuid, setsid},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, pidfd_open},
    thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities},
};

use super::{ENVIRONMENT_OF_INIT, FaultContext, INSIDE_ID, arguments_of_init, bubblewrap, loopback, root};
use crate::jail::{
    Driver,
    wire::{self, FaultKind, JailFault, Spec, User},
};

/// What `init` needs for its mounts and for dropping the rest.
const FOR_INIT: [CapabilitySet; 2] = [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP];

pub(super) fn start(control: &mut UnixStream) -> Result<(), JailFault> {
    close_inherited(control).doing("closing what was inherited")?;
    // Leave the terminal, so that Ctrl-C does not reach the job. Fails only if that is already so.
    let _ = setsid();
    umask(Mode::from_bits_truncate(0o022));
    let spec: Spec = wire::receive(control).doing("reading what to do")?;
    let init = match spec.driver {
        Driver::Namespaces => namespaces(&spec)?,
        Driver::Bubblewrap => {
            if let Some(user) = spec.become_user {
                step_down(user)?;
            }
            bubblewrap::command(&spec)?.spawn().doing("starting bwrap")?
        }
        Driver::Refuse => return Err(JailFault { kind: FaultKind::Invalid, detail: "there is no driver".to_owned() }),
    };
    watch_over(init, control)
}

/// Closes descriptors that the parent left open.
fn close_inherited(control: &UnixStream) -> io::Result<()> {
    let names = fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2 && *number != control.as_raw_fd()) {
        // The descriptor that read the list is closed already.
        let _ = close(number);
    }
    Ok(())
}

fn namespaces(spec: &Spec) -> Result<Child, JailFault> {
    // Build while still root, because readable paths may be inaccessible to others.
    if let Some(user) = spec.become_user {
        unshare(CloneFlags::CLONE_NEWNS).doing("a mount namespace")?;
        root::build(spec, Some(user))?;
        step_down(user)?;
    }
    let mut new = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if !spec.network {
        new |= CloneFlags::CLONE_NEWNET;
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(new).doing("a user namespace")?;
    map(uid, gid)?;
    if spec.become_user.is_none() {
        root::build(spec, None)?;
    }
    if !spec.network {
        loopback::up().doing("the loopback of the new network namespace")?;
    }
    keep_for_init().doing("keeping the capabilities of the new user namespace")?;
    Command::new("/proc/self/exe")
        .args(arguments_of_init())
        .env_clear()
        .envs([ENVIRONMENT_OF_INIT])
        .spawn()
        .doing("starting the first process of the jail (everybody must be allowed to execute the file of this program)")
}

/// Becomes an unprivileged user, permanently.
fn step_down(user: User) -> Result<(), JailFault> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    if uid.is_root() || gid.as_raw() == 0 {
        return Err(JailFault { kind: FaultKind::Invalid, detail: "a job never runs as root".to_owned() });
    }
    setgroups(&[]).doing("leaving all groups")?;
    setresgid(gid, gid, gid).doing("changing the group")?;
    setresuid(uid, uid, uid).doing("changing the user")?;
    if setresuid(Uid::from_raw(0), Uid::from_raw(0), Uid::from_raw(0)).is_ok() {
        return Err(JailFault {
            kind: FaultKind::Failed,
            detail: "stepping down from root could be undone".to_owned(),
        });
    }
    // After a change of user, a process does not own its /proc otherwise and could not write the
    // maps.
    prctl::set_dumpable(true).doing("owning our own /proc")
}

/// Maps one user and one group, neither of them root.
fn map(uid: Uid, gid: Gid) -> Result<(), JailFault> {
    fs::write("/proc/self/setgroups", "deny").doing("denying setgroups")?;
    fs::write("/proc/self/uid_map", format!("{INSIDE_ID} {uid} 1")).doing("mapping the user")?;
    fs::write("/proc/self/gid_map", format!("{INSIDE_ID} {gid} 1")).doing("mapping the group")
}

/// Keeps the capabilities for `init` across exec.
fn keep_for_init() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable = FOR_INIT.into_iter().collect();
    set_capabilities(None, sets)?;
    for capability in FOR_INIT {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Returns when `init` has ended, or when the parent is gone. Then `init` dies with us.
fn watch_over(init: Child, control: &UnixStream) -> Result<(), JailFault> {
    let pid = i32::try_from(init.id()).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else { return Err(JailFault { kind: FaultKind::Failed, detail: "init has no id".to_owned() }) };
    let init = pidfd_open(pid, PidfdFlags::empty()).doing("watching the first process of the jail")?;
    loop {
        let mut ends = [
            PollFd::from_borrowed_fd(init.as_fd(), PollFlags::IN),
            // A hang-up is always reported. Data is for init to read.
            PollFd::from_borrowed_fd(control.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut ends, None) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).doing("waiting for the first process of the jail"),
        }
    }
}
