//! Runs one git command, isolated and limited, and reads its output.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::{ffi::OsStringExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    time::timeout,
};

use super::{GitError, GitLimits, guard, os};

/// How much of git's stderr is kept.
const STDERR_BYTES_MAX: usize = 4096;
/// How long git may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// The first git that takes all settings from variables. An older one would silently ignore the
/// guards.
const OLDEST: (u32, u32) = (2, 32);

/// Commands that use only names and ids, read no files and change no references, so neither drivers
/// nor hooks apply. `write-tree` is not among them: if a file is as new as the index, it compares
/// both and runs the clean filter.
const WITHOUT_DRIVERS: &[&str] = &["check-ref-format", "for-each-ref", "rev-parse"];

/// The git program and its limits.
#[derive(Clone, Debug)]
pub(super) struct Git {
    pub(super) program: PathBuf,
    pub limits: GitLimits,
}

/// The repository and folder of a git command. They are always explicit, never searched for.
#[derive(Clone, Debug)]
pub(super) struct GitLocation {
    pub git_dir: PathBuf,
    pub work_tree: PathBuf,
    /// Hides the index of that git folder.
    pub no_index: bool,
}

/// A git command to execute.
#[derive(Debug)]
pub(super) struct GitCommand {
    place: GitLocation,
    arguments: Vec<OsString>,
    stdin: Option<File>,
    environment: Vec<(&'static str, String)>,
    output_bytes: Option<usize>,
}

impl GitCommand {
    pub(super) fn new<const N: usize>(place: &GitLocation, arguments: [&str; N]) -> Self {
        Self {
            place: place.clone(),
            arguments: os(&arguments),
            stdin: None,
            environment: Vec::new(),
            output_bytes: None,
        }
    }

    pub(super) fn with(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(super) fn stdin(mut self, file: File) -> Self {
        self.stdin = Some(file);
        self
    }

    pub(super) fn environment(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Returns only the first `bytes` of longer output.
    pub(super) fn cut_at(mut self, bytes: usize) -> Self {
        self.output_bytes = Some(bytes);
        self
    }
}

/// The output of a git command.
#[derive(Debug)]
pub(super) struct GitOutput {
    command: String,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub cut: bool,
    pub stderr: String,
}

impl GitOutput {
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    pub(super) fn failed(self) -> GitError {
        let stderr = match (self.stderr.is_empty(), self.code) {
            (false, _) => self.stderr,
            (true, Some(code)) => format!("it ended with code {code}"),
            (true, None) => "a signal ended it".to_owned(),
        };
        GitError::Failed { command: self.command, stderr }
    }
}

impl Git {
    /// Finds git on PATH, but not in the current folder.
    pub(super) async fn find(limits: GitLimits) -> Result<Self, GitError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("git"))
            .find(|file| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0))
            .ok_or_else(|| GitError::Missing("there is none on the PATH".into()))?;
        let git = Self { program, limits };
        let answer = git.execute(git.command(Path::new("/"), &os(&["version"]), Vec::new()), "version", 4096).await?;
        let version = answer.line();
        match numbers(&version) {
            Some(found) if found >= OLDEST => Ok(git),
            _ => Err(GitError::Missing(format!("{} says {version:?}", git.program.display()))),
        }
    }

    /// Runs a command that must succeed.
    pub(super) async fn run(&self, call: GitCommand) -> Result<GitOutput, GitError> {
        let may_cut = call.output_bytes.is_some();
        let answer = self.ask(call).await?;
        match answer.code {
            _ if answer.cut && may_cut => Ok(answer),
            Some(0) => Ok(answer),
            _ => Err(answer.failed()),
        }
    }

    /// Runs a command that may fail.
    pub(super) async fn ask(&self, call: GitCommand) -> Result<GitOutput, GitError> {
        let place = &call.place;
        let within = |arguments: &[OsString], settings| {
            let mut command = self.command(&place.work_tree, arguments, settings);
            command.env("GIT_DIR", &place.git_dir).env("GIT_WORK_TREE", &place.work_tree);
            if place.no_index {
                command.env("GIT_INDEX_FILE", place.work_tree.join("no-index"));
            }
            command
        };
        let verb = call.arguments.first().map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default();
        let mut off = Vec::new();
        if !WITHOUT_DRIVERS.contains(&verb.as_str()) {
            off = self
                .drivers_off(within(&os(&["config", "--list", "--includes", "--name-only", "-z"]), Vec::new()))
                .await?;
        }
        let mut command = within(&call.arguments, off);
        command.envs(call.environment);
        if let Some(file) = call.stdin {
            command.stdin(file);
        }
        let answer = self.execute(command, &verb, call.output_bytes.unwrap_or(self.limits.output_bytes)).await?;
        if answer.cut && call.output_bytes.is_none() {
            return Err(GitError::TooLarge(format!(
                "`git {verb}` printed more than {} bytes; ask for less",
                self.limits.output_bytes
            )));
        }
        Ok(answer)
    }

