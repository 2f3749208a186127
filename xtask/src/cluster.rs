//! A PostgreSQL cluster that lives exactly as long as this process.
//!
//!     xtask ──pipe──▶ warden ──▶ postgres
//!
//! The warden is this program again, in a process group of its own. It makes the cluster, tells us
//! how to connect, and waits for the pipe to close. That happens when the [`Cluster`] is dropped,
//! and also when we are interrupted, terminated or killed; so the folder never stays behind. Should
//! the warden itself be killed, the kernel interrupts PostgreSQL (`setpriv --pdeathsig`).
//!
//! The cluster has no port: it listens on a socket in its own folder, which no other user can
//! enter.

use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::packages;

/// The hidden verb under which this program becomes the warden.
pub(crate) const HOLD_VERB: &str = "__hold-cluster";

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// The longest path of a Unix socket; PostgreSQL refuses more.
const SOCKET_PATH_MAX: usize = 107;

/// Whether a commit reaches the disk before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sync {
    /// For tests, which die with their cluster.
    Off,
    /// For measuring, as in production.
    On,
}

#[derive(Debug)]
pub(crate) struct Cluster {
    warden: Child,
    hold: Option<ChildStdin>,
    connection: String,
}

impl Cluster {
    /// Returns when the cluster accepts connections.
    pub(crate) fn start(sync: Sync) -> Result<Self> {
        let mut warden = Command::new(std::env::current_exe()?)
            .arg(HOLD_VERB)
            .arg(match sync {
                Sync::Off => "sync-off",
                Sync::On => "sync-on",
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C goes to the terminal's whole group; the warden must survive it.
            .process_group(0)
            .spawn()
            .context("cannot start the cluster's warden")?;
        let hold = warden.stdin.take();
        let mut connection = String::new();
        if let Some(told) = warden.stdout.take() {
            BufReader::new(told).read_line(&mut connection)?;
        }
        let cluster = Self { warden, hold, connection: connection.trim_end().to_owned() };
        if cluster.connection.is_empty() {
            bail!("no PostgreSQL for us; the reason is above");
        }
        Ok(cluster)
    }

    /// In libpq's form: `host=… user=… dbname=…`.
    pub(crate) fn connection(&self) -> &str {
        &self.connection
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.hold.take());
        if let Err(error) = self.warden.wait() {
            eprintln!("xtask: cannot wait for the cluster's warden: {error}");
        }
    }
}

/// The warden: creates a cluster, prints its connection string, and removes it when standard input
/// closes.
pub(crate) fn hold(arguments: &[String]) -> Result<ExitCode> {
    let sync = match arguments {
        [sync] if sync == "sync-off" => Sync::Off,
        [sync] if sync == "sync-on" => Sync::On,
        _ => bail!("{HOLD_VERB} is for xtask's own use"),
    };
    let account = Account::choose()?;
    let mut installations = installations();
    if installations.is_empty() {
        packages::install("postgresql", "PostgreSQL's server programs are missing")?;
        installations = self::installations();
    }

    let home = Home::create(sync, &account)?;
    let server = Server::start_any(&installations, &home, &account, sync)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "host={} user=folkmoot dbname=postgres", home.socket().display())?;
    stdout.flush()?;

    io::stdin().read_to_end(&mut Vec::new())?;
    drop(server);
    Ok(ExitCode::SUCCESS)
}

/// Folders with both `initdb` and `postgres`, the most likely first.
///
/// Distributions keep the real programs out of PATH, and the ones in PATH may be wrappers. So the
/// versioned folders come first, the newest before the others; if one fails, the next is tried.
fn installations() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for parent in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr"] {
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let version = match parent {
                    "/usr/lib/postgresql" => name.as_str(),
                    "/usr" => name.strip_prefix("pgsql-")?,
                    _ => name.strip_prefix("postgresql@")?,
                };
                Some((version.parse().ok()?, entry.path().join("bin")))
            })
            .collect();
        versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
        found.extend(versions.into_iter().map(|(_, folder)| folder));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path));
    found.extend(["/usr/local/bin", "/usr/local/pgsql/bin"].map(PathBuf::from));

    found.retain(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
    let mut seen = Vec::new();
    found.retain(|folder| match folder.join("initdb").canonicalize() {
        Ok(real) if !seen.contains(&real) => {
            seen.push(real);
            true
        }
        _ => false,
    });
    found
}

/// The account that runs PostgreSQL, which refuses to run as root.
struct Account {
    stand_in: Option<(u32, u32)>,
}

impl Account {
    fn choose() -> Result<Self> {
        if !packages::is_root() {
            return Ok(Self { stand_in: None });
        }
        for name in ["postgres", "nobody"] {
            let ids = (packages::id("-u", Some(name)), packages::id("-g", Some(name)));
            if let (Some(uid), Some(gid)) = ids {
                return Ok(Self { stand_in: Some((uid, gid)) });
            }
        }
        bail!("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`");
    }

