//! The root of a jail: the system's programs to read, a few harmless devices, and one small file system in memory to write to.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd, unix::fs::symlink},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    mount::{MntFlags, MsFlags, mount, umount2},
    sys::stat::Mode,
    unistd::{Gid, Uid, chdir, chown, pivot_root},
};

use super::{Doing, INSIDE_ID};
use crate::jail::{
    FOLDER,
    wire::{Fault, FaultKind, Spec, User},
};

/// Where the root is built. Only we see it there, as we are in a mount namespace of our own, and it is covered, not changed.
const SITE: &str = "/tmp";

pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
pub(super) const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/shm", "/tmp"),
];

/// A folder of the system, or a link to one.
#[derive(Debug)]
pub(super) struct System {
    pub path: PathBuf,
    pub link: Option<PathBuf>,
}

/// The folders in which systems have their programs and libraries, and nothing private.
pub(super) fn system() -> io::Result<Vec<System>> {
    let known = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
    let mut found = Vec::new();
    for path in known.map(PathBuf::from) {
        match fs::symlink_metadata(&path) {
            Ok(kind) if kind.is_symlink() => found.push(System { link: Some(fs::read_link(&path)?), path }),
            Ok(kind) if kind.is_dir() => found.push(System { link: None, path }),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What of `/etc` programs need to find their libraries, and with the network their certificates.
pub(super) fn shared(network: bool) -> Vec<&'static str> {
    let always = ["/etc/alternatives", "/etc/ld.so.cache"];
    let networked = [
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/pki/tls/certs",
        "/etc/pki/ca-trust/extracted",
        "/etc/ca-certificates",
    ];
    let networked = networked.into_iter().filter(|_| network);
    always.into_iter().chain(networked).filter(|path| Path::new(path).exists()).collect()
}

/// Builds it, in a mount namespace of our own. Root gives what is to be written to whom it will become.
pub(super) fn build(spec: &Spec, owner: Option<User>) -> Result<(), Fault> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).doing("keeping our mounts to ourselves")?;
    // Opened before the site is covered, because any of these may lie below it.
    let mut parts = Vec::new();
    let mut links = Vec::new();
    for system in system().doing("looking for the system's folders")? {
        match system.link {
            Some(target) => links.push((system.path, target)),
            None => parts.push(Part::open(&system.path, &system.path)?),
        }
    }
    for path in DEVICES.into_iter().chain(shared(spec.network)) {
        parts.push(Part::open(Path::new(path), Path::new(path))?);
    }
    for readable in &spec.readable {
        parts.push(
            Part::open(&readable.host, &readable.inside)
                .map_err(|fault| Fault { kind: FaultKind::Missing, ..fault })?,
        );
    }
    let mounted = spec.mounted.as_deref().map(|folder| Part::open(folder, Path::new(FOLDER))).transpose()?;
    let git = spec
        .mounted
        .as_ref()
        .map(|folder| folder.join(".git"))
        .filter(|git| fs::symlink_metadata(git).is_ok_and(|git| !git.is_symlink()));
    let git = git.map(|git| Part::open(&git, &Path::new(FOLDER).join(".git"))).transpose()?;
    let nameservers = if spec.network { fs::read_to_string("/etc/resolv.conf").ok() } else { None };

    tmpfs(Path::new(SITE), 4 << 20, 2048).doing("the root")?;
    for folder in ["/dev", "/etc", "/proc", "/tmp", "/.disk", FOLDER] {
        fs::create_dir(at(folder)).doing(folder)?;
    }
    for part in &parts {
        part.mount()?;
    }
    for (path, target) in links
        .iter()
        .map(|(path, target)| (path.as_path(), target.as_path()))
        .chain(LINKS.iter().map(|(path, target)| (Path::new(*path), Path::new(*target))))
    {
        symlink(target, at(path)).doing(path.display())?;
    }
    etc(&at("/etc"), nameservers.as_deref()).doing("writing /etc")?;
    disk(spec, owner)?;
    if let Some(mounted) = mounted {
        mounted.mount()?;
    }
    if let Some(git) = git {
        git.mount()?;
    }
    seal().doing("making the root read-only")
}

/// Where in the site something is that will be at this path.
fn at(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    Path::new(SITE).join(path.strip_prefix("/").unwrap_or(path))
}

/// Something of this machine that the job will see.
struct Part {
    source: File,
    folder: bool,
    inside: PathBuf,
}

impl Part {
    fn open(host: &Path, inside: &Path) -> Result<Self, Fault> {
        let source =
            open(host, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).map(File::from).doing(host.display())?;
        let folder = source.metadata().doing(host.display())?.is_dir();
        Ok(Self { source, folder, inside: inside.to_owned() })
    }