    /// Settings that disable the drivers in the configuration. Reading it executes nothing.
    async fn drivers_off(&self, command: Command) -> Result<Vec<(OsString, OsString)>, GitError> {
        let keys = self.execute(command, "config", self.limits.output_bytes).await?;
        match keys.code {
            _ if keys.cut => Err(GitError::TooLarge("the repository's configuration is too large".into())),
            Some(0) => guard::drivers_off(&keys.stdout),
            _ => Err(keys.failed()),
        }
    }

    /// Asks git for a path of the repository at `folder`. The only command that searches for a
    /// repository.
    pub(super) async fn discover(&self, folder: &Path, arguments: &[&str]) -> Result<Option<PathBuf>, GitError> {
        // The user named this folder, so its owner does not matter; other folders' owners do.
        let trusted = vec![("safe.directory".into(), folder.as_os_str().to_owned())];
        let command = self.command(folder, &os(arguments), trusted);
        let answer = self.execute(command, arguments[0], 64 << 10).await?;
        if answer.code == Some(0) {
            let mut path = answer.stdout;
            path.pop_if(|byte| *byte == b'\n');
            return Ok(Some(OsString::from_vec(path).into()));
        }
        let known = ["not a git repository", "must be run in a work tree"];
        if answer.stderr.contains("dubious ownership") {
            return Err(GitError::Invalid(format!(
                "the repository around {} belongs to somebody else; name its top folder to say that you mean it",
                folder.display()
            )));
        }
        if known.iter().any(|words| answer.stderr.contains(words)) { Ok(None) } else { Err(answer.failed()) }
    }

    fn command(&self, folder: &Path, arguments: &[OsString], settings: Vec<(OsString, OsString)>) -> Command {
        let fixed = guard::SETTINGS.iter().map(|(key, value)| (key.into(), value.into()));
        let mut command = Command::new(&self.program);
        command
            .args(["--no-pager", "--literal-pathspecs"])
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(guard::variables(fixed.chain(settings)))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // An empty home.
            .env("HOME", "/dev/null")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            // No transport at all. Stronger than `protocol.allow`, which the repository could
            // override for one protocol.
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_NO_LAZY_FETCH", "1")
            // Show the actual objects, not replacements.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn execute(&self, mut command: Command, verb: &str, bytes_max: usize) -> Result<GitOutput, GitError> {
        let failed = |error| GitError::io(format!("git {verb} could not be executed"), error);
        let mut child = Running(Some(command.spawn().map_err(failed)?));
        let work = async {
            let Some(child) = &mut child.0 else { return Err(std::io::ErrorKind::NotFound.into()) };
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            // When the reader has enough, its pipe closes, and git ends.
            let (stdout, stderr) = tokio::join!(beginning(stdout, bytes_max), all_but_keep(stderr, STDERR_BYTES_MAX));
            std::io::Result::Ok((stdout?, stderr?, child.wait().await?))
        };
        let limit = self.limits.time;
        let done = timeout(limit, work).await;
        let (mut stdout, stderr, status) =
            done.map_err(|_| GitError::TimedOut { command: verb.to_owned(), limit })?.map_err(failed)?;
        let cut = stdout.len() > bytes_max;
        stdout.truncate(bytes_max);
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        Ok(GitOutput { command: verb.to_owned(), code: status.code(), stdout, cut, stderr })
    }
}

/// Ends git when it is dropped: first with SIGTERM, so that git removes its locks, which the user's
/// own git may share; then with SIGKILL.
#[derive(Debug)]
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        // There is no id after it was waited for.
        let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        runtime.spawn(async move {
            if timeout(GRACE, child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        });
    }
}

/// Reads at most one byte more, to detect that there is more.
async fn beginning(pipe: Option<impl AsyncRead + Unpin>, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(bytes_max as u64 + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

async fn all_but_keep(pipe: Option<impl AsyncRead + Unpin>, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(bytes_max as u64).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// The first two numbers of `git version 2.47.3`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split_whitespace().nth(2)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
