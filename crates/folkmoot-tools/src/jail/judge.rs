//! Judges how a job ended from all evidence.

use std::collections::BTreeSet;

use super::{JailError, JobEnd, Limit, cgroup::CgroupUsage, wire::JobExit};

/// All limits that were provably reached.
pub(super) fn reached(ended: Option<&JobExit>, taken: &CgroupUsage, stopped: Option<Limit>) -> BTreeSet<Limit> {
    let mut reached = stopped.into_iter().collect::<BTreeSet<_>>();
    if taken.killed_for_memory {
        reached.insert(Limit::Memory);
    }
    if taken.refused_a_process {
        reached.insert(Limit::Processes);
    }
    if let Some(ended) = ended {
        reached.extend(&ended.reached);
        reached.extend(ended.stopped);
        if ended.disk_full {
            reached.insert(Limit::Disk);
        }
        reached.extend(match ended.signal {
            Some(nix::libc::SIGXFSZ) => Some(Limit::Disk),
            Some(nix::libc::SIGXCPU) => Some(Limit::Cpu),
            Some(nix::libc::SIGSYS) => Some(Limit::Syscall),
            _ => None,
        });
    }
    reached
}

/// A job that succeeds has succeeded, whatever it reached. If it fails after reaching limits, the
/// first in the order of [`Limit`] is the cause.
pub(super) fn judge(
    ended: Option<&JobExit>,
    reached: &BTreeSet<Limit>,
    stopped: Option<Limit>,
) -> Result<JobEnd, JailError> {
    if let Some(limit) = stopped.or(ended.and_then(|ended| ended.stopped)) {
        return Ok(JobEnd::Limited(limit));
    }
    match (ended.map(|ended| (ended.code, ended.signal)), reached.first()) {
        (Some((Some(0), _)), _) => Ok(JobEnd::Exited(0)),
        (_, Some(limit)) => Ok(JobEnd::Limited(*limit)),
        (Some((Some(code), _)), None) => Ok(JobEnd::Exited(code)),
        (Some((None, Some(signal))), None) => Ok(JobEnd::Signalled(signal)),
        (Some((None, None)) | None, None) => {
            Err(JailError::Failed("the first process of the jail died without a word".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: Option<i32>, signal: Option<i32>) -> JobExit {
        JobExit {
            code,
            signal,
            cpu_us: 0,
            peak_bytes: 0,
            reached: Vec::new(),
            stopped: None,
            disk_full: false,
            kept: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
        }
    }

    #[test]
    fn every_end_is_told_as_what_it_was() {
        let none = BTreeSet::new();
        let full = BTreeSet::from([Limit::Disk, Limit::Memory]);
        for (code, signal, reached, stopped, end) in [
            (Some(0), None, &none, None, JobEnd::Exited(0)),
            (Some(3), None, &none, None, JobEnd::Exited(3)),
            (None, Some(11), &none, None, JobEnd::Signalled(11)),
            (Some(0), None, &full, None, JobEnd::Exited(0)),
            (Some(1), None, &full, None, JobEnd::Limited(Limit::Memory)),
            (None, Some(9), &full, None, JobEnd::Limited(Limit::Memory)),
            (Some(0), None, &none, Some(Limit::Wall), JobEnd::Limited(Limit::Wall)),
        ] {
            assert_eq!(judge(Some(&ended(code, signal)), reached, stopped), Ok(end));
        }
        assert_eq!(judge(None, &full, None), Ok(JobEnd::Limited(Limit::Memory)));
        assert!(judge(None, &none, None).is_err());
    }

    #[test]
    fn a_signal_of_a_limit_is_evidence_of_it() {
        let evidence = |signal| reached(Some(&ended(None, Some(signal))), &CgroupUsage::default(), None);
        assert_eq!(evidence(nix::libc::SIGXFSZ), BTreeSet::from([Limit::Disk]));
        assert_eq!(evidence(nix::libc::SIGXCPU), BTreeSet::from([Limit::Cpu]));
        assert_eq!(evidence(nix::libc::SIGSYS), BTreeSet::from([Limit::Syscall]));
        assert_eq!(evidence(nix::libc::SIGTERM), BTreeSet::new());
    }
}
