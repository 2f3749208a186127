//! Access to files beneath a folder, name by name from its descriptor. Links are never followed, so
//! nothing outside can be read or written, even if somebody replaces a folder by a link meanwhile.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AtFlags, OFlag, open, openat, renameat},
    sys::stat::{Mode, SFlag, fchmod, fstatat, mkdirat},
    unistd::{UnlinkatFlags, symlinkat, unlinkat},
};

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirEntry {
    /// The path from the folder, as far as it can be shown.
    pub path: String,
    pub kind: DirEntryKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirEntryKind {
    /// A file with its size and its modification time in nanoseconds.
    File {
        bytes: u64,
        changed: i128,
    },
    Folder,
    /// A link, to anywhere.
    Link,
    /// A pipe, socket or device.
    Special,
    /// Its name is not text, or it cannot be examined.
    Unreadable,
}

impl Folder {
    /// Opens a folder. The path comes from the caller and may contain links.
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let fd = open(path.as_ref(), OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self { fd })
    }

    /// Lists a folder beneath, sorted by name; `""` is the folder itself.
    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let mut fd = self.fd.try_clone()?;
        if !path.is_empty() {
            fd = descend(fd, path, false)?;
        }
        let mut names = Vec::new();
        // Opened anew, because copied descriptors share their position.
        for entry in
            Dir::openat(&fd, ".", OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?.iter()
        {
            names.push(entry?.file_name().to_owned());
        }
        names.retain(|name| !matches!(name.to_bytes(), b"." | b".."));
        names.sort();
        let entries = names.into_iter().map(|name| {
            let shown = name.to_string_lossy();
            let kind = match fstatat(&fd, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
                Ok(stat) if name.to_str().is_ok() => {
                    match SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) {
                        SFlag::S_IFREG => DirEntryKind::File {
                            bytes: u64::try_from(stat.st_size).unwrap_or(0),
                            changed: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
                        },
                        SFlag::S_IFDIR => DirEntryKind::Folder,
                        SFlag::S_IFLNK => DirEntryKind::Link,
                        _ => DirEntryKind::Special,
                    }
                }
                _ => DirEntryKind::Unreadable,
            };
            let path = if path.is_empty() { shown.into_owned() } else { format!("{path}/{shown}") };
            DirEntry { path, kind }
        });
        Ok(entries.collect())
    }

    /// The content of a file, up to `bytes_max`; `None` if it does not exist. Anything but a file
    /// is an error.
    pub(crate) fn read(&self, path: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match self.plain(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut content = Vec::new();
        file.take(bytes_max).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// Opens a plain file for reading. `None` if there is none, or it is something else, or it is
    /// not readable.
    pub(crate) fn file(&self, path: &str) -> io::Result<Option<File>> {
        use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, PermissionDenied};
        match self.plain(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidInput | PermissionDenied) => {
                Ok(None)
            }
            // A link, or a socket, which cannot be opened.
            Err(error)
                if [Errno::ELOOP, Errno::ENXIO].map(|errno| Some(errno as i32)).contains(&error.raw_os_error()) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn plain(&self, path: &str) -> io::Result<File> {
        let (folder, name) = self.parent(path, false)?;
        // Non-blocking, in case it is a pipe.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = File::from(openat(&folder, name, flags, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
        }
    }

    /// Creates a file and its parent folders. An existing file is an error.
    pub(crate) fn create(&self, path: &str, executable: bool) -> io::Result<File> {
        let (folder, name) = self.parent(path, true)?;
        create(&folder, name, executable)
    }

    /// Atomically replaces the file or link at this path, if any.
    pub(crate) fn replace(
        &self,
        path: &str,
        executable: bool,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        static NEW: AtomicU64 = AtomicU64::new(0);
        let (folder, name) = self.parent(path, true)?;
        // Short, because the name itself may have the maximum length; unique, because two jobs may
        // write here.
        let new = format!(".folkmoot-{}-{}", std::process::id(), NEW.fetch_add(1, Ordering::Relaxed));
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(&folder, new.as_str(), flags, Mode::from_bits_truncate(0o600))?);
        let written = write(&mut file).and_then(|()| {
            fchmod(&file, mode_of(&folder, name, executable))?;
            Ok(renameat(&folder, new.as_str(), &folder, name)?)
        });
        if written.is_err() {
            // Report the first failure.
            let _ = unlinkat(&folder, new.as_str(), UnlinkatFlags::NoRemoveDir);
        }
        written
    }

    /// Creates a folder and its parents if they do not exist.
    pub(crate) fn make_folder(&self, path: &str) -> io::Result<()> {
        descend(self.fd.try_clone()?, path, true).map(drop)
    }

    /// Creates a link, to anywhere.
    pub(crate) fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path, true)?;
        Ok(symlinkat(target, &folder, name)?)
    }

    /// Writes a file and creates its parent folders. An existing link or file is replaced, not
    /// written through; the executable bit is kept.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let (folder, name) = self.parent(path, true)?;
        let mut executable = false;
        match fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            Ok(stat) => {
                executable = stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits() && stat.st_mode & 0o100 != 0;
                unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir)?;
            }
            Err(Errno::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
        create(&folder, name, executable)?.write_all(content)
    }

    /// Removes a file or link if it exists.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        let remove = || -> io::Result<()> {
            let (folder, name) = self.parent(path, false)?;
            unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir)?;
            Ok(())
        };
        match remove() {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound) => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes a file, a link or an empty folder. A folder that is not empty stays.
    pub(crate) fn remove_entry(&self, path: &str) -> io::Result<()> {
        // Look at what is there instead of the error, which differs between systems.
        match self.parent(path, false).and_then(|(folder, name)| Ok(unlinkat(&folder, name, UnlinkatFlags::RemoveDir)?))
        {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => self.remove(path),
            Err(error) => Err(error),
        }
    }

    fn parent<'a>(&self, path: &'a str, create: bool) -> io::Result<(OwnedFd, &'a str)> {
        let folder = self.fd.try_clone()?;
        match path.rsplit_once('/') {
            Some((folders, name)) => Ok((descend(folder, folders, create)?, name)),
            None => Ok((folder, path)),
        }
    }
}

/// Replacing a file keeps its permissions; only the executable bit can change.
fn mode_of(folder: &OwnedFd, name: &str, executable: bool) -> Mode {
    let old = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)
        .ok()
        .filter(|old| old.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits());
    let mode = old.map_or(0o644, |old| old.st_mode & 0o666);
    // Executable for everybody who can read it.
    Mode::from_bits_truncate(if executable { mode | (mode & 0o444) >> 2 } else { mode })
}

fn create(folder: &OwnedFd, name: &str, executable: bool) -> io::Result<File> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mode = Mode::from_bits_truncate(if executable { 0o777 } else { 0o666 });
    Ok(File::from(openat(folder, name, flags, mode)?))
}

fn descend(mut folder: OwnedFd, path: &str, create: bool) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    for name in path.split('/') {
        let mut next = openat(&folder, name, flags, Mode::empty());
        if create && matches!(next, Err(Errno::ENOENT)) {
            match mkdirat(&folder, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EEXIST) => next = openat(&folder, name, flags, Mode::empty()),
                Err(error) => return Err(error.into()),
            }
        }
        folder = match next {
            Ok(next) => next,
            Err(Errno::ELOOP | Errno::ENOTDIR) => {
                return Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    format!("{name:?} is a link or a file, and no folder"),
                ));
            }
            Err(error) => return Err(error.into()),
        };
    }
    Ok(folder)
}

#[cfg(test)]
mod tests;
