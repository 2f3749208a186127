//! The root of the jail: the system's programs, read-only; a few harmless devices; and one small
//! writable file system in memory.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, symlink},
    },
    path::{Path, PathBuf},
};

use nix::{
    fcntl::{OFlag, open},
    mount::{MntFlags, MsFlags, mount, umount2},
    sys::stat::Mode,
    unistd::{Gid, Uid, chdir, chown, pivot_root},
};

use super::{FaultContext, INSIDE_ID};
use crate::jail::{
    FOLDER,
    wire::{FaultKind, JailFault, Spec, User},
};

/// Where the root is built. Only our own mount namespace sees it, and it covers the real folder
/// without changing it.
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
pub(super) struct SystemFolder {
    pub path: PathBuf,
    pub link: Option<PathBuf>,
}

/// The folders with the system's programs and libraries, which contain nothing private.
pub(super) fn system() -> io::Result<Vec<SystemFolder>> {
    let known = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
    let mut found = Vec::new();
    for path in known.map(PathBuf::from) {
        match fs::symlink_metadata(&path) {
            Ok(kind) if kind.is_symlink() => found.push(SystemFolder { link: Some(fs::read_link(&path)?), path }),
            Ok(kind) if kind.is_dir() => found.push(SystemFolder { link: None, path }),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The parts of `/etc` that programs need for their libraries and, with the network, for
/// certificates.
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

/// Builds it in our own mount namespace. Root gives the writable part to the job's user.
pub(super) fn build(spec: &Spec, owner: Option<User>) -> Result<(), JailFault> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).doing("keeping our mounts to ourselves")?;
    // Opened before the site is covered, because any of these may be below it.
    let mut parts = Vec::new();
    let mut links = Vec::new();
    for system in system().doing("looking for the system's folders")? {
        match system.link {
            Some(target) => links.push((system.path, target)),
            None => parts.push(BindMount::open(&system.path, &system.path)?),
        }
    }
    for path in DEVICES.into_iter().chain(shared(spec.network)) {
        parts.push(BindMount::open(Path::new(path), Path::new(path))?);
    }
    for readable in &spec.readable {
        parts.push(
            BindMount::open(&readable.host, &readable.inside)
                .map_err(|fault| JailFault { kind: FaultKind::Missing, ..fault })?,
        );
    }
    let mounted = spec.mounted.as_deref().map(|folder| BindMount::open(folder, Path::new(FOLDER))).transpose()?;
    // The owner of a folder could have replaced it after the check, and we may be root.
    if let (Some(mounted), Some(owner)) = (&mounted, owner)
        && mounted.source.metadata().doing("looking at the folder")?.uid() != owner.uid
    {
        return Err(JailFault {
            kind: FaultKind::Invalid,
            detail: "the folder became somebody else's meanwhile".to_owned(),
        });
    }
    let git = spec
        .mounted
        .as_ref()
        .map(|folder| folder.join(".git"))
        .filter(|git| fs::symlink_metadata(git).is_ok_and(|git| !git.is_symlink()));
    let git = git.map(|git| BindMount::open(&git, &Path::new(FOLDER).join(".git"))).transpose()?;
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
    seal(spec.read_only).doing("making the root read-only")
}

/// The path in the site that will be at this path.
fn at(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    Path::new(SITE).join(path.strip_prefix("/").unwrap_or(path))
}

/// A file or folder of this machine that is mounted in the jail.
struct BindMount {
    source: File,
    folder: bool,
    inside: PathBuf,
}

impl BindMount {
    fn open(host: &Path, inside: &Path) -> Result<Self, JailFault> {
        let source =
            open(host, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).map(File::from).doing(host.display())?;
        let folder = source.metadata().doing(host.display())?.is_dir();
        Ok(Self { source, folder, inside: inside.to_owned() })
    }

    fn mount(&self) -> Result<(), JailFault> {
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

/// Just enough for programs that ask for their user and host.
pub(super) fn etc(etc: &Path, nameservers: Option<&str>) -> io::Result<()> {
    let id = INSIDE_ID;
    fs::write(etc.join("passwd"), format!("jail:x:{id}:{id}::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"))?;
    fs::write(etc.join("group"), format!("jail:x:{id}:\nnogroup:x:65534:\n"))?;
    fs::write(etc.join("hosts"), "127.0.0.1 localhost jail\n::1 localhost\n")?;
    fs::write(etc.join("nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n")?;
    if let Some(nameservers) = nameservers {
        fs::write(etc.join("resolv.conf"), nameservers)?;
    }
    Ok(())
}

/// One file system for the folder and for `/tmp`, so that the limit covers both.
fn disk(spec: &Spec, owner: Option<User>) -> Result<(), JailFault> {
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

/// Makes all mounts in the site read-only, except the writable ones.
fn seal(folder_too: bool) -> io::Result<()> {
    let writable = [Some(at("/tmp")), (!folder_too).then(|| at(FOLDER))].into_iter().flatten().collect::<Vec<_>>();
    for (path, mut flags) in mounts_in_the_site(&fs::read_to_string("/proc/self/mountinfo")?) {
        flags |= MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID;
        if !DEVICES.iter().any(|device| at(device) == path) {
            flags |= MsFlags::MS_NODEV;
        }
        if !writable.contains(&path) {
            flags |= MsFlags::MS_RDONLY;
        }
        let none = None::<&str>;
        mount(none, &path, none, flags, none)?;
    }
    Ok(())
}

/// Every mount in the site with its flags, which must be repeated because the kernel does not let
/// us remove them. Covered mounts have the same paths; they are told apart by their parent.
fn mounts_in_the_site(mounts: &str) -> Vec<(PathBuf, MsFlags)> {
    struct Mount<'a> {
        id: &'a str,
        on: &'a str,
        path: PathBuf,
        flags: MsFlags,
    }
    fn read(line: &str) -> Option<Mount<'_>> {
        let mut fields = line.split(' ');
        let (id, on, path, options) = (fields.next()?, fields.next()?, fields.nth(2)?, fields.next()?);
        let forbids = |option| match option {
            "ro" => MsFlags::MS_RDONLY,
            "nodev" => MsFlags::MS_NODEV,
            "noexec" => MsFlags::MS_NOEXEC,
            _ => MsFlags::empty(),
        };
        Some(Mount { id, on, path: PathBuf::from(unescape(path)), flags: options.split(',').map(forbids).collect() })
    }
    let all = mounts.lines().filter_map(read).collect::<Vec<_>>();
    let covered = |mount: &Mount<'_>| all.iter().any(|other| other.on == mount.id && other.path == mount.path);
    let mut inside = all.iter().filter(|mount| mount.path == Path::new(SITE) && !covered(mount)).collect::<Vec<_>>();
    let mut next = 0;
    while let Some(mount) = inside.get(next) {
        let id = mount.id;
        inside.extend(all.iter().filter(|other| other.on == id));
        next += 1;
    }
    inside.into_iter().map(|mount| (mount.path.clone(), mount.flags)).collect()
}

/// Decodes octal escapes in a path of the mount list.
fn unescape(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Enters the root and leaves the old one. Returns whether there is a /proc.
pub(super) fn enter() -> Result<bool, JailFault> {
    let none = None::<&str>;
    // Mounts made by root are locked for us; a bind mount of it is ours and can become the root.
    mount(Some(SITE), SITE, none, MsFlags::MS_BIND | MsFlags::MS_REC, none).doing("the root")?;
    chdir(SITE).doing("the root")?;
    // If parts of /proc are hidden, as in many containers, the kernel does not allow a new one.
    // Most programs work without.
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let proc = mount(Some("proc"), "proc", Some("proc"), flags, none).is_ok();
    pivot_root(".", ".").doing("moving into the root")?;
    umount2(".", MntFlags::MNT_DETACH).doing("leaving the old root")?;
    chdir("/").doing("moving into the root")?;
    Ok(proc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_site_covers_is_none_of_our_business() {
        let mounts = "\
1 0 8:1 / / rw,relatime - ext4 /dev/x rw
2 1 0:5 / /tmp rw,noexec - tmpfs tmpfs rw
3 2 0:6 / /tmp/usr rw - tmpfs tmpfs rw
4 2 0:7 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw
5 4 8:1 /usr /tmp/usr ro,relatime - ext4 /dev/x rw
6 5 8:2 / /tmp/usr/a\\040b rw,noexec - ext4 /dev/y rw
7 1 8:2 / /tmpfiles rw - ext4 /dev/y rw";
        assert_eq!(
            mounts_in_the_site(mounts),
            [
                (PathBuf::from("/tmp"), MsFlags::MS_NODEV),
                (PathBuf::from("/tmp/usr"), MsFlags::MS_RDONLY),
                (PathBuf::from("/tmp/usr/a b"), MsFlags::MS_NOEXEC),
            ]
        );
    }
}
