//! Jobs that are talked to.

use std::{
    fs,
    time::{Duration, Instant},
};

use folkmoot_tools::{
    Inmate,
    jail::{Jail, JailError, JailJob, JailLimits, JobEnd, Limit, Profile},
};
use nix::unistd::chown;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::{is_root, jail, processes_with, python, sh, text, until};

const TEST_TIMEOUT: Duration = Duration::from_secs(120);

async fn start(job: JailJob) -> Inmate {
    jail().await.start(job).await.unwrap()
}

/// Says a line and hears one.
async fn ask(inmate: &mut Inmate, line: &str) -> String {
    inmate.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    hear(inmate).await
}

async fn hear(inmate: &mut Inmate) -> String {
    // Unbuffered, so that nothing is lost between two lines.
    let mut lines = BufReader::with_capacity(1, inmate.stdout.as_mut().unwrap());
    let mut line = String::new();
    tokio::time::timeout(TEST_TIMEOUT, lines.read_line(&mut line)).await.unwrap().unwrap();
    line.trim_end().to_owned()
}

#[tokio::test]
async fn it_answers_and_ends_when_its_input_does() {
    let mut inmate = start(sh("while read -r line; do echo \"<$line>\"; done; echo bye; echo hm >&2; exit 3")).await;
    assert_eq!(ask(&mut inmate, "one").await, "<one>");
    assert_eq!(ask(&mut inmate, "two").await, "<two>");
    let report = inmate.end(TEST_TIMEOUT).await.unwrap();
    assert_eq!(report.end, JobEnd::Exited(3));
    assert_eq!((text(&report.stdout), text(&report.stderr)), ("bye\n".to_owned(), "hm\n".to_owned()));
    assert!(report.reached.is_empty() && report.wall > Duration::ZERO);
}

#[tokio::test]
async fn its_input_is_a_pipe_and_nothing_else_of_ours_is_open() {
    let look = "import os, stat; print(stat.S_ISFIFO(os.fstat(0).st_mode), sorted(int(n) for n in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))";
    let report = start(python(look)).await.end(TEST_TIMEOUT).await.unwrap();
    assert_eq!(text(&report.stdout), "True [0, 1, 2] 4\n", "the fourth is the list itself");
}

#[tokio::test]
async fn much_goes_both_ways_at_once() {
    let mut inmate = start(sh("exec cat")).await;
    let (mut stdin, mut stdout) = (inmate.stdin.take().unwrap(), inmate.stdout.take().unwrap());
    let sent = vec![b'x'; 3 << 20];
    let write = async {
        stdin.write_all(&sent).await.unwrap();
        drop(stdin);
    };
    let mut heard = Vec::new();
    let (_, read) = tokio::join!(write, tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut heard));
    assert_eq!((read.unwrap(), heard == sent), (3 << 20, true));
    assert_eq!(inmate.end(TEST_TIMEOUT).await.unwrap().end, JobEnd::Exited(0));
}

#[tokio::test]
async fn limits_hold_while_nobody_talks() {
    let limited = async |script: &str, change: fn(&mut JailLimits)| {
        let mut job = sh(script);
        change(&mut job.limits);
        let begun = Instant::now();
        // What it says is read or not: that it ends is not up to who talks to it.
        let inmate = start(job).await;
        tokio::time::sleep(Duration::from_millis(400)).await;
        let report = inmate.end(TEST_TIMEOUT).await.unwrap();
        assert!(begun.elapsed() < TEST_TIMEOUT, "{script}");
        report.end
    };
    assert_eq!(
        limited("sleep 20", |limits| limits.wall = Duration::from_millis(200)).await,
        JobEnd::Limited(Limit::Wall)
    );
    assert_eq!(
        limited("timeout 9 sh -c 'while :; do :; done'", |limits| limits.cpu = Duration::from_millis(200)).await,
        JobEnd::Limited(Limit::Cpu)
    );
    assert_eq!(
        limited("yes >&2 | head -c 9000000", |limits| limits.output_bytes = 10_000).await,
        JobEnd::Limited(Limit::Output)
    );
    let grow = "exec /usr/bin/python3 -c 'b = [b\"x\" * (10 << 20) for _ in range(10)]; import time; time.sleep(9)'";
    assert_eq!(limited(grow, |limits| limits.memory_bytes = 64 << 20).await, JobEnd::Limited(Limit::Memory));
}

