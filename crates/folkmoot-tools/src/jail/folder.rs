//! Copies a folder into the jail and back, if the job's user cannot write to the folder itself.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use super::{
    JailError, check,
    wire::{JailEntry, JobExit},
};
use crate::beneath::Folder;

const ENTRIES_MAX: usize = 200_000;

#[derive(Debug)]
pub(super) enum FolderAccess {
    /// Mounted; the job runs as its owner.
    Mounted {
        owner: u32,
        group: u32,
    },
    Copied,
}

/// Chooses the way for a caller with this id.
pub(super) fn way(folder: &Path, caller: u32) -> Result<FolderAccess, JailError> {
    let said =
        |why: String| JailError::Invalid(format!("the folder {} cannot be given to a job: {why}", folder.display()));
    let found = fs::symlink_metadata(folder).map_err(|error| said(error.to_string()))?;
    if !found.is_dir() {
        return Err(said("it is not a folder".to_owned()));
    }
    match (caller, found.uid()) {
        (0, 0) => Ok(FolderAccess::Copied),
        (0, owner) => Ok(FolderAccess::Mounted { owner, group: if found.gid() == 0 { owner } else { found.gid() } }),
        (caller, owner) if caller == owner => Ok(FolderAccess::Mounted { owner, group: found.gid() }),
        (_, _) => Err(said("it belongs to somebody else".to_owned())),
    }
}

/// Lists a folder. Links stay links; pipes, devices and sockets are left out.
pub(super) fn list(root: &Path, bytes_max: u64) -> Result<Vec<JailEntry>, JailError> {
    let mut found = Vec::new();
    let mut bytes = 0_u64;
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let here = root.join(&below);
        let read = |error: io::Error| JailError::Failed(format!("{} cannot be read: {error}", here.display()));
        for entry in fs::read_dir(&here).map_err(read)? {
            let entry = entry.map_err(read)?;
            let path = below.join(entry.file_name());
            let kind = entry.metadata().map_err(read)?;
            let name = match path.to_str().map(|name| (name, check::relative(name))) {
                Some((name, Ok(()))) => name.to_owned(),
                Some(_) | None => {
                    return Err(JailError::Invalid(format!(
                        "{} has a name that cannot be carried into a jail",
                        entry.path().display()
                    )));
                }
            };
            if kind.is_dir() {
                found.push(JailEntry::Folder { path: name });
                open.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).map_err(read)?;
                let target = target.to_str().unwrap_or_default().to_owned();
                found.push(JailEntry::Link { path: name, target });
            } else if kind.is_file() {
                bytes += kind.len();
                found.push(JailEntry::File {
                    path: name,
                    executable: kind.permissions().mode() & 0o100 != 0,
                    bytes: kind.len(),
                });
            }
        }
        if bytes > bytes_max || found.len() > ENTRIES_MAX {
            return Err(JailError::Invalid(format!(
                "the folder {} has more than {bytes_max} bytes or {ENTRIES_MAX} entries, and belongs to root, so that it would \
                 have to be copied; give the job more disk, or give the folder to an unprivileged user",
                root.display()
            )));
        }
    }
    Ok(found)
}

/// Reads exactly `bytes` bytes, even if the file has changed.
pub(super) fn content(folder: &Folder, path: &str, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
    if let Some(file) = folder.file(path)? {
        file.take(bytes).read_to_end(&mut content)?;
    }
    content.resize(usize::try_from(bytes).unwrap_or_default(), 0);
    Ok(content)
}

/// Receives the kept files, and the changes in a copied folder, when a job has ended.
pub(super) fn bring_back(
    mut from: UnixStream,
    ended: &JobExit,
    kept_bytes_max: u64,
    folder: Option<&Path>,
) -> Result<BTreeMap<String, Vec<u8>>, JailError> {
    let failed = |what: &str, error: &io::Error| JailError::Failed(format!("bringing back {what}: {error}"));
    let mut kept = BTreeMap::new();
    for (path, bytes) in &ended.kept {
        let mut content = Vec::new();
        take(&mut from, (*bytes).min(kept_bytes_max), &mut content).map_err(|error| failed(path, &error))?;
        kept.insert(path.clone(), content);
    }
    let Some(path) = folder else { return Ok(kept) };
    let folder = Folder::open(path).map_err(|error| failed(&path.display().to_string(), &error))?;
    for path in ended.removed.iter().filter(|path| comes_back(path)) {
        folder.remove_entry(path).map_err(|error| failed(path, &error))?;
    }
    for entry in &ended.changed {
        let (path, done) = match entry {
            JailEntry::Folder { path } if comes_back(path) => (path, folder.make_folder(path)),
            JailEntry::File { path, executable, bytes } if comes_back(path) => {
                (path, folder.replace(path, *executable, |file| take(&mut from, *bytes, file)))
            }
            JailEntry::File { path, bytes, .. } => (path, take(&mut from, *bytes, &mut io::sink())),
            JailEntry::Folder { path } | JailEntry::Link { path, .. } => (path, Ok(())),
        };
        done.map_err(|error| failed(path, &error))?;
    }
    Ok(kept)
}

fn take(from: &mut UnixStream, bytes: u64, to: &mut impl io::Write) -> io::Result<()> {
    match io::copy(&mut from.take(bytes), to)? {
        taken if taken == bytes => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Whether a change may be brought back: never git's settings, which programs outside would trust.
fn comes_back(path: &str) -> bool {
    check::relative(path).is_ok() && !path.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}
