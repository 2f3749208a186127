//! That nothing is left of a job, however it ends.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use folkmoot_tools::jail::JailJob;

use super::{jail, processes_with, sh, text, until};

#[tokio::test]
async fn twenty_jobs_at_once() {
    let jail = jail().await;
    let jobs = (0..20).map(|number| {
        let jail = jail.clone();
        tokio::spawn(async move { (number, jail.run(sh(&format!("sleep 0.05; echo {number}"))).await.unwrap()) })
    });
    for job in jobs.collect::<Vec<_>>() {
        let (number, report) = job.await.unwrap();
        assert_eq!(text(&report.stdout), format!("{number}\n"));
    }
}

/// A job that lasts longer than anybody here waits for anything, so that it never ends by itself.
fn long(script: &str) -> JailJob {
    let mut job = sh(script);
    job.limits.wall = Duration::from_secs(600);
    job
}

/// What tells the command of a part from all others.
const MARK: &str = "FOLKMOOT_TEST_JAIL_MARK";

/// Started by the tests below, in a process of its own.
#[tokio::test]
#[ignore = "it is no test: other tests start it as a process of its own"]
async fn part_runs_a_long_job() {
    let mark = std::env::var(MARK).unwrap();
    jail().await.run(long(&format!("setsid sleep {mark} & sleep {mark}"))).await.unwrap();
}

/// Started by the tests below, in a process of its own, so that all that is left is its.
#[tokio::test]
#[ignore = "it is no test: other tests start it as a process of its own"]
async fn part_drops_a_long_job() {
    let mark = std::env::var(MARK).unwrap();
    let jail = jail().await;
    let sleeping = format!("sleep {mark}");
    let seen = tokio::task::spawn_blocking({
        let sleeping = sleeping.clone();
        // The shell and the two that it has started.
        move || until(|| (processes_with(&sleeping).len() >= 3).then(|| groups(std::process::id())))
    });
    let had = tokio::select! {
        report = jail.run(long(&format!("setsid {sleeping} & {sleeping}"))) => panic!("{report:?}"),
        seen = seen => seen.unwrap().expect("the job begins"),
    };
    let counted = jail.features().iter().any(|feature| feature.name == "cgroups" && feature.ok);
    assert_eq!(!had.is_empty(), counted, "{had:?}");
    assert_eq!(
        until(|| processes_with(&format!("sleep {mark}")).is_empty().then_some(())),
        Some(()),
        "its processes are gone"
    );
    let me = std::process::id();
    assert_eq!(
        until(|| groups(me).is_empty().then_some(())),
        Some(()),
        "its control groups are gone: {:?}",
        groups(me)
    );
    // The next child makes tokio bury the last one. Of one that ends by itself nothing is left when
    // that is known.
    jail.run(sh("true")).await.unwrap();
    assert_eq!(groups(me), Vec::<PathBuf>::new());
    assert_eq!(
        until(|| children(me).is_empty().then_some(())),
        Some(()),
        "nobody waits to be buried: {:?}",
        children(me)
    );
}

fn part(name: &str, mark: &str, temporary: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("jail::life::{name}")])
        .env(MARK, mark)
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_job_that_nobody_waits_for_any_more_is_ended_and_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let ended = part("part_drops_a_long_job", &format!("610.1{:07}", std::process::id()), temporary.path())
        .wait_with_output()
        .unwrap();
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
    assert!(text(&ended.stdout).contains("1 passed"));
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_job_dies_with_the_program_that_started_it() {
    let temporary = tempfile::tempdir().unwrap();
    let mark = format!("610.2{:07}", std::process::id());
    let mut parent = part("part_runs_a_long_job", &mark, temporary.path());
    let begun = until(|| (processes_with(&format!("sleep {mark}")).len() >= 3).then_some(()));
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(begun, Some(()), "the job began");
    assert_eq!(until(|| processes_with(&format!("sleep {mark}")).is_empty().then_some(())), Some(()));
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    // Nobody was there to remove its control groups. Whoever comes next does.
    assert_eq!(
        until(|| {
            std::thread::sleep(Duration::from_millis(20));
            (!Path::new(&format!("/proc/{}", parent.id())).exists()).then_some(())
        }),
        Some(())
    );
    folkmoot_tools::Jail::probe_driver(super::helper(), super::driver()).await;
    assert_eq!(groups(parent.id()), Vec::<PathBuf>::new());
}

/// The control groups that a program has made.
pub(super) fn groups(pid: u32) -> Vec<PathBuf> {
    let name = format!("folkmoot-jail-{pid}-");
    let mut found = Vec::new();
    let mut open = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            if entry.file_name().to_str().is_some_and(|found| found.starts_with(&name)) {
                found.push(entry.path());
            } else if depth < 6 {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

fn children(pid: u32) -> Vec<String> {
    let all =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    all.filter(|stat| {
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(&pid.to_string())
    })
    .collect()
}
