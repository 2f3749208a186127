//! Files below a folder that somebody else may have filled: no link is followed, and nothing but plain files is opened.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fchmod, fstat, mkdirat, openat, openat2, renameat, statat,
        symlinkat, unlinkat,
    },
    io::Errno,
};

/// A folder, and what is below it.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: impl rustix::path::Arg) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?))
    }

    /// A plain file for reading. `None` where there is none, or something else.
    pub(super) fn read(&self, path: &str) -> io::Result<Option<File>> {
        // Not blocking, because opening a pipe would wait for somebody to write into it.
        let file = match self.at(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO | Errno::ACCESS) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let plain = FileType::from_raw_mode(fstat(&file)?.st_mode).is_file();
        Ok(plain.then(|| File::from(file)))
    }

    /// A new file. The folders above it are made where they are missing.
    pub(super) fn create(&self, path: &str, executable: bool) -> io::Result<File> {
        self.make_parents(path)?;
        let mode = if executable { 0o755 } else { 0o644 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat2(self.0.as_fd(), path, flags, Mode::from_raw_mode(mode), within())?))
    }

    /// The same, in place of what may be there.
    pub(super) fn replace(
        &self,
        path: &str,
        executable: bool,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        static NEW: AtomicU64 = AtomicU64::new(0);
        self.make_parents(path)?;
        let (folder, name) = self.parent(path)?;
        // Short, as the name itself may be as long as a name can be; and like no other, as two jobs may write here.
        let new = format!(".folkmoot-{}-{}", std::process::id(), NEW.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, &new, flags, Mode::from_raw_mode(0o600))?);
        let written = write(&mut file).and_then(|()| {
            fchmod(&file, mode_of(&folder, name, executable))?;
            Ok(renameat(&folder, &new, &folder, name)?)
        });
        if written.is_err() {
            // The first failure is the one to tell.
            let _ = unlinkat(&folder, &new, AtFlags::empty());
        }
        written
    }

    pub(super) fn make_folder(&self, path: &str) -> io::Result<()> {
        self.make_parents(path)?;
        let (folder, name) = self.parent(path)?;
        match mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn link(&self, path: &str, target: &str) -> io::Result<()> {
        self.make_parents(path)?;
        let (folder, name) = self.parent(path)?;
        Ok(symlinkat(target, &folder, name)?)
    }

    /// Removes a file, a link or an empty folder. What is gone already is fine.
    pub(super) fn remove(&self, path: &str) -> io::Result<()> {
        let (folder, name) = match self.parent(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        match unlinkat(&folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn make_parents(&self, path: &str) -> io::Result<()> {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        for folder in above {
            let (above, name) = self.parent(folder)?;
            match mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (above, name) = split(path);
        Ok((self.at(above, OFlags::DIRECTORY | OFlags::RDONLY)?, name))
    }

    fn at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat2(self.0.as_fd(), path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), within())
    }
}

/// Who may read and write a file that is replaced is not the job's to say; only whether it is executable.
fn mode_of(folder: &OwnedFd, name: &str, executable: bool) -> Mode {
    let old = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .ok()
        .filter(|old| FileType::from_raw_mode(old.st_mode).is_file());
    let mode = old.map_or(0o644, |old| old.st_mode & 0o666);
    // Executable for all who can read it.
    Mode::from_raw_mode(if executable { mode | (mode & 0o444) >> 2 } else { mode })
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

fn within() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}
