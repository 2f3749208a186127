//! The real server in a process of its own, on a folder of its own.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Tokens that every server here has.
pub(crate) const TOKENS: &str = "admin:you=your-token-0123456789,admin:root=root-token-0123456789,\
                                 reviewer:alice=alice-token-0123456789,reviewer:bob=bob-token-0123456789,\
                                 agent:robot=robot-token-0123456789";
/// A token that was made for scripts, in the name of whoever owns the folder.
pub(crate) const YOURS: &str = "your-token-0123456789";
/// That token where no server was told of the others.
pub(crate) const OWNERS_TOKEN: &str = "admin:you=your-token-0123456789";
pub(crate) const ALICE: &str = "alice-token-0123456789";
pub(crate) const ROBOT: &str = "robot-token-0123456789";

/// What lies in a data folder where the owner has made that token, and nothing else has happened.
/// Not the server's key: each folder makes its own.
static WITH_YOURS: LazyLock<[(&str, Vec<u8>); 2]> = LazyLock::new(|| {
    let data = tempfile::tempdir().expect("a temporary folder");
    let only_yours = |command: &mut Command| {
        command.env("FOLKMOOT_BOOTSTRAP_TOKENS", OWNERS_TOKEN);
    };
    let (_, data) = Server::start_with(data, only_yours).terminate_and_keep();
    ["folkmoot.db", "tokens.json"]
        .map(|name| (name, std::fs::read(data.path().join(name)).expect("a server leaves it behind")))
});

/// A data folder whose owner has made [`YOURS`].
pub(crate) fn with_yours() -> TempDir {
    let data = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in &*WITH_YOURS {
        std::fs::write(data.path().join(name), content).expect("it can be written");
    }
    data
}

/// How long anything here may take before the test fails, also on a machine that compiles something
/// beside it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// A server. Killed when dropped, by its process id alone.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) data: TempDir,
}

impl Server {
    /// Starts one on a new folder and waits until it is ready.
    pub(crate) fn start() -> Self {
        Self::start_in(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Starts one on a folder that may have been used before.
    pub(crate) fn start_in(data: TempDir) -> Self {
        Self::start_with(data, |_| {})
    }

    /// As [`Server::start_in`], with what `prepare` adds to the command.
    pub(crate) fn start_with(data: TempDir, prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = folkmoot(data.path());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("FOLKMOOT_BOOTSTRAP_TOKENS", TOKENS)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        prepare(&mut command);
        let child = command.spawn().expect("the server starts");
        let pid = child.id();
        let url = eventually("the server is ready", || {
            let file = std::fs::read(data.path().join("server.json")).ok()?;
            let server: Value = serde_json::from_slice(&file).ok()?;
            (server["pid"] == pid).then(|| server["url"].as_str().map(str::to_owned))?
        });
        Self { child, url, data }
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with SIGKILL and gives the folder back.
    pub(crate) fn kill(mut self) -> TempDir {
        self.end();
        std::mem::replace(&mut self.data, tempfile::tempdir().expect("a temporary folder"))
    }

    /// Asks it to end, and returns its exit code.
    pub(crate) fn terminate(self) -> Option<i32> {
        self.terminate_and_keep().0
    }

    /// As [`Server::terminate`], and gives the folder back.
    pub(crate) fn terminate_and_keep(mut self) -> (Option<i32>, TempDir) {
        signal(self.pid(), "TERM");
        let code = self.child.wait().expect("the server ends").code();
        (code, std::mem::replace(&mut self.data, tempfile::tempdir().expect("a temporary folder")))
    }

    fn end(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The executable on one data folder, with nothing of this machine's own settings.
pub(crate) fn folkmoot(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    clean(&mut command, data).stdin(Stdio::null());
    command
}

/// Takes away what the developer's own environment says of Folkmoot, models and their keys, and
/// names a data folder.
pub(crate) fn clean<'a>(command: &'a mut Command, data: &Path) -> &'a mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let own = ["FOLKMOOT_", "OTEL_", "OLLAMA_"].iter().any(|prefix| text.starts_with(prefix));
        let vendors = ["_API_KEY", "_BASE_URL"].iter().any(|suffix| text.ends_with(suffix));
        if own || vendors || matches!(&*text, "RUST_LOG" | "NO_COLOR" | "APPROVAL_GATES") {
            command.env_remove(&name);
        }
    }
    command.env("FOLKMOOT_DATA", data).env("USER", "you")
}

/// As [`folkmoot`], with these arguments; and where they decide something, with a token that was
/// made for a script, because no person is here.
pub(crate) fn folkmoot_with(data: &Path, arguments: &[&str]) -> Command {
    let mut command = folkmoot(data);
    command.args(arguments);
    if decides(arguments) {
        command.env("FOLKMOOT_TOKEN", YOURS);
    }
    command
}

/// Whether a verb says something in a person's name.
fn decides(arguments: &[&str]) -> bool {
    let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
    let (verb, next) = (words.next().copied().unwrap_or_default(), words.next().copied().unwrap_or_default());
    let has = |flag: &str| arguments.contains(&flag);
    match verb {
        "approve" | "reject" | "adjust" | "pause" | "answer" | "deny" | "lift" | "halt" | "erase" => true,
        "resume" | "cancel" => !has("agent"),
        "token" | "webhook" | "delivery" | "notify" => next != "list" && next != "show",
        "question" => matches!(next, "skip" | "cancel") && !has("agent"),
        "debate" => {
            next == "cancel" || ["--repository", "--on-rejected", "--correct", "--remove"].iter().any(|flag| has(flag))
        }
        "gate" | "start" | "end" => has("--as") && has("you"),
        _ => false,
    }
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill -{name} {pid}");
}

/// Asks until there is an answer.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < TEST_TIMEOUT, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
