//! A PostgreSQL of our own that can be stopped and started. The one that `cargo xtask test` brings
//! is everybody's.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::server::signal;

/// How it is told to end: as an administrator does, or as a crash does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    Fast,
    Immediate,
}

/// Ended when it is dropped.
pub(super) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    /// Whom the programs run as: PostgreSQL refuses to be root.
    owner: (u32, u32),
    postgres: Option<Child>,
}

impl Cluster {
    /// Made with the programs of the cluster that there is; `None` where there is none, which is
    /// said.
    pub(super) async fn start() -> Option<Self> {
        let url = super::postgres::url()?;
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("it answers");
        let connection = tokio::spawn(connection);
        let row = client.query_one("SHOW data_directory", &[]).await.expect("it has a folder");
        connection.abort();
        let data = PathBuf::from(row.get::<_, String>(0));
        let pid = std::fs::read_to_string(data.join("postmaster.pid")).expect("it runs");
        let program =
            std::fs::read_link(format!("/proc/{}/exe", pid.lines().next().expect("a line"))).expect("it runs");
        let owner = data.metadata().expect("a folder");
        let mut cluster = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            programs: program.parent().expect("a folder").to_owned(),
            owner: (owner.uid(), owner.gid()),
            postgres: None,
        };
        std::fs::set_permissions(cluster.folder.path(), std::fs::Permissions::from_mode(0o711)).expect("it is ours");
        for folder in [cluster.data(), cluster.socket()] {
            std::fs::create_dir(&folder).expect("a folder");
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
            chown(&folder, Some(cluster.owner.0), Some(cluster.owner.1)).expect("it is ours");
        }
        let made = cluster
            .command("initdb")
            .args(["--no-sync", "--auth=trust", "--username=folkmoot", "--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(cluster.data())
            .output()
            .expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        cluster.resume();
        Some(cluster)
    }

    /// Where it is found.
    pub(super) fn database(&self) -> String {
        format!("host={} user=folkmoot dbname=postgres", self.socket().display())
    }

    /// A plain connection, which ends when the client is dropped.
    pub(super) async fn connect(&self) -> tokio_postgres::Client {
        let connecting = tokio_postgres::connect(&self.database(), tokio_postgres::NoTls).await;
        let (client, connection) = connecting.expect("it answers");
        tokio::spawn(connection);
        client
    }

    /// Changes a setting of the whole cluster, and returns when new sessions have it.
    pub(super) async fn set(&self, setting: &str, value: &str) {
        let client = self.connect().await;
        client.batch_execute(&format!("ALTER SYSTEM SET {setting} = '{value}'")).await.expect("it is set");
        client.batch_execute("SELECT pg_reload_conf()").await.expect("it is read");
        super::eventually(async || {
            let row =
                self.connect().await.query_one("SELECT current_setting($1)", &[&setting]).await.expect("an answer");
            (row.get::<_, String>(0) == value).then_some(())
        })
        .await;
    }

    /// A program that is not PostgreSQL's own, run by the same user, in a folder that this user can
    /// write to.
    pub(super) fn other(&self, program: &Path) -> (Command, PathBuf) {
        (self.command(program.to_str().expect("a path")), self.socket())
    }

    /// Starts it, and returns when it takes connections.
    pub(super) fn resume(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data());
        let socket = format!("unix_socket_directories={}", self.socket().display());
        for setting in ["listen_addresses=", "port=5432", "max_connections=100", "fsync=off", &socket] {
            command.args(["-c", setting]);
        }
        let log = std::fs::File::options().create(true).append(true).open(self.folder.path().join("log"));
        let child = command.stderr(log.expect("a log")).spawn().expect("postgres starts");
        self.postgres = Some(child);
        let begun = Instant::now();
        while !says_ready(&self.data()) {
            assert!(begun.elapsed() < Duration::from_secs(120), "postgres is not ready");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it, and returns when it is gone.
    pub(super) fn stop(&mut self, how: Stop) {
        let Some(mut postgres) = self.postgres.take() else { return };
        signal(
            postgres.id(),
            match how {
                Stop::Fast => "INT",
                Stop::Immediate => "QUIT",
            },
        );
        postgres.wait().expect("it is ours");
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = Command::new("setpriv");
        if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            let (uid, gid) = self.owner;
            command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
        }
        // It goes when whoever runs this test is killed.
        command.args(["--pdeathsig=QUIT", "--"]).arg(program);
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop(Stop::Immediate);
    }
}

/// The eighth line of `postmaster.pid` is PostgreSQL's own word for it.
fn says_ready(data: &Path) -> bool {
    std::fs::read_to_string(data.join("postmaster.pid"))
        .is_ok_and(|text| text.lines().nth(7).is_some_and(|status| status.trim() == "ready"))
}
