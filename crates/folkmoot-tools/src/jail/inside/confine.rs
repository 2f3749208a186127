//! Drops rights, from the most to the least powerful. None of it can be undone.

use std::{error::Error, io};

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::sys::{
    prctl,
    resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit},
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
};

use super::{FaultContext, root, seccomp};
use crate::jail::{
    FOLDER,
    wire::{Facts, JailFault, Spec},
};

/// `start` and `init` count too.
const HELPERS: u64 = 2;
/// The newest Landlock version that is requested. Older kernels enforce what they support.
const LANDLOCK: ABI = ABI::V6;

pub(super) fn confine(spec: &Spec, proc: bool) -> Result<Facts, JailFault> {
    // The command can see init, but cannot read its memory or descriptors.
    prctl::set_dumpable(false).doing("hiding the first process")?;
    limits(spec).doing("setting limits")?;
    capabilities().doing("dropping capabilities")?;
    prctl::set_no_new_privs().doing("forbidding new privileges")?;
    let landlock = landlock().map_err(io::Error::other).doing("Landlock")?;
    seccomp::apply(spec.watch).doing("filtering system calls")?;
    Ok(Facts { landlock: landlock.to_owned(), seccomp: true, proc })
}

/// The second line of defence, per process. The first is the control group, or sampling.
fn limits(spec: &Spec) -> nix::Result<()> {
    let mut wanted = vec![
        // Not zero: the kernel ignores zero if a program outside collects cores, and treats this
        // value as none.
        (Resource::RLIMIT_CORE, 1),
        (Resource::RLIMIT_CPU, spec.cpu_seconds + 1),
        // Not the address space, of which many tool chains reserve far more than they use, but its
        // writable part. Twice the limit, so that the first line, which can report what happened,
        // acts first.
        (Resource::RLIMIT_DATA, spec.memory_bytes.saturating_mul(2)),
        (Resource::RLIMIT_FSIZE, spec.disk_bytes),
        (Resource::RLIMIT_MEMLOCK, 64 << 10),
        (Resource::RLIMIT_MSGQUEUE, 0),
        (Resource::RLIMIT_NOFILE, spec.open_files),
        (Resource::RLIMIT_SIGPENDING, 1024),
    ];
    // Older kernels count all processes of the user everywhere. Without a control group, only
    // sampling remains there.
    if counts_by_namespace() || spec.become_user.is_some() {
        // A control group reports refused processes, so it should act first.
        let margin = if spec.watch.processes { 1 } else { 2 };
        wanted.push((Resource::RLIMIT_NPROC, spec.processes * margin + HELPERS));
    }
    for (resource, limit) in wanted {
        let (_, hard) = getrlimit(resource)?;
        let limit = if hard == RLIM_INFINITY { limit } else { limit.min(hard) };
        setrlimit(resource, limit, limit)?;
    }
    Ok(())
}

/// Since Linux 5.14 the limit of processes is per user and namespace.
fn counts_by_namespace() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(|character: char| !character.is_ascii_digit())
        .map(|number| number.parse::<u32>().unwrap_or_default());
    (numbers.next(), numbers.next()) >= (Some(5), Some(14))
}

fn capabilities() -> rustix::io::Result<()> {
    clear_ambient_capability_set()?;
    for capability in (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number)) {
        // Beyond the last capability that the kernel knows, or bwrap has already removed the right.
        match remove_capability_from_bounding_set(capability) {
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error),
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Everything can be read and executed; two folders can be written to.
fn landlock() -> Result<&'static str, Box<dyn Error + Send + Sync>> {
    let readable = AccessFs::from_read(LANDLOCK);
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))?
        // Abstract sockets and signals: with the network, those of this machine would be reachable.
        .scope(Scope::from_all(LANDLOCK))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, readable))?;
    for folder in [FOLDER, "/tmp"] {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(folder)?, AccessFs::from_all(LANDLOCK)))?;
    }
    for device in root::DEVICES {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(device)?, AccessFs::WriteFile | AccessFs::ReadFile))?;
    }
    Ok(match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => "full",
        RulesetStatus::PartiallyEnforced => "partial",
        RulesetStatus::NotEnforced => "none",
    })
}
