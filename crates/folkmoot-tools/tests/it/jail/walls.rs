//! What is out of reach.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use folkmoot_tools::jail::{JailError, JailJob, JobEnd, Limit};

use super::{jail, python, run, said, sh, text};

#[tokio::test]
async fn the_system_is_there_to_read_and_nothing_else() {
    // Links and folders of libraries are as this system has them.
    let systems = ["bin", "lib", "lib32", "lib64", "libx32", "sbin", "nix", "gnu"];
    let mut there =
        systems.into_iter().filter(|name| fs::symlink_metadata(format!("/{name}")).is_ok()).collect::<Vec<_>>();
    there.extend(["dev", "etc", "job", "proc", "tmp", "usr"]);
    there.sort_unstable();
    assert_eq!(said(sh("ls /")).await.lines().collect::<Vec<_>>(), there);
    assert_eq!(said(sh("echo $(ls /dev)")).await, "fd full null random shm stderr stdin stdout urandom zero\n");
    let users = "jail:x:1000:1000::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n";
    assert_eq!(said(sh("cat /etc/passwd")).await, users);
    let private =
        "for f in /etc/shadow /root /home /sys /run /var /dev/tty /dev/mem; do test -e $f && echo $f; done; true";
    assert_eq!(said(sh(private)).await, "");
    assert_eq!(said(sh("pwd; ls -A; echo $HOME; ls -A $HOME")).await, "/job\n/tmp\n");
}

#[tokio::test]
async fn a_file_outside_cannot_be_read() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let canary = outside.path().join("canary");
    fs::write(&canary, "sing").unwrap();
    fs::set_permissions(&canary, fs::Permissions::from_mode(0o666)).unwrap();
    let path = canary.to_str().unwrap();
    let tries = format!("cat {path}; cat /proc/1/root{path}; cat /job/../..{path}; ln -s {path} link; cat link; true");
    assert_eq!(said(sh(&tries)).await, "");
}

#[tokio::test]
async fn nothing_can_be_written_but_the_own_folder() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let path = outside.path().to_str().unwrap();
    let tries = format!(
        "for f in {path}/a /usr/a /usr/bin/a /etc/a /etc/passwd /dev/a /a /proc/self/oom_score_adj /proc/sys/kernel/hostname; do
           (echo x > $f) 2>/dev/null && echo wrote $f
         done
         mkdir /usr/b /b 2>/dev/null && echo made
         rm /etc/passwd /usr/bin/env 2>/dev/null && echo removed
         echo x > /job/a; echo x > /tmp/a; echo x > /dev/null; cat /job/a /tmp/a"
    );
    assert_eq!(said(sh(&tries)).await, "x\nx\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn no_process_outside_can_be_seen_or_signalled() {
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = other.id();
    let tries = format!(
        "import os, signal\n\
         for s in (0, signal.SIGTERM, signal.SIGKILL):\n\
         \x20 try: os.kill({pid}, s); print('signalled')\n\
         \x20 except ProcessLookupError: pass\n\
         print(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))"
    );
    let said = said(python(&tries)).await;
    let alive = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(said, "[1, 2]\n");
    assert!(alive);
}

#[tokio::test]
async fn the_first_process_can_be_neither_ended_nor_looked_into() {
    let tries = "kill -9 1; kill -TERM 1; kill -STOP 1; for i in 1 2 3; do kill -SEGV 1; kill -BUS 1; kill -CHLD 1; done; ls /proc/1/fd; cat /proc/1/environ; cat /proc/1/mem | head -c 1; ls /proc/1/root/; echo still here";
    assert_eq!(said(sh(&only_walled(tries))).await, "still here\n");
}

/// A script that does nothing unless its processes, its process group and its user are not ours:
/// what it signals must be nobody else's, even if the jail were wide open.
fn only_walled(script: &str) -> String {
    let ours = fs::read_link("/proc/self/ns/pid").unwrap();
    format!(
        "read -r _ _ _ _ group _ < /proc/self/stat
         if [ \"$(readlink /proc/self/ns/pid)\" = '{}' ] || [ \"$group\" = 0 ] || [ \"$(id -u)\" = 0 ]; then
           echo 'this is no jail'
           exit 99
         fi
         {script}",
        ours.display()
    )
}

#[tokio::test]
async fn the_environment_does_not_leak() {
    // Cargo gives its tests plenty of variables.
    assert!(std::env::vars().count() > 5 || std::env::var(super::DRIVER).is_ok());
    let mut job = JailJob::new(folkmoot_tools::Profile::Code, ["env"]);
    job.environment.insert("MINE".to_owned(), "yes".to_owned());
    let said = said(job).await;
    let mut lines = said.lines().collect::<Vec<_>>();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["HOME=/tmp", "LANG=C.UTF-8", "MINE=yes", "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=/tmp", "USER=jail"]
    );
}