    /// The program, run by this account, and interrupted when the warden dies.
    fn command(&self, program: &Path) -> Command {
        let mut command;
        if let Some((uid, gid)) = self.stand_in {
            command = Command::new("setpriv");
            command
                .args([format!("--reuid={uid}"), format!("--regid={gid}")])
                .args(["--clear-groups", "--pdeathsig=INT", "--"])
                .arg(program);
        } else if packages::works("setpriv") {
            command = Command::new("setpriv");
            command.args(["--pdeathsig=INT", "--"]).arg(program);
        } else {
            command = Command::new(program);
        }
        for (name, _) in std::env::vars_os() {
            // PGDATA, PGHOST and similar variables belong to another cluster.
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C");
        command
    }
}

/// The cluster's folder; removed when dropped.
struct Home {
    folder: PathBuf,
}

impl Home {
    fn create(sync: Sync, account: &Account) -> Result<Self> {
        // Measurements need a disk, and /tmp may be in memory.
        let parent = match sync {
            Sync::On => PathBuf::from("/var/tmp"),
            Sync::Off => std::env::temp_dir(),
        };
        let parent = if parent.is_dir() { parent } else { std::env::temp_dir() };

        let home = Self { folder: create_folder(&parent)? };
        if home.socket_file().as_os_str().len() > SOCKET_PATH_MAX {
            bail!("{} is too long for a socket; set TMPDIR to a shorter path", home.socket_file().display());
        }
        // Passable, not readable: the account has to reach its two folders.
        fs::set_permissions(&home.folder, fs::Permissions::from_mode(0o711))?;
        for folder in [home.data(), home.socket()] {
            fs::create_dir(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
            if let Some((uid, gid)) = account.stand_in {
                chown(&folder, Some(uid), Some(gid))?;
            }
        }
        Ok(home)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    fn socket_file(&self) -> PathBuf {
        self.socket().join(".s.PGSQL.5432")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("xtask: cannot remove {}: {error}", self.folder.display());
        }
    }
}

fn create_folder(parent: &Path) -> Result<PathBuf> {
    let pid = std::process::id();
    for attempt in 0..100 {
        let folder = parent.join(format!("folkmoot-pg-{pid}-{attempt}"));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).context(format!("cannot create {}", folder.display())),
        }
    }
    bail!("{} is full of our folders", parent.display());
}

/// A running `postgres`; stopped when dropped.
struct Server {
    postgres: Child,
}

impl Server {
    fn start_any(installations: &[PathBuf], home: &Home, account: &Account, sync: Sync) -> Result<Self> {
        let mut failures = String::new();
        for programs in installations {
            match Self::start(programs, home, account, sync) {
                Ok(server) => return Ok(server),
                Err(error) => {
                    writeln!(failures, "{}: {error:#}", programs.display())?;
                    empty(&home.data())?;
                }
            }
        }
        bail!("no PostgreSQL that works here:\n{failures}");
    }

    fn start(programs: &Path, home: &Home, account: &Account, sync: Sync) -> Result<Self> {
        let initdb = account
            .command(&programs.join("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=folkmoot"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(home.data())
            .current_dir(&home.folder)
            .stdin(Stdio::null())
            .output()
            .context("cannot start initdb")?;
        if !initdb.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&initdb.stderr).trim());
        }

        let log = fs::File::create(home.log())?;
        let mut postgres = account.command(&programs.join("postgres"));
        postgres.arg("-D").arg(home.data());
        for setting in [
            "listen_addresses=",
            "port=5432",
            "max_connections=300",
            &format!("unix_socket_directories={}", home.socket().display()),
            match sync {
                Sync::Off => "fsync=off",
                Sync::On => "fsync=on",
            },
        ] {
            postgres.args(["-c", setting]);
        }
        let postgres = postgres
            .current_dir(&home.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot start postgres")?;
        let mut server = Self { postgres };
        server.wait_until_ready(home)?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, home: &Home) -> Result<()> {
        let since = Instant::now();
        while since.elapsed() < START_LIMIT {
            if says_ready(&home.data()) {
                return Ok(());
            }
            if let Some(status) = self.postgres.try_wait()? {
                let log = fs::read_to_string(home.log()).unwrap_or_default();
                bail!("postgres ended with {status}:\n{}", log.trim());
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("postgres is not ready after {START_LIMIT:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT is PostgreSQL's fast shutdown, which does not wait for clients. std supports only
        // SIGKILL.
        let interrupted = Command::new("sh")
            .args(["-c", "kill -INT \"$1\"", "sh"])
            .arg(self.postgres.id().to_string())
            .stderr(Stdio::null())
            .status();
        if interrupted.is_ok_and(|status| status.success()) {
            let since = Instant::now();
            while since.elapsed() < STOP_LIMIT {
                if !matches!(self.postgres.try_wait(), Ok(None)) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        // In case it had ended already, or does not react.
        let _ = self.postgres.kill();
        let _ = self.postgres.wait();
    }
}

/// The eighth line of `postmaster.pid` is PostgreSQL's status.
fn says_ready(data: &Path) -> bool {
    fs::read_to_string(data.join("postmaster.pid"))
        .is_ok_and(|text| text.lines().nth(7).is_some_and(|status| status.trim() == "ready"))
}

fn empty(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
