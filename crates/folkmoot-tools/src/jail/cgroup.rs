//! Control groups: what all processes of a job take together, counted and held by the kernel.
//!
//! A group is made for each job below our own, and removed after it. Version 1 and version 2 are
//! used as they are found; where neither can be written to, limits of single processes and looking
//! now and then are all there is.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::{JailError, JailLimits};

#[cfg(test)]
mod tests;

const PREFIX: &str = "folkmoot-jail-";
/// Where we ourselves go, where a group cannot both be divided and have members.
const ASIDE: &str = "folkmoot-main";
/// Ours: what builds the jail, and its first process.
const HELPERS: u64 = 2;

/// Where groups can be made, and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    memory: Option<CgroupParent>,
    processes: Option<CgroupParent>,
    cpu: Option<CgroupParent>,
    /// Why not for all.
    pub why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CgroupParent {
    version: CgroupVersion,
    /// Our own group.
    above: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CgroupVersion {
    One,
    Two,
}

impl Groups {
    /// Looks where we are, and really makes a group to see whether that can be done.
    pub(super) fn find() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let mut found = Self::located(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        found.sweep();
        let limits = JailLimits::of(super::Profile::Code);
        while let Err(failed) = Group::make(&found, &limits).map(drop) {
            found.why = Some(format!("{}: {}", failed.path.display(), failed.error));
            let without = |place: &mut Option<CgroupParent>| {
                if place.as_ref().is_some_and(|place| failed.path.starts_with(&place.above)) {
                    *place = None;
                }
            };
            without(&mut found.memory);
            without(&mut found.processes);
            without(&mut found.cpu);
        }
        found
    }

    fn located(own: &str, mounts: &str) -> Self {
        let place = |controller| place(controller, own, mounts);
        Self { memory: place("memory"), processes: place("pids"), cpu: place("cpuacct"), why: None }
    }

    /// Removes groups that a program that was killed left behind. A group with somebody in it
    /// cannot be removed.
    fn sweep(&self) {
        for place in [&self.memory, &self.processes, &self.cpu].into_iter().flatten() {
            for entry in fs::read_dir(&place.above).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let owner =
                    name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
                if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                    // In the way of nothing: the next program tries again.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }

    pub(super) fn counts_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub(super) fn counts_processes(&self) -> bool {
        self.processes.is_some()
    }

    pub(super) fn counts_cpu(&self) -> bool {
        self.cpu.is_some()
    }

    /// In words, for people.
    pub(super) fn describe(&self) -> String {
        let of = |name: &str, place: &Option<CgroupParent>| match place.as_ref().map(|place| place.version) {
            Some(CgroupVersion::One) => format!("{name} by version 1"),
            Some(CgroupVersion::Two) => format!("{name} by version 2"),
            None => format!("{name} by limits of each process and by looking"),
        };
        [of("memory", &self.memory), of("processes", &self.processes), of("cpu", &self.cpu)].join(", ")
    }
}

/// Our own group of one controller, if that controller is mounted where we can see it.
fn place(controller: &str, own: &str, mounts: &str) -> Option<CgroupParent> {
    let group = |wanted: &dyn Fn(&str, &str) -> bool| {
        own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            wanted(id, controllers).then_some(path)
        })
    };
    let mount = |wanted: &dyn Fn(&str, &str) -> bool, group: &str| {
        mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let (before, after): (Vec<_>, Vec<_>) = (before.split(' ').collect(), after.split(' ').collect());
            if !wanted(after.first()?, after.get(2)?) {
                return None;
            }
            let below = Path::new(group).strip_prefix(before.get(3)?).ok()?;
            let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            plain.then(|| Path::new(before[4]).join(below))
        })
    };
    let has = |list: &str| list.split(',').any(|name| name == controller);
    if let Some(group) = group(&|_, controllers| has(controllers)) {
        let above = mount(&|kind, options| kind == "cgroup" && has(options), group)?;
        return Some(CgroupParent { version: CgroupVersion::One, above });
    }
    let group = group(&|id, controllers| id == "0" && controllers.is_empty())?;
    let above = mount(&|kind, _| kind == "cgroup2", group)?;
    // Where we have moved aside before, it is the group above that is divided.
    let above = if above.ends_with(ASIDE) { above.parent()?.to_owned() } else { above };
    // What was cpuacct is in every group of version 2.
    let there = controller == "cpuacct"
        || fs::read_to_string(above.join("cgroup.controllers"))
            .is_ok_and(|there| there.split_whitespace().any(|name| name == controller));
    there.then_some(CgroupParent { version: CgroupVersion::Two, above })
}

/// The group of one job. Dropped, it is removed, as soon as the last process is out of it.
#[derive(Debug)]
pub(super) struct Group {
    memory: Option<(CgroupVersion, PathBuf)>,
    processes: Option<PathBuf>,
    cpu: Option<(CgroupVersion, PathBuf)>,
    made: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Failed {
    pub path: PathBuf,
    pub error: io::Error,
}

impl From<Failed> for JailError {
    fn from(Failed { path, error }: Failed) -> Self {
        Self::Failed(format!("the control group {}: {error}", path.display()))
    }
}

/// What a job has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CgroupUsage {
    pub peak_bytes: Option<u64>,
    pub killed_for_memory: bool,
    pub refused_a_process: bool,
    pub cpu: Option<Duration>,
}

