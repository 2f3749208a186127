//! The jail, by what it stops.
//!
//! Every payload is harmless also where nothing would stop it: at most 200 processes that sleep for
//! two seconds, 1 GB of memory, 200 MB of disk, and no target but what the test itself has made.
//! None is started before a first job has been seen, from inside and from outside, to be nobody.
//!
//! The same tests run as root and as an unprivileged user, with each driver: `everywhere` starts
//! this program again.

mod everywhere;
mod files;
mod inmate;
mod languages;
mod life;
mod limits;
mod network;
mod walls;

use std::{
    fs,
    time::{Duration, Instant},
};

use folkmoot_tools::jail::{Driver, Helper, Jail, JailJob, JobEnd, JobReport, Profile};
use tokio::sync::OnceCell;

/// Which driver to test, where this program is started again.
const DRIVER: &str = "FOLKMOOT_TEST_JAIL_DRIVER";
/// Where the helper is, where this program is started again by somebody who cannot reach the first
/// one.
const HELPER: &str = "FOLKMOOT_TEST_JAIL_HELPER";

fn helper() -> Helper {
    Helper::at(std::env::var(HELPER).unwrap_or_else(|_| env!("CARGO_BIN_EXE_folkmoot-jail").to_owned()))
}

fn driver() -> Driver {
    std::env::var(DRIVER).map_or(Driver::Namespaces, |driver| driver.parse().unwrap())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A jail that was seen to hold.
async fn jail() -> Jail {
    static JAIL: OnceCell<Jail> = OnceCell::const_new();
    JAIL.get_or_init(async || {
        let jail = Jail::probe_driver(helper(), driver()).await;
        assert_eq!(jail.driver(), driver(), "{:?}", jail.describe().await.refusal);
        must_be_nobody(&jail).await;
        jail
    })
    .await
    .clone()
}

/// Nothing hostile is started where this fails.
async fn must_be_nobody(jail: &Jail) {
    let mark = format!("0.3{:07}", std::process::id());
    let look = "id -u; id -g; id -G; cat /proc/self/uid_map; grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status";
    let running = jail.run(sh(&format!("{look}; sleep {mark}")));
    let watching = tokio::task::spawn_blocking({
        let mark = mark.clone();
        move || {
            until(|| processes_with(&mark).into_iter().find(|pid| command_line(*pid).starts_with("sleep")).map(status))
        }
    });
    let (report, outside) = tokio::join!(running, watching);
    let report = report.unwrap();
    let said = text(&report.stdout);
    let lines = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>();
    assert_eq!(lines[..3], [["1000"], ["1000"], ["1000"]], "{said}");
    let [inside, outside_id, count] = lines[3][..] else { panic!("{said}") };
    assert_eq!((inside, count), ("1000", "1"));
    assert_ne!(outside_id, "0");
    let none = "0000000000000000";
    let rest = lines[4..].iter().map(|line| line[1]).collect::<Vec<_>>();
    assert_eq!(rest, [none, none, none, none, none, "1", "2"], "{said}");

    let outside = outside.unwrap().expect("the process was seen from outside");
    let field = |name: &str| {
        outside
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(field("Uid:"), vec![outside_id.to_owned(); 4]);
    assert!(field("Gid:").iter().all(|id| id != "0"), "{outside}");
    assert_eq!(field("CapEff:"), [none]);
    if is_root() {
        assert_eq!(field("Groups:"), Vec::<String>::new(), "{outside}");
    }
}

/// Nothing is tried as an administrator: if the walls did not hold, a payload would reach the
/// machine itself. So each first looks at who it is, with its own eyes, and does nothing unless it
/// is nobody.
const NOBODY_SH: &str = "uid= caps=0
if [ -r /proc/self/status ]; then
  while read -r key value _; do
    case $key in Uid:) uid=$value ;; CapEff:) caps=$value ;; esac
  done < /proc/self/status
fi
if [ \"${uid:-$(id -u)}\" = 0 ] || [ -n \"$(printf %s \"$caps\" | tr -d 0)\" ]; then echo 'this is no jail'; exit 99; fi
unset uid caps key value
";
const NOBODY_PYTHON: &str = "
def _nobody():
    import os
    caps = '0'
    if os.path.exists('/proc/self/status'):
        with open('/proc/self/status') as status:
            caps = next(line.split()[1] for line in status if line.startswith('CapEff'))
    if os.getuid() == 0 or int(caps, 16): raise SystemExit('this is no jail')
_nobody()
";

fn sh(script: &str) -> JailJob {
    JailJob::new(Profile::Code, ["sh".to_owned(), "-c".to_owned(), format!("{NOBODY_SH}{script}")])
}

/// Python, because a shell makes no system calls of its own choice.
fn python(script: &str) -> JailJob {
    JailJob::new(Profile::Code, ["/usr/bin/python3".to_owned(), "-c".to_owned(), format!("{NOBODY_PYTHON}{script}")])
}

async fn run(job: JailJob) -> JobReport {
    jail().await.run(job).await.unwrap()
}

/// What a script prints, if it ends well.
async fn said(job: JailJob) -> String {
    let report = run(job).await;
    assert_eq!(report.end, JobEnd::Exited(0), "{}{}", text(&report.stdout), text(&report.stderr));
    text(&report.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for something that is about to happen. How long that takes on a busy machine says nothing.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(120) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// All processes of this machine that have this in their command line, beside our own.
fn processes_with(mark: &str) -> Vec<u32> {
    let all =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    all.filter(|pid| *pid != std::process::id() && command_line(*pid).contains(mark)).collect()
}

fn command_line(pid: u32) -> String {
    text(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}

fn status(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default()
}
