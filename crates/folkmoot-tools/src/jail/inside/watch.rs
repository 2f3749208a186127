//! Samples all processes of the jail if no control group counts them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
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

/// The interval. Processes that live shorter may be missed.
pub(super) const EVERY: Duration = Duration::from_millis(20);

/// How many samples between two checks of mappings, which take longer.
const MAPS_EVERY: u32 = 5;

/// Who looks, and what was seen.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    looks: u32,
    shared_bytes: u64,
}

impl Watcher {
    /// Records the limits that were reached, and returns one that ends the job.
    pub(super) fn look(&mut self, spec: &Spec, reached: &mut BTreeSet<Limit>) -> Option<Limit> {
        let all = everybody();
        if spec.watch.processes && all.tasks >= spec.processes {
            reached.insert(Limit::Processes);
        }
        if spec.watch.memory {
            if self.looks.is_multiple_of(MAPS_EVERY) {
                self.shared_bytes = shared_bytes();
            }
            self.looks = self.looks.wrapping_add(1);
            if all.memory_bytes + disk_bytes(spec) + self.shared_bytes > spec.memory_bytes {
                reached.insert(Limit::Memory);
                return Some(Limit::Memory);
            }
        }
        if spec.watch.cpu && (all.cpu + reaped()).as_millis() > u128::from(spec.cpu_ms) {
            reached.insert(Limit::Cpu);
            return Some(Limit::Cpu);
        }
        None
    }
}

/// Shared memory without a file, by its full size rather than by what a process has mapped. For a
/// process that cannot be inspected, all of its memory.
fn shared_bytes() -> u64 {
    let mut shared: BTreeMap<u64, u64> = BTreeMap::new();
    let mut hidden = 0_u64;
    for process in processes() {
        match fs::read_to_string(process.join("maps")) {
            Ok(maps) => {
                for (node, bytes) in maps.lines().filter_map(shared_mapping) {
                    let known = shared.entry(node).or_default();
                    *known = bytes.max(*known);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let pages = fs::read_to_string(process.join("statm")).unwrap_or_default();
                let pages = pages.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
                hidden = hidden.saturating_add(pages.saturating_mul(unit(SysconfVar::PAGE_SIZE, 4096)));
            }
            // It has just ended.
            Err(_) => {}
        }
    }
    shared.values().fold(hidden, |sum, bytes| sum.saturating_add(*bytes))
}

/// The memory object and end offset of a line in a process's maps.
fn shared_mapping(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (place, access, offset, _device, node) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    if !access.ends_with('s') || fields.next() != Some("/dev/zero") {
        return None;
    }
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (from, to) = place.split_once('-')?;
    Some((node.parse().ok()?, hex(to)?.checked_sub(hex(from)?)?.saturating_add(hex(offset)?)))
}

#[derive(Debug, Default)]
struct ProcessTotals {
    tasks: u64,
    cpu: Duration,
    memory_bytes: u64,
}

fn everybody() -> ProcessTotals {
    let (ticks, page) = (unit(SysconfVar::CLK_TCK, 100), unit(SysconfVar::PAGE_SIZE, 4096));
    let mut all = ProcessTotals::default();
    for process in processes() {
        // A process that has just ended is counted with the reaped.
        let Ok(stat) = fs::read_to_string(process.join("stat")) else { continue };
        // The name is in brackets and may contain spaces and brackets. The third field follows.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let fields = rest.split_whitespace().collect::<Vec<_>>();
        let field =
            |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
        let time = field(14) + field(15) + field(16) + field(17);
        all.cpu += Duration::from_millis(time * 1000 / ticks);
        all.tasks += field(20).max(1);
        let memory = fs::read_to_string(process.join("statm")).unwrap_or_default();
        let mut pages = memory.split_whitespace().skip(1).map(|pages| pages.parse::<u64>().unwrap_or_default());
        let (resident, shared) = (pages.next().unwrap_or_default(), pages.next().unwrap_or_default());
        all.memory_bytes += resident.saturating_sub(shared) * page;
    }
    all
}

/// All except the first.
fn processes() -> impl Iterator<Item = PathBuf> {
    fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| {
        let pid = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        pid.is_some_and(|pid| pid != 1)
    })
}

fn unit(variable: SysconfVar, usual: u64) -> u64 {
    sysconf(variable).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or(usual)
}

fn reaped() -> Duration {
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_or(Duration::ZERO, |usage| super::init::time(usage.user_time()) + super::init::time(usage.system_time()))
}

/// The size of written files in memory: one file system or two, without mounted folders.
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