#[tokio::test]
async fn no_open_file_leaks() {
    let leaking = fs::File::open("/usr/bin/env").unwrap();
    rustix::io::fcntl_setfd(&leaking, rustix::io::FdFlags::empty()).unwrap();
    // The fourth is the one with which the list is read.
    assert_eq!(said(python("import os; print(sorted(os.listdir('/proc/self/fd')))")).await, "['0', '1', '2', '3']\n");
    assert_eq!(said(sh("ls -l /proc/self/fd | grep -c usr; true")).await, "0\n");
    drop(leaking);
}

#[tokio::test]
async fn what_only_administrators_do_is_refused() {
    let tries = "
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, *arguments):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*arguments)
    print(name, result, os.strerror(ctypes.get_errno()))
attempt('mount', b'x', b'/tmp', b'tmpfs', 0, None)
attempt('umount2', b'/proc', 2)
attempt('unshare', 0x10000000)
attempt('unshare', 0x00020000)
attempt('ptrace', 0, 0, 0, 0)
attempt('chroot', b'/tmp')
attempt('setuid', 0)
attempt('sethostname', b'x', 1)
attempt('process_vm_readv', 1, None, 0, None, 0, 0)
for family, kind, protocol in ((socket.AF_PACKET, socket.SOCK_RAW, 0), (socket.AF_NETLINK, socket.SOCK_RAW, 12), (40, socket.SOCK_STREAM, 0), (38, 5, 0)):
    try: socket.socket(family, kind, protocol); print('opened', family)
    except OSError as e: print(e.strerror)
";
    let refused = "Operation not permitted";
    let strange = "Address family not supported by protocol\n".repeat(4);
    assert_eq!(
        said(python(tries)).await,
        format!(
            "mount -1 {refused}\numount2 -1 {refused}\nunshare -1 {refused}\nunshare -1 {refused}\nptrace -1 {refused}\n\
             chroot -1 {refused}\nsetuid -1 Invalid argument\nsethostname -1 {refused}\nprocess_vm_readv -1 {refused}\n{strange}"
        )
    );
}

#[tokio::test]
async fn a_call_that_only_an_attack_makes_ends_the_job() {
    let report = run(python("import ctypes; ctypes.CDLL(None).setns(0, 0); print('went on')")).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Syscall));
    assert_eq!(text(&report.stdout), "");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_missing() {
    let missing = jail().await.run(JailJob::new(folkmoot_tools::Profile::Code, ["no-such-program"])).await;
    let Err(JailError::Missing(why)) = missing else { panic!("{missing:?}") };
    assert!(why.contains("no-such-program"), "{why}");
}

#[tokio::test]
async fn a_command_starts_with_no_signal_blocked_and_in_a_group_of_its_own() {
    // A shell that waits for what it has put behind itself waits for this signal.
    assert_eq!(said(sh("sleep 0.1 & wait; echo waited; grep SigBlk: /proc/self/status")).await, {
        "waited\nSigBlk:\t0000000000000000\n"
    });
    // Whoever ends its whole group must not meet who watches over the jail, which is outside but
    // has the same user.
    assert_eq!(said(python("import os; print(os.getpgrp() == os.getpid())")).await, "True\n");
    assert_eq!(run(sh(&only_walled("kill -KILL 0; sleep 1"))).await.end, JobEnd::Signalled(9));
}