    fn mount(&self) -> Result<(), Fault> {
        let (none, target) = (None::<&str>, at(&self.inside));
        self.make_room(&target).doing(self.inside.display())?;
        let source = format!("/proc/self/fd/{}", self.source.as_raw_fd());
        mount(Some(source.as_str()), &target, none, MsFlags::MS_BIND | MsFlags::MS_REC, none)
            .doing(self.inside.display())
    }

    fn make_room(&self, target: &Path) -> io::Result<()> {
        if target.exists() {
            return Ok(());
        }
        if self.folder {
            return fs::create_dir_all(target);
        }
        if let Some(above) = target.parent() {
            fs::create_dir_all(above)?;
        }
        File::create(target).map(drop)
    }
}

fn tmpfs(target: &Path, bytes: u64, files: u64) -> nix::Result<()> {
    let options = format!("mode=0755,size={bytes},nr_inodes={files}");
    mount(Some("tmpfs"), target, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(options.as_str()))
}

/// Just enough for programs that ask who and where they are.
pub(super) fn etc(etc: &Path, nameservers: Option<&str>) -> io::Result<()> {
    let id = INSIDE_ID;
    fs::write(etc.join("passwd"), format!("jail:x:{id}:{id}::{FOLDER}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"))?;
    fs::write(etc.join("group"), format!("jail:x:{id}:\nnogroup:x:65534:\n"))?;
    fs::write(etc.join("hosts"), "127.0.0.1 localhost jail\n::1 localhost\n")?;
    fs::write(etc.join("nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n")?;
    if let Some(nameservers) = nameservers {
        fs::write(etc.join("resolv.conf"), nameservers)?;
    }
    Ok(())
}

/// One file system for the folder and for `/tmp`, so that both together have the limit.
fn disk(spec: &Spec, owner: Option<User>) -> Result<(), Fault> {
    let disk = at("/.disk");
    let files = (spec.disk_bytes / 4096).clamp(1024, 1 << 20);
    tmpfs(&disk, spec.disk_bytes, files).doing("the file system to write to")?;
    let none = None::<&str>;
    for (name, target) in [("job", FOLDER), ("tmp", "/tmp")] {
        let source = disk.join(name);
        fs::create_dir(&source).doing(target)?;
        if let Some(User { uid, gid }) = owner {
            chown(&source, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).doing(target)?;
        }
        mount(Some(&source), &at(target), none, MsFlags::MS_BIND, none).doing(target)?;
    }
    umount2(&disk, MntFlags::MNT_DETACH).doing("the file system to write to")?;
    fs::remove_dir(&disk).doing("the file system to write to")
}

/// Makes all that is mounted below the site read-only, whatever came along with it, beside what is there to be written to.
fn seal() -> io::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let writable = [at(FOLDER), at("/tmp")];
    for line in mounts.lines() {
        let fields = line.split(' ').collect::<Vec<_>>();
        let (Some(path), Some(options)) = (fields.get(4), fields.get(5)) else { continue };
        let path = PathBuf::from(unescape(path));
        if !path.starts_with(SITE) {
            continue;
        }
        // What a mount already forbids must be said again: the kernel does not let us allow it.
        let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID;
        for option in options.split(',') {
            flags |= match option {
                "ro" => MsFlags::MS_RDONLY,
                "nodev" => MsFlags::MS_NODEV,
                "noexec" => MsFlags::MS_NOEXEC,
                _ => MsFlags::empty(),
            };
        }
        if !DEVICES.iter().any(|device| at(device) == path) {
            flags |= MsFlags::MS_NODEV;
        }
        if !writable.contains(&path) {
            flags |= MsFlags::MS_RDONLY;
        }
        let none = None::<&str>;
        match mount(none, &path, none, flags, none) {
            Ok(()) => {}
            // Covered by another mount on the same place, so that nobody can get there.
            Err(Errno::EINVAL | Errno::ENOENT)
                if path != Path::new(SITE) && mounts.matches(&format!(" {} ", fields[4])).count() > 1 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Paths in a list of mounts have their blanks written as octal numbers.
fn unescape(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Moves into the root, and leaves the old one behind. Says whether there is a /proc.
pub(super) fn enter() -> Result<bool, Fault> {
    let none = None::<&str>;
    // What was mounted by root is fixed for us; a mount of it is ours, and can become the root.
    mount(Some(SITE), SITE, none, MsFlags::MS_BIND | MsFlags::MS_REC, none).doing("the root")?;
    chdir(SITE).doing("the root")?;
    // Where parts of /proc are hidden, as in many containers, the kernel does not give us a new one. Most programs live without.
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let proc = mount(Some("proc"), "proc", Some("proc"), flags, none).is_ok();
    pivot_root(".", ".").doing("moving into the root")?;
    umount2(".", MntFlags::MNT_DETACH).doing("leaving the old root")?;
    chdir("/").doing("moving into the root")?;
    Ok(proc)
}
