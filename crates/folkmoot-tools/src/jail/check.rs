//! Validates a job before anything is started.

use std::{
    collections::BTreeSet,
    path::{Component, Path},
    time::Duration,
};

use super::{JailError, JailJob, Profile, Readable};

const PATH_BYTES_MAX: usize = 1024;
const PATH_PARTS_MAX: usize = 32;
const COMMAND_BYTES_MAX: usize = 128 * 1024;
pub(super) const MEMORY_BYTES_MIN: u64 = 16 << 20;
const OPEN_FILES_MIN: u64 = 16;
const WALL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The paths that the jail itself provides; nothing can be mounted there.
const OURS: [&str; 15] = [
    "/bin", "/dev", "/etc", "/gnu", "/job", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/sbin", "/sys",
    "/tmp", "/usr",
];

pub(super) fn job(job: &JailJob, network: bool) -> Result<(), JailError> {
    if job.profile == Profile::Agent && !network {
        return invalid(
            "a job of the profile agent has the network, and this jail does not allow it; allow it explicitly",
        );
    }
    if job.profile == Profile::Code && job.folder.is_some() {
        return invalid(
            "a job of the profile code has an empty folder; use the profile project for a folder of this machine",
        );
    }
    if job.folder.as_ref().is_some_and(|folder| !folder.is_absolute()) {
        return invalid("the folder of a job is an absolute path");
    }
    if job.folder_is_read_only && !job.files.is_empty() {
        return invalid("no files can be put into a folder that is only to be read");
    }
    command(job)?;
    limits(job)?;
    files(job)?;
    job.readable.iter().try_for_each(readable)?;
    apart(&job.readable)
}

fn command(job: &JailJob) -> Result<(), JailError> {
    if job.command.first().is_none_or(String::is_empty) {
        return invalid("a job needs a command");
    }
    let words = job.command.iter().chain(job.environment.keys()).chain(job.environment.values());
    if words.clone().any(|word| word.contains('\0')) {
        return invalid("a command and its environment have no zero bytes in them");
    }
    if words.map(|word| word.len() + 1).sum::<usize>() > COMMAND_BYTES_MAX {
        return invalid(format!(
            "a command and its environment have at most {COMMAND_BYTES_MAX} bytes; put the rest into files"
        ));
    }
    if let Some(name) = job.environment.keys().find(|name| name.is_empty() || name.contains('=')) {
        return invalid(format!("{name:?} is not the name of a variable"));
    }
    Ok(())
}

fn files(job: &JailJob) -> Result<(), JailError> {
    let mut seen = BTreeSet::new();
    for (name, _) in &job.files {
        relative(name)?;
        if !seen.insert(name.as_str()) {
            return invalid(format!("the file {name:?} is given twice"));
        }
    }
    for (name, _) in &job.files {
        let above = Path::new(name).ancestors().skip(1).filter_map(Path::to_str);
        if let Some(above) = above.into_iter().find(|above| seen.contains(above)) {
            return invalid(format!("{above:?} is given as a file, and as the folder of {name:?}"));
        }
    }
    let bytes = job.files.iter().map(|(_, content)| content.len() as u64).sum::<u64>();
    let in_memory = bytes + job.stdin.len() as u64;
    if in_memory + MEMORY_BYTES_MIN > job.limits.memory_bytes {
        return invalid(format!(
            "files and input have {in_memory} bytes, lie in memory, and leave too little of its {} to the job",
            job.limits.memory_bytes
        ));
    }
    if bytes > job.limits.disk_bytes {
        return invalid(format!("the files have {bytes} bytes, and the job may use {} of disk", job.limits.disk_bytes));
    }
    job.keep.iter().try_for_each(|name| relative(name))
}

/// A relative path of plain names in normalised form.
pub(super) fn relative(name: &str) -> Result<(), JailError> {
    let plain = !name.is_empty()
        && name.len() <= PATH_BYTES_MAX
        && !name.contains('\0')
        && name.split('/').count() <= PATH_PARTS_MAX
        && name.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && part.len() <= 255);
    if plain { Ok(()) } else { invalid(format!("{name:?} is not a relative path that stays within the folder")) }
}

pub(super) fn readable(readable: &Readable) -> Result<(), JailError> {
    let Readable { host, inside } = readable;
    let plain = |path: &Path| {
        path.is_absolute()
            && path.to_str().is_some_and(|path| !path.contains('\0') && path.len() <= PATH_BYTES_MAX)
            && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
    };
    if !plain(host) || !plain(inside) {
        return invalid(format!("{} to {}: both are absolute paths without `..`", host.display(), inside.display()));
    }
    let taken = OURS.iter().any(|ours| inside.starts_with(ours)) || inside.components().count() < 3;
    if taken {
        return invalid(format!(
            "{} cannot be given to a job as {}, which is the jail's own",
            host.display(),
            inside.display()
        ));
    }
    Ok(())
}

/// No path may be inside another: a mount point would have to be created in the outer one, which
/// belongs to somebody.
fn apart(all: &[Readable]) -> Result<(), JailError> {
    for (index, one) in all.iter().enumerate() {
        if let Some(other) = all[..index]
            .iter()
            .find(|other| one.inside.starts_with(&other.inside) || other.inside.starts_with(&one.inside))
        {
            return invalid(format!("{} and {} are within each other", one.inside.display(), other.inside.display()));
        }
    }
    Ok(())
}

fn limits(job: &JailJob) -> Result<(), JailError> {
    let limits = &job.limits;
    if limits.wall.is_zero()
        || limits.cpu.is_zero()
        || limits.processes == 0
        || limits.disk_bytes == 0
        || limits.output_bytes == 0
    {
        return invalid("a limit of nothing lets nothing run; give each limit a value");
    }
    if limits.wall > WALL_MAX {
        return invalid("a job may take at most a day");
    }
    if limits.memory_bytes < MEMORY_BYTES_MIN || limits.open_files < OPEN_FILES_MIN {
        return invalid(format!(
            "a job needs at least {MEMORY_BYTES_MIN} bytes of memory and {OPEN_FILES_MIN} open files"
        ));
    }
    Ok(())
}

fn invalid<T>(why: impl Into<String>) -> Result<T, JailError> {
    Err(JailError::Invalid(why.into()))
}
