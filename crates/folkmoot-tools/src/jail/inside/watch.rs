//! Looking at all processes of the jail now and then, where no control group counts them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    time::Duration,
};

use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        statvfs::statvfs,
    },
    unistd::{SysconfVar, sysconf},
};

use crate::jail::{FOLDER, Limit, wire::Spec};

/// How often. What comes and goes between two looks is not seen.
pub(super) const EVERY: Duration = Duration::from_millis(20);

/// Which limits have been reached, and which of them ends the job.
pub(super) fn look(spec: &Spec, reached: &mut BTreeSet<Limit>) -> Option<Limit> {
    let all = everybody();
    if spec.watch.processes && all.tasks >= spec.processes {
        reached.insert(Limit::Processes);
    }
    if spec.watch.memory && all.memory_bytes + disk_bytes(spec) > spec.memory_bytes {
        reached.insert(Limit::Memory);
        return Some(Limit::Memory);
    }
    if spec.watch.cpu && (all.cpu + reaped()).as_millis() > u128::from(spec.cpu_ms) {
        reached.insert(Limit::Cpu);
        return Some(Limit::Cpu);
    }
    None
}

#[derive(Debug, Default)]
struct Everybody {
    tasks: u64,
    cpu: Duration,
    memory_bytes: u64,
}

fn everybody() -> Everybody {
    let unit =
        |variable, usual| sysconf(variable).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or(usual);
    let (ticks, page) = (unit(SysconfVar::CLK_TCK, 100), unit(SysconfVar::PAGE_SIZE, 4096));
    let mut all = Everybody::default();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if pid.is_none_or(|pid| pid == 1) {
            continue;
        }
        // One that has just ended is counted with the reaped.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name is in brackets, and can have blanks and brackets in it. What follows begins with the third field.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let fields = rest.split_whitespace().collect::<Vec<_>>();
        let field =
            |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
        let time = field(14) + field(15) + field(16) + field(17);
        all.cpu += Duration::from_millis(time * 1000 / ticks);
        all.tasks += field(20).max(1);
        let memory = fs::read_to_string(entry.path().join("statm")).unwrap_or_default();
        let mut pages = memory.split_whitespace().skip(1).map(|pages| pages.parse::<u64>().unwrap_or_default());
        let (resident, shared) = (pages.next().unwrap_or_default(), pages.next().unwrap_or_default());
        all.memory_bytes += resident.saturating_sub(shared) * page;
    }
    all
}

fn reaped() -> Duration {
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_or(Duration::ZERO, |usage| super::init::time(usage.user_time()) + super::init::time(usage.system_time()))
}

/// What lies in memory of what was written: one file system or two, and not a folder of this machine.
fn disk_bytes(spec: &Spec) -> u64 {
    let folder = Some(FOLDER).filter(|_| spec.mounted.is_none());
    let disks: BTreeMap<u64, u64> = [Some("/tmp"), folder]
        .into_iter()
        .flatten()
        .filter_map(|path| {
            let disk = statvfs(path).ok()?;
            Some((fs::metadata(path).ok()?.dev(), (disk.blocks() - disk.blocks_free()) * disk.fragment_size()))
        })
        .collect();
    disks.values().sum()
}
