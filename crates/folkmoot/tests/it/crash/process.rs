//! A server in a process of its own, on a folder that outlives it.

use std::{
    fs::File,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use folkmoot_api::{Client, wire::ServerFile};
use tempfile::TempDir;

use crate::server::{TEST_TIMEOUT, TOKENS, folkmoot};

/// Where servers are started, one after the other.
pub(super) struct Home {
    folder: TempDir,
    pub(super) database: Option<String>,
    pub(super) listen: SocketAddr,
    /// What its servers find in their environment beside the usual.
    pub(super) environment: Vec<(&'static str, String)>,
}

/// A server that may not be ready yet.
struct Spawned {
    child: Child,
    log: PathBuf,
}

/// A server that runs. Killed when dropped, by its process id alone.
pub(super) struct Process {
    child: Child,
    pub(super) client: Client,
    log: PathBuf,
}

impl Home {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("data")).expect("a folder");
        Self { folder, database: None, listen: SocketAddr::from(([127, 0, 0, 1], 0)), environment: Vec::new() }
    }

    pub(super) fn on(database: &str) -> Self {
        Self { database: Some(database.to_owned()), ..Self::new() }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a server, waits until it is ready, and gives it.
    pub(super) async fn start(&self) -> Process {
        self.start_under(&[]).await
    }

    /// As [`Home::start`], with `strace` and its arguments before the command; none means without.
    pub(super) async fn start_under(&self, strace: &[String]) -> Process {
        let Spawned { mut child, log } = self.spawn(strace);
        let begun = Instant::now();
        loop {
            let found: Option<ServerFile> =
                std::fs::read(self.data().join("server.json")).ok().and_then(|file| serde_json::from_slice(&file).ok());
            if let Some(server) = found.filter(|server| server.pid == child.id()) {
                let client = Client::new(&server.url, "").expect("a client");
                return Process { child, client, log };
            }
            let ended = child.try_wait().expect("it is ours");
            if ended.is_some() || begun.elapsed() > TEST_TIMEOUT {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the server does not start ({ended:?}): {}", std::fs::read_to_string(log).unwrap_or_default());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Starts a server that ends by itself before it is ready, and says what all servers of this
    /// home have said.
    pub(super) async fn does_not_start(&self) -> String {
        let Spawned { mut child, log } = self.spawn(&[]);
        let begun = Instant::now();
        while child.try_wait().expect("it is ours").is_none() {
            if begun.elapsed() > TEST_TIMEOUT {
                let _ = child.kill();
                let _ = child.wait();
                panic!("it neither starts nor ends: {}", std::fs::read_to_string(log).unwrap_or_default());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        std::fs::read_to_string(log).unwrap_or_default()
    }

    /// Starts a server and kills it, whether or not it is ready by then.
    pub(super) async fn start_and_kill(&self, after: Duration) {
        let Spawned { mut child, log } = self.spawn(&[]);
        tokio::time::sleep(after).await;
        let ended = child.try_wait().expect("it is ours");
        let _ = child.kill();
        let _ = child.wait();
        assert!(ended.is_none(), "it does not start ({ended:?}): {}", std::fs::read_to_string(log).unwrap_or_default());
    }

    fn spawn(&self, strace: &[String]) -> Spawned {
        let log = self.folder.path().join("log");
        Spawned { child: self.command(strace, &log).spawn().expect("the server starts"), log }
    }

    fn command(&self, strace: &[String], log: &PathBuf) -> Command {
        let server = folkmoot(&self.data());
        let mut command = match strace {
            [] => server,
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(server.get_program());
                for (name, value) in server.get_envs() {
                    match value {
                        Some(value) => command.env(name, value),
                        None => command.env_remove(name),
                    };
                }
                command
            }
        };
        command.args(["serve", "--listen", &self.listen.to_string()]);
        command.args(self.database.iter().flat_map(|database| ["--database", database]));
        command
            .env("FOLKMOOT_BOOTSTRAP_TOKENS", TOKENS)
            .env("FOLKMOOT_RATE_LIMIT", "1000000")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::options().create(true).append(true).open(log).expect("a log"));
        command
    }
}

impl Process {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn client(&self, token: &str) -> Client {
        self.client.with_token(token)
    }

    /// SIGKILL: it cannot do anything about it.
    pub(super) fn kill(mut self) {
        self.end();
    }

    /// Waits until it has ended by itself, but not for ever.
    pub(super) async fn ended(&mut self, patience: Duration) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status;
            }
            assert!(begun.elapsed() < patience, "it still runs after {patience:?}: {}", self.said());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What all servers of this home have said on stderr.
    pub(super) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn end(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