impl Group {
    pub(super) fn make(groups: &Groups, limits: &JailLimits) -> Result<Self, Failed> {
        static JOBS: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!("{PREFIX}{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
            match Self::named(&name, groups, limits) {
                // A program that had our number has left it.
                Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    fn named(name: &str, groups: &Groups, limits: &JailLimits) -> Result<Self, Failed> {
        let mut group = Self { memory: None, processes: None, cpu: None, made: Vec::new() };
        for place in [&groups.memory, &groups.processes, &groups.cpu].into_iter().flatten() {
            let path = place.above.join(name);
            if group.made.contains(&path) {
                continue;
            }
            if place.version == CgroupVersion::Two {
                hand_down(groups, place)?;
            }
            fs::create_dir(&path).map_err(|error| Failed { path: path.clone(), error })?;
            group.made.push(path);
        }
        let at = |place: &CgroupParent| place.above.join(name);
        group.memory = groups.memory.as_ref().map(|place| (place.version, at(place)));
        group.processes = groups.processes.as_ref().map(at);
        group.cpu = groups.cpu.as_ref().map(|place| (place.version, at(place)));
        group.limit(limits)?;
        Ok(group)
    }

    fn limit(&self, limits: &JailLimits) -> Result<(), Failed> {
        let bytes = limits.memory_bytes.to_string();
        match &self.memory {
            Some((CgroupVersion::One, path)) => {
                write(path.join("memory.limit_in_bytes"), &bytes)?;
                write_if_there(path.join("memory.memsw.limit_in_bytes"), &bytes)?;
            }
            Some((CgroupVersion::Two, path)) => {
                write(path.join("memory.max"), &bytes)?;
                write_if_there(path.join("memory.swap.max"), "0")?;
            }
            None => {}
        }
        match &self.processes {
            Some(path) => write(path.join("pids.max"), &(limits.processes + HELPERS).to_string()),
            None => Ok(()),
        }
    }

    /// Puts a process into the group, and with it all that it will start.
    pub(super) fn add(&self, pid: u32) -> Result<(), Failed> {
        self.made.iter().try_for_each(|path| write(path.join("cgroup.procs"), &pid.to_string()))
    }

    pub(super) fn taken(&self) -> CgroupUsage {
        let (peak_bytes, kills) = match &self.memory {
            Some((CgroupVersion::One, path)) => {
                (number(path.join("memory.max_usage_in_bytes")), count(path.join("memory.oom_control"), "oom_kill "))
            }
            Some((CgroupVersion::Two, path)) => {
                (number(path.join("memory.peak")), count(path.join("memory.events"), "oom_kill "))
            }
            None => (None, None),
        };
        let refused = self.processes.as_ref().and_then(|path| count(path.join("pids.events"), "max "));
        CgroupUsage {
            peak_bytes,
            killed_for_memory: kills > Some(0),
            refused_a_process: refused > Some(0),
            cpu: self.cpu(),
        }
    }

    pub(super) fn cpu(&self) -> Option<Duration> {
        match self.cpu.as_ref()? {
            (CgroupVersion::One, path) => number(path.join("cpuacct.usage")).map(Duration::from_nanos),
            (CgroupVersion::Two, path) => count(path.join("cpu.stat"), "usage_usec ").map(Duration::from_micros),
        }
    }

    /// Removes it before anybody hears of the end of the job, so that nothing is left even of a
    /// program that ends then. The last process may take a moment to be gone; what takes longer is
    /// left to a thread.
    pub(super) async fn end(mut self) {
        for wait_ms in [0, 1, 1, 2, 5, 10, 20, 50, 100] {
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            if Self::remove(&mut self.made) {
                return;
            }
        }
    }

    /// Whether nothing is left of it.
    fn remove(made: &mut Vec<PathBuf>) -> bool {
        made.retain(|path| fs::remove_dir(path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound));
        made.is_empty()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let mut made = std::mem::take(&mut self.made);
        if Self::remove(&mut made) {
            return;
        }
        // Its processes are dying. Nobody should wait for that who has dropped a future.
        std::thread::spawn(move || {
            for wait_ms in [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000] {
                std::thread::sleep(Duration::from_millis(wait_ms));
                if Self::remove(&mut made) {
                    return;
                }
            }
            tracing::warn!("control groups of a job could not be removed: {made:?}");
        });
    }
}

/// Version 2 counts only in groups whose parent says so, and a parent that says so can have no
/// processes of its own: where we are alone in a group that is ours to divide, we move aside.
fn hand_down(groups: &Groups, place: &CgroupParent) -> Result<(), Failed> {
    let mut wanted = Vec::new();
    let there = fs::read_to_string(place.above.join("cgroup.subtree_control")).unwrap_or_default();
    for (name, of) in [("memory", &groups.memory), ("pids", &groups.processes)] {
        if of.as_ref() == Some(place) && !there.split_whitespace().any(|there| there == name) {
            wanted.push(format!("+{name}"));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let say = || write(place.above.join("cgroup.subtree_control"), &wanted.join(" "));
    let Err(failed) = say() else { return Ok(()) };
    let me = std::process::id().to_string();
    let members = fs::read_to_string(place.above.join("cgroup.procs")).unwrap_or_default();
    if members.trim() != me {
        return Err(failed);
    }
    let aside = place.above.join(ASIDE);
    fs::create_dir_all(&aside).map_err(|error| Failed { path: aside.clone(), error })?;
    write(aside.join("cgroup.procs"), &me)?;
    say()
}

fn number(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The number behind a word, in a file that has one of each on every line.
fn count(path: PathBuf, word: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

fn write(path: PathBuf, value: &str) -> Result<(), Failed> {
    fs::write(&path, value).map_err(|error| Failed { path, error })
}

fn write_if_there(path: PathBuf, value: &str) -> Result<(), Failed> {
    if path.exists() { write(path, value) } else { Ok(()) }
}
