//! How much is too much, and that each end is told as what it was.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use folkmoot_tools::jail::{JailJob, JailLimits, JobEnd, Limit};

use super::{processes_with, python, run, sh, text, until};

const MIB: u64 = 1 << 20;

fn with(job: JailJob, change: impl FnOnce(&mut JailLimits)) -> JailJob {
    let mut job = job;
    change(&mut job.limits);
    job
}

#[tokio::test]
async fn an_exit_and_a_signal_are_told_as_they_are() {
    let report = run(sh("echo out; echo err >&2; exit 7")).await;
    assert_eq!((report.end, report.reached), (JobEnd::Exited(7), BTreeSet::new()));
    assert_eq!((text(&report.stdout), text(&report.stderr)), ("out\n".to_owned(), "err\n".to_owned()));
    assert!(report.peak_memory_bytes.unwrap() > 100_000);
    assert_eq!(run(sh("kill -SEGV $$")).await.end, JobEnd::Signalled(11));
}

#[tokio::test]
async fn time_on_the_wall() {
    let started = Instant::now();
    let report = run(with(sh("echo begun; sleep 300"), |limits| limits.wall = Duration::from_millis(300))).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Wall));
    assert_eq!(text(&report.stdout), "begun\n");
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}

#[tokio::test]
async fn time_on_the_processors_of_all_processes_together() {
    let busy = "timeout 25 sh -c 'while :; do :; done' & timeout 25 sh -c 'while :; do :; done'; wait";
    let report = run(with(sh(busy), |limits| limits.cpu = Duration::from_millis(400))).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Cpu));
    assert!(report.wall < Duration::from_secs(20), "{:?}", report.wall);
}

#[tokio::test]
async fn memory_of_all_processes_together() {
    // Two processes, each of which would be within the limit for long.
    let grow = "
import os, time
os.fork()
kept = []
for _ in range(25):
    kept.append(bytearray(20 << 20))
    time.sleep(0.02)";
    let report = run(with(python(grow), |limits| limits.memory_bytes = 128 * MIB)).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Memory), "{}", text(&report.stderr));
}

#[tokio::test]
async fn memory_that_is_nobodys_own() {
    let grow = |make: &str| {
        format!(
            "
import ctypes, mmap, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
size = 20 << 20
kept = []
for _ in range(15):
    {make}
    time.sleep(0.03)
time.sleep(0.3)"
        )
    };
    let shared = "m = mmap.mmap(-1, size); m.write(bytes(size)); kept.append(m)";
    // Out of sight of whoever counts the pages of a process, and there all the same.
    let unmapped = "m = mmap.mmap(-1, size); m.write(bytes(size)); m.madvise(mmap.MADV_DONTNEED); kept.append(m)";
    // Nor can somebody who has no right to look tell what it has.
    let hidden = format!("libc.prctl(4, 0, 0, 0, 0); {unmapped}");
    for make in [shared, unmapped, &hidden] {
        let report = run(with(python(&grow(make)), |limits| limits.memory_bytes = 128 * MIB)).await;
        assert_eq!(report.end, JobEnd::Limited(Limit::Memory), "{make}: {}", text(&report.stderr));
    }
    // Files and segments without a name are counted, or not to be had.
    let file = "f = os.memfd_create('x'); os.write(f, bytes(size))";
    let segment = "s = libc.shmget(0, size, 0o1600); a = ctypes.c_void_p(libc.shmat(s, None, 0)); ctypes.memset(a, 1, size) if s >= 0 else 1/0; libc.shmdt(a)";
    for make in [file, segment] {
        let report = run(with(python(&grow(make)), |limits| limits.memory_bytes = 128 * MIB)).await;
        assert!(matches!(report.end, JobEnd::Limited(Limit::Memory) | JobEnd::Exited(1)), "{make}: {:?}", report.end);
    }
    // The input is one of them.
    let mut job = python("import os; os.write(0, b'x')");
    job.stdin = b"input".to_vec();
    assert_eq!(run(job).await.end, JobEnd::Exited(1));
}

const MANY: &str = "
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
time.sleep(0.1)
print(made)
";

#[tokio::test]
async fn processes() {
    let report =
        run(with(python(&format!("{MANY}raise SystemExit(made < 200)")), |limits| limits.processes = 20)).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Processes), "{}", text(&report.stderr));
    let made = text(&report.stdout).trim().parse::<u32>().unwrap();
    assert!((10..=20).contains(&made), "{made}");
}

#[tokio::test]
async fn who_reaches_a_limit_and_succeeds_has_succeeded() {
    let report = run(with(python(MANY), |limits| limits.processes = 20)).await;
    assert_eq!((report.end, report.reached), (JobEnd::Exited(0), BTreeSet::from([Limit::Processes])));
}

#[tokio::test]
async fn disk() {
    let report = run(with(sh("head -c 200000000 /dev/zero > big"), |limits| limits.disk_bytes = 8 * MIB)).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Disk), "{}", text(&report.stderr));
    let several = "for i in 1 2 3 4 5 6 7 8 9; do head -c 1000000 /dev/zero > /tmp/$i || exit 1; done";
    let report = run(with(sh(several), |limits| limits.disk_bytes = 4 * MIB)).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Disk), "{}", text(&report.stderr));
}

#[tokio::test]
async fn output() {
    let report = run(with(sh("timeout 5 yes"), |limits| limits.output_bytes = 10_000)).await;
    assert_eq!(report.end, JobEnd::Limited(Limit::Output));
    assert_eq!(report.stdout.len(), 10_000);
    let report = run(with(sh("timeout 5 yes >&2"), |limits| limits.output_bytes = 10_000)).await;
    assert_eq!((report.end, report.stderr.len()), (JobEnd::Limited(Limit::Output), 10_000));
    // Just as much as may be is not too much; one more is, also if all ends at once.
    let report = run(with(sh("printf 1234567890"), |limits| limits.output_bytes = 10)).await;
    assert_eq!((report.end, text(&report.stdout).as_str()), (JobEnd::Exited(0), "1234567890"));
    let report = run(with(sh("printf 12345678901"), |limits| limits.output_bytes = 10)).await;
    assert_eq!((report.end, text(&report.stdout).as_str()), (JobEnd::Limited(Limit::Output), "1234567890"));
}

#[tokio::test]
async fn open_files_are_the_commands_own_failure() {
    let open = "import os\nf = []\nfor _ in range(100): f.append(os.open('/dev/null', 0))";
    let report = run(with(python(open), |limits| limits.open_files = 32)).await;
    assert_eq!(report.end, JobEnd::Exited(1));
    assert!(text(&report.stderr).contains("Too many open files"));
}

#[tokio::test]
async fn nothing_outlives_its_command() {
    let mark = format!("740.4{:07}", std::process::id());
    let report = run(sh(&format!("setsid sleep {mark} & (trap '' TERM HUP; sleep {mark}) & echo ended"))).await;
    assert_eq!((report.end, text(&report.stdout).as_str()), (JobEnd::Exited(0), "ended\n"));
    assert!(report.wall < Duration::from_secs(30));
    assert_eq!(until(|| processes_with(&mark).is_empty().then_some(())), Some(()));
}