#[tokio::test]
async fn the_first_process_keeps_its_limits_and_its_place() {
    let tries = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Limit(ctypes.Structure): _fields_ = [('soft', ctypes.c_ulong), ('hard', ctypes.c_ulong)]
def told(name, result): print(name, result, os.strerror(ctypes.get_errno()))
for resource in (0, 2, 7, 9):
    told(resource, libc.prlimit(1, resource, ctypes.byref(Limit(1, 1)), None))
told('affinity', libc.sched_setaffinity(1, 8, ctypes.byref(ctypes.c_ulong(1))))
told('scheduler', libc.sched_setscheduler(1, 5, ctypes.byref(ctypes.c_int(0))))
told('priority', libc.setpriority(0, 1, 19))
print('own', libc.prlimit(0, 7, ctypes.byref(Limit(20, 20)), None))
open('/job/kept', 'w').write('kept')
";
    let refused = "Operation not permitted";
    let expected =
        ["0", "2", "7", "9", "affinity", "scheduler", "priority"].map(|name| format!("{name} -1 {refused}\n"));
    let mut job = python(tries);
    job.keep = vec!["kept".to_owned()];
    let report = run(job).await;
    assert_eq!(text(&report.stdout), format!("{}own 0\n", expected.concat()), "{}", text(&report.stderr));
    assert_eq!(report.kept.get("kept").map(Vec::as_slice), Some(b"kept".as_slice()));
}

#[tokio::test]
async fn nothing_is_left_that_makes_others_its_owner() {
    // In the jail nothing comes of it, but a project's folder is outside, too.
    let tries = "
import os
open('tool', 'w').close()
folder = os.open('.', 0)
for change in (lambda: os.chmod('tool', 0o4755), lambda: os.fchmod(os.open('tool', 0), 0o6755), lambda: os.chmod('tool', 0o4711, dir_fd=folder)):
    try: change(); print('done')
    except PermissionError: print('refused')
os.chmod('tool', 0o755)
os.chmod('.', 0o2755)
print(oct(os.stat('tool').st_mode))";
    assert_eq!(said(python(tries)).await, "refused\nrefused\nrefused\n0o100755\n");
}

#[tokio::test]
async fn a_crash_is_no_business_of_the_systems_crash_handler() {
    // A limit of nothing does not hold where cores go to a program; a limit of one byte does, if
    // nobody can lower it.
    let look = "import resource as r
print(r.getrlimit(r.RLIMIT_CORE))
r.setrlimit(r.RLIMIT_CORE, (0, 0))
print(r.getrlimit(r.RLIMIT_CORE))";
    assert_eq!(said(python(look)).await, "(1, 1)\n(1, 1)\n");
    let report = run(sh("ulimit -c 0; kill -ABRT $$")).await;
    assert_eq!((report.end, text(&report.stderr).as_str()), (JobEnd::Signalled(6), ""));
}

#[tokio::test]
async fn no_module_of_the_kernel_is_loaded_for_a_strange_socket() {
    let tries = "
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
pair = (ctypes.c_int * 2)()
for family in (17, 30, 38, 40, 44):
    print(libc.socketpair(family, 2, 0, pair), os.strerror(ctypes.get_errno()))
for family in (socket.AF_INET, socket.AF_INET6):
    for kind, protocol in ((1, 132), (5, 0), (5, 132), (6, 0), (6, 33), (6 | socket.SOCK_CLOEXEC, 0), (2, 115), (2, 136)):
        try: socket.socket(family, kind, protocol); print('opened', family, kind, protocol)
        except OSError as e: print(e.strerror)
    for kind, protocol in ((1, 0), (2, 0), (1, 6), (2, 17)):
        socket.socket(family, kind, protocol).close()
socket.socketpair()
";
    let expected = format!(
        "{}{}",
        "-1 Address family not supported by protocol\n".repeat(5),
        "Protocol not supported\n".repeat(16)
    );
    assert_eq!(said(python(tries)).await, expected);
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_calls_of_other_platforms_are_no_way_around_the_list() {
    // `int 0x80` is how 32-bit programs call; the second set of numbers is that of x32. Both ask
    // who they are.
    let call = |code: &str| {
        format!(
            "
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('{code}'))
print(ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())"
        )
    };
    // mov eax, 20; int 0x80; ret
    let report = run(python(&call("b814000000cd80c3"))).await;
    assert_eq!((report.end, text(&report.stdout).as_str()), (JobEnd::Limited(Limit::Syscall), ""));
    // mov eax, 0x40000027; syscall; ret. Not there, by us or by the kernel: -ENOSYS.
    assert_eq!(said(python(&call("b8270000400f05c3"))).await, "-38\n");
    // mov eax, 39; syscall; ret, to see that the test can tell.
    assert_eq!(said(python(&call("b8270000000f05c3"))).await, "2\n");
}
