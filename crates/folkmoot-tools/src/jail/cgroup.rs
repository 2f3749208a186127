//! Control groups: the kernel counts and limits all processes of a job together.
//!
//! A group is created below our own for each job, and removed afterwards. Versions 1 and 2 are
//! supported. If neither is writable, only limits of single processes and sampling remain.

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
/// The group that we move to if our own group cannot have both members and children.
const ASIDE: &str = "folkmoot-main";
/// Our own processes: the one that builds the jail, and its first process.
const HELPERS: u64 = 2;

/// Which groups can be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    memory: Option<CgroupParent>,
    processes: Option<CgroupParent>,
    cpu: Option<CgroupParent>,
    /// Why some cannot.
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
    /// Finds our groups, and creates one to test whether that works.
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

    /// Removes groups that a killed program left behind. A group with members cannot be removed.
    fn sweep(&self) {
        for place in [&self.memory, &self.processes, &self.cpu].into_iter().flatten() {
            for entry in fs::read_dir(&place.above).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let owner =
                    name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
                if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                    // Harmless: the next program tries again.
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

    pub(super) fn describe(&self) -> String {
        let of = |name: &str, place: &Option<CgroupParent>| match place.as_ref().map(|place| place.version) {
            Some(CgroupVersion::One) => format!("{name} by version 1"),
            Some(CgroupVersion::Two) => format!("{name} by version 2"),
            None => format!("{name} by limits of each process and by looking"),
        };
        [of("memory", &self.memory), of("processes", &self.processes), of("cpu", &self.cpu)].join(", ")
    }
}

/// Our group of one controller, if that controller is mounted and visible.
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
    // If we have moved aside already, use the group above.
    let above = if above.ends_with(ASIDE) { above.parent()?.to_owned() } else { above };
    // Every version 2 group includes what was cpuacct.
    let there = controller == "cpuacct"
        || fs::read_to_string(above.join("cgroup.controllers"))
            .is_ok_and(|there| there.split_whitespace().any(|name| name == controller));
    there.then_some(CgroupParent { version: CgroupVersion::Two, above })
}

/// The group of one job. It is removed when it is dropped and its last process has ended.
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
                // A program with the same process id left it behind.
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

    /// Adds a process, and with it everything that it starts.
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

    /// Removes the group before the job's end is reported, so that nothing is left even if the
    /// program then exits. If the last process takes long to end, a thread finishes the work.
    pub(super) async fn end(mut self) {
        for wait_ms in [0, 1, 1, 2, 5, 10, 20, 50, 100] {
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            if Self::remove(&mut self.made) {
                return;
            }
        }
    }

    /// Returns whether everything is removed.
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
        // Its processes are dying; dropping a future must not block.
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

/// Version 2 counts only in groups whose parent delegates the controller, and such a parent cannot
/// have processes. If we are alone in a group of our own, we move aside.
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

/// The number after a word, in a file with one pair per line.
fn count(path: PathBuf, word: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

fn write(path: PathBuf, value: &str) -> Result<(), Failed> {
    fs::write(&path, value).map_err(|error| Failed { path, error })
}

fn write_if_there(path: PathBuf, value: &str) -> Result<(), Failed> {
    if path.exists() { write(path, value) } else { Ok(()) }
}