#[tokio::test]
async fn one_that_does_not_end_is_ended() {
    let inmate = start(sh("trap '' TERM; sleep 20")).await;
    let report = inmate.end(Duration::from_millis(100)).await.unwrap();
    assert_eq!(report.end, JobEnd::Limited(Limit::Wall));
    let mut endless = sh("exec yes");
    endless.limits.output_bytes = 10_000;
    let report = start(endless).await.end(TEST_TIMEOUT).await.unwrap();
    assert!(report.stdout.len() == 10_000 && report.reached.contains(&Limit::Output), "{:?}", report.end);
    assert_ne!(report.end, JobEnd::Exited(0));
}

#[tokio::test]
async fn what_cannot_be_is_told() {
    let jail = jail().await;
    let missing = jail.start(JailJob::new(Profile::Code, ["no-such-program"])).await.unwrap().end(TEST_TIMEOUT).await;
    assert!(matches!(&missing, Err(JailError::Missing(why)) if why.contains("no-such-program")), "{missing:?}");
    let input = jail.start(JailJob { stdin: b"x".to_vec(), ..sh("cat") }).await;
    assert!(matches!(input, Err(JailError::Invalid(_))), "{input:?}");
    let none = Jail::refuse("not here").start(sh("cat")).await;
    assert!(matches!(none, Err(JailError::NoJail(_))), "{none:?}");
}

#[tokio::test]
async fn dropped_it_is_gone_with_everything() {
    let mark = format!("610.3{:07}", std::process::id());
    let before = super::life::groups(std::process::id()).len();
    let mut inmate = start(sh(&format!("setsid sleep {mark} & sleep {mark} & echo begun; wait"))).await;
    assert_eq!(hear(&mut inmate).await, "begun");
    assert!(until(|| (processes_with(&format!("sleep {mark}")).len() >= 3).then_some(())).is_some());
    drop(inmate);
    // The watch is a task, and goes when the runtime gets to it.
    for _ in 0..500 {
        if processes_with(&mark).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(processes_with(&mark), [0_u32; 0]);
    // Other tests of this program have groups of their own at the same time: theirs come and go,
    // ours does not stay.
    let gone = until(|| (super::life::groups(std::process::id()).len() <= before).then_some(()));
    assert_eq!(gone, Some(()));
}

#[tokio::test]
async fn a_folder_that_is_only_to_be_read_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old"), "old").unwrap();
    let owners: &[Option<u32>] = if is_root() { &[None, Some(1_888_888_889)] } else { &[None] };
    for owner in owners {
        if owner.is_some() {
            for path in [folder.path().to_owned(), folder.path().join("old")] {
                chown(&path, owner.map(Into::into), owner.map(Into::into)).unwrap();
            }
        }
        let script = "cat old; echo new > old; echo more > more; rm -f old; echo t > /tmp/t && cat /tmp/t";
        let job = JailJob {
            profile: Profile::Project,
            folder: Some(folder.path().to_owned()),
            folder_is_read_only: true,
            ..sh(script)
        };
        let report = jail().await.run(job.clone()).await.unwrap();
        assert_eq!((report.end, text(&report.stdout)), (JobEnd::Exited(0), "oldt\n".to_owned()), "{report:?}");
        assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let filled = jail().await.run(JailJob { files: vec![("a".to_owned(), Vec::new())], ..job }).await;
        assert!(matches!(filled, Err(JailError::Invalid(_))), "{filled:?}");
    }
}
