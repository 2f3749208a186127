//! Files beneath a folder, reached name by name from its descriptor: no link is followed, so that nothing outside is read
//! or written, not even while somebody exchanges a folder for a link.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::Path,
};

use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AtFlags, OFlag, open, openat},
    sys::stat::{Mode, SFlag, fstatat, mkdirat},
    unistd::{UnlinkatFlags, unlinkat},
};

/// The longest path beneath a folder.
const PATH_BYTES_MAX: usize = 1024;
/// The longest name in it.
const NAME_BYTES_MAX: usize = 255;

/// Judges a path from outside. What passes is relative, stays beneath its folder and does not touch git's own files, on
/// any file system that the repository may later be checked out on.
pub(crate) fn check(path: &str) -> Result<(), String> {
    let refused =
        |why: &str| Err(format!("the path {:?} is refused: {why}", path.chars().take(120).collect::<String>()));
    if path.is_empty() {
        return refused("it is empty");
    }
    if path.len() > PATH_BYTES_MAX {
        return refused("it is longer than 1024 bytes");
    }
    if path.chars().any(|c| c.is_control() || is_unseen(c)) {
        return refused("it has characters that nobody sees");
    }
    if path.contains('\\') {
        return refused("write / between folders, and no \\");
    }
    for name in path.split('/') {
        match name {
            "" => return refused("it begins or ends with /, or has two of them; it must be relative"),
            "." | ".." => return refused("it must not have . or .. in it"),
            _ if name.len() > NAME_BYTES_MAX => return refused("a name in it is longer than 255 bytes"),
            _ if name.starts_with('-') => {
                return refused("a name in it begins with -, which programs take for an option");
            }
            _ if is_dot_git(name) => return refused("that is git's own folder, or would be on another system"),
            _ => {}
        }
    }
    Ok(())
}

/// As git judges it: NTFS ignores case, trailing dots and spaces, and knows streams and short names.
fn is_dot_git(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    let name = name.trim_end_matches(['.', ' ']).to_lowercase();
    name == ".git" || name == "git~1"
}

/// Characters that some file systems ignore, and that turn what a reader sees around.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A folder that is held open.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
}

/// What is under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path from the folder, or what can be shown of it.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What can be under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A file, how long it is, and when it was last changed, in nanoseconds.
    File { bytes: u64, changed: i128 },
    /// A folder.
    Folder,
    /// A link, to wherever.
    Link,
    /// A pipe, socket or device.
    Special,
    /// It has a name that is no text, or nothing can be told about it.
    Unreadable,
}

impl Folder {
    /// Opens a folder. The path itself is the caller's, and may have links in it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = open(path, OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self { fd })
    }

    /// What is directly in a folder beneath, in the order of the names; `""` is the folder itself.
    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<Entry>> {
        let mut fd = self.fd.try_clone()?;
        if !path.is_empty() {
            fd = descend(fd, path, false)?;
        }
        let mut names = Vec::new();
        // Opened anew, because descriptors that are copies share their position.
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
                        SFlag::S_IFREG => EntryKind::File {
                            bytes: u64::try_from(stat.st_size).unwrap_or(0),
                            changed: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
                        },
                        SFlag::S_IFDIR => EntryKind::Folder,
                        SFlag::S_IFLNK => EntryKind::Link,
                        _ => EntryKind::Special,
                    }
                }
                _ => EntryKind::Unreadable,
            };
            let path = if path.is_empty() { shown.into_owned() } else { format!("{path}/{shown}") };
            Entry { path, kind }
        });
        Ok(entries.collect())
    }

    /// The content of a file, at most that long; nothing where no file is.
    pub(crate) fn read(&self, path: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let read = || {
            let (folder, name) = self.parent(path, false)?;
            // Without waiting, in case that it is a pipe.
            let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
            let file = File::from(openat(&folder, name, flags, Mode::empty())?);
            if !file.metadata()?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
            }
            let mut content = Vec::new();
            file.take(bytes_max).read_to_end(&mut content)?;
            Ok(content)
        };
        match read() {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a file there, with the folders on the way. A link or a file of that name is replaced, not written through; what was
    /// executable still is.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let (folder, name) = self.parent(path, true)?;
        let mut mode = Mode::from_bits_truncate(0o666);
        match fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            Ok(stat) => {
                if stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits() && stat.st_mode & 0o100 != 0 {
                    mode = Mode::from_bits_truncate(0o777);
                }
                unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir)?;
            }
            Err(Errno::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        File::from(openat(&folder, name, flags, mode)?).write_all(content)
    }

    /// Removes a file or link, where there is one.
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

    fn parent<'a>(&self, path: &'a str, create: bool) -> io::Result<(OwnedFd, &'a str)> {
        let folder = self.fd.try_clone()?;
        match path.rsplit_once('/') {
            Some((folders, name)) => Ok((descend(folder, folders, create)?, name)),
            None => Ok((folder, path)),
        }
    }
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
