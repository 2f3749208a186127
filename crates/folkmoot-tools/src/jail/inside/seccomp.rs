//! Filters system calls that no job needs.
//!
//! Calls that only attacks make end the process. Calls that honest programs try and can do without
//! are refused. Calls whose arguments cannot be inspected, and calls newer than this list, appear
//! as missing.

use std::{collections::BTreeMap, io};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

use crate::jail::wire::WatchedLimits;

/// The last call that this list knows: `mseal`. Its number is the same on every platform.
const LAST_KNOWN: u32 = 462;

const FATAL: &[i64] = &[
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_open_by_handle_at,
    libc::SYS_pivot_root,
    libc::SYS_reboot,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
];

const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_fanotify_init,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// The kinds of new namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];
const CLONE_NEWTIME: u64 = 0x80;
/// Calls that change a file's mode, with the position of the mode. A set-user-id file would give
/// its owner's rights to anybody who executes it outside, where a project's folder is too. A new
/// file can have that mode as well, but loses it as soon as something is written to it.
const CHANGES_OF_MODE: &[(i64, u8)] = &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2)];
#[cfg(target_arch = "x86_64")]
const CHANGES_OF_MODE_HERE: &[(i64, u8)] = &[(libc::SYS_chmod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const CHANGES_OF_MODE_HERE: &[(i64, u8)] = &[];
/// The same number on every platform.
const FCHMODAT2: i64 = 452;
/// Terminal calls that type into somebody else's terminal.
const TERMINAL_CALLS: [u64; 2] = [0x5412, 0x541C];
/// Calls that take a process id, with its position. The first process has the command's user, but
/// the command must not change its limits or scheduling.
const ABOUT_A_PROCESS: [(i64, u8); 5] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];
/// The same, if another argument with this value says that the id is a process.
const ABOUT_SOMEBODY: [(i64, u64); 2] = [(libc::SYS_ioprio_set, 1), (libc::SYS_setpriority, 0)];
const FIRST_PROCESS: u64 = 1;
const FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// The ordinary network protocols. Others are code that kernels load on demand and that few have
/// reviewed.
const PROTOCOLS: [i32; 6] = [
    0,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_ICMPV6,
    // Some languages listen with it; it falls back to TCP.
    libc::IPPROTO_MPTCP,
];
/// Socket types that imply such a protocol.
const STRANGE_KINDS: [i32; 2] = [libc::SOCK_SEQPACKET, libc::SOCK_DCCP];
const KIND_MASK: u64 = 0xf;

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies it to this process and everything it starts. It cannot be undone.
pub(super) fn apply(watched: WatchedLimits) -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    for program in programs(watched).map_err(|error| failed(&error))? {
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn programs(watched: WatchedLimits) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let whole = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect::<SyscallRules>();
    let mut refused = whole(REFUSED);
    refused.extend(whole(REFUSED_HERE));
    refused.insert(libc::SYS_clone, any_of(0, &NAMESPACES.map(|flag| flag as u64))?);
    let mut unshared = NAMESPACES.map(|flag| flag as u64).to_vec();
    unshared.push(CLONE_NEWTIME);
    refused.insert(libc::SYS_unshare, any_of(0, &unshared)?);
    refused.insert(
        libc::SYS_ioctl,
        TERMINAL_CALLS.iter().map(|call| rule(vec![is(1, SeccompCmpOp::Eq, *call)?])).collect::<Result<_, _>>()?,
    );

    for (call, argument) in ABOUT_A_PROCESS {
        refused.insert(call, vec![rule(vec![is(argument, SeccompCmpOp::Eq, FIRST_PROCESS)?])?]);
    }
    for (call, word) in ABOUT_SOMEBODY {
        let about = vec![is(0, SeccompCmpOp::Eq, word)?, is(1, SeccompCmpOp::Eq, FIRST_PROCESS)?];
        refused.insert(call, vec![rule(about)?]);
    }

    for (call, argument) in CHANGES_OF_MODE.iter().chain(CHANGES_OF_MODE_HERE) {
        refused.insert(*call, any_of(*argument, &[u64::from(libc::S_ISUID)])?);
    }

    // Its flags are behind a pointer, which a filter cannot read. Libraries fall back to clone.
    let mut absent = whole(&[libc::SYS_clone3]);
    if watched.memory {
        // Without control groups nobody could count this memory: it is in no process and no folder.
        absent.extend(whole(&[libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_shmget]));
    }
    let strange =
        SyscallRules::from([(libc::SYS_socket, strange_sockets()?), (libc::SYS_socketpair, strange_sockets()?)]);
    let unheard_of = SyscallRules::from([(libc::SYS_socket, strange_protocols()?)]);
    Ok(vec![
        filter(whole(FATAL), SeccompAction::KillProcess)?,
        filter(refused, SeccompAction::Errno(libc::EPERM as u32))?,
        filter(absent, SeccompAction::Errno(libc::ENOSYS as u32))?,
        filter(strange, SeccompAction::Errno(libc::EAFNOSUPPORT as u32))?,
        filter(unheard_of, SeccompAction::Errno(libc::EPROTONOSUPPORT as u32))?,
        // Reported as successful: programs that ask for no core get none.
        filter(cores()?, SeccompAction::Errno(0))?,
        unknown(),
    ])
}

fn filter(rules: SyscallRules, answer: SeccompAction) -> Result<BpfProgram, seccompiler::BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, answer, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// Allows internet and Unix sockets, and of the kernel's only the one that lists network devices.
fn strange_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut other =
        FAMILIES.iter().map(|family| is(0, SeccompCmpOp::Ne, *family as u64)).collect::<Result<Vec<_>, _>>()?;
    let mut kernel = vec![is(0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64)?];
    other.push(is(0, SeccompCmpOp::Ne, libc::AF_NETLINK as u64)?);
    kernel.push(is(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)?);
    Ok(vec![rule(other)?, rule(kernel)?])
}

fn strange_protocols() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut strange = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let family = || is(0, SeccompCmpOp::Eq, family as u64);
        let mut protocol = vec![family()?];
        for known in PROTOCOLS {
            protocol.push(is(2, SeccompCmpOp::Ne, known as u64)?);
        }
        strange.push(rule(protocol)?);
        for kind in STRANGE_KINDS {
            strange.push(rule(vec![family()?, is(1, SeccompCmpOp::MaskedEq(KIND_MASK), kind as u64)?])?);
        }
    }
    Ok(strange)
}

/// Setting the core limit, which is one byte and must not become zero.
fn cores() -> Result<SyscallRules, seccompiler::BackendError> {
    let core = u64::from(libc::RLIMIT_CORE);
    let new = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    let mut rules = SyscallRules::from([(libc::SYS_prlimit64, vec![rule(vec![is(1, SeccompCmpOp::Eq, core)?, new])?])]);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    rules.insert(libc::SYS_setrlimit, vec![rule(vec![is(0, SeccompCmpOp::Eq, core)?])?]);
    Ok(rules)
}

fn any_of(argument: u8, flags: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    flags.iter().map(|flag| rule(vec![is(argument, SeccompCmpOp::MaskedEq(*flag), *flag)?])).collect()
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions)
}

fn is(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)
}

/// Hides calls newer than this list, and the second set of numbers on some x86 kernels, which would
/// bypass the list.
fn unknown() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_GREATER, 0, 1, LAST_KNOWN),
        step(RETURN, 0, 0, ERRNO | libc::ENOSYS as u32),
        step(RETURN, 0, 0, ALLOW),
    ]
}
