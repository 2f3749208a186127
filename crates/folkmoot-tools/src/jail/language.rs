//! Programs in several languages: tool chains, commands and limits.
//!
//! A tool chain counts as installed only after it has run in the jail. Without one, nothing is
//! executed and nothing passes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::io::AsyncReadExt;

use super::{Jail, JailError, JailJob, JailLimits, JobEnd, JobReport, Profile, Readable, check};
use crate::child::{self, ProcessSpec};

#[cfg(test)]
mod tests;

folkmoot_core::vocabulary! {
    /// A language that programs in the jail can be written in.
    pub enum ProgramLanguage {
        /// Python 3.
        Python = "python",
        /// JavaScript, by Node.js.
        JavaScript = "javascript",
        /// Rust, one file without dependencies.
        Rust = "rust",
        /// Go, one file without dependencies.
        Go = "go",
        /// Bash.
        Bash = "bash",
    }
}

impl ProgramLanguage {
    /// Parses a name, or what models usually write before a code block.
    ///
    /// # Errors
    /// If it cannot be executed.
    pub fn named(name: &str) -> Result<Self, JailError> {
        let name = name.trim().to_ascii_lowercase();
        let word = match name.as_str() {
            "py" | "python3" => "python",
            "js" | "node" | "nodejs" | "mjs" => "javascript",
            "rs" => "rust",
            "golang" => "go",
            "sh" | "shell" => "bash",
            other => other,
        };
        word.parse().map_err(|unknown| {
            JailError::Invalid(format!("no program in that language can be executed here: {unknown}"))
        })
    }

    /// The name of its file.
    fn file(self) -> &'static str {
        match self {
            Self::Python => "main.py",
            Self::JavaScript => "main.mjs",
            Self::Rust => "main.rs",
            Self::Go => "main.go",
            Self::Bash => "main.sh",
        }
    }

    fn how_to_get(self) -> &'static str {
        match self {
            Self::Python => "there is no Python 3 here that runs in the jail; install the package python3",
            Self::JavaScript => {
                "there is no Node.js here that runs in the jail; install the package nodejs, or from https://nodejs.org"
            }
            Self::Rust => {
                "there is no Rust here that runs in the jail; install it from https://rustup.rs, and a C compiler to link with (the package gcc)"
            }
            Self::Go => {
                "there is no Go here that runs in the jail; install the package golang, or from https://go.dev/dl"
            }
            Self::Bash => "there is no Bash here that runs in the jail; install the package bash",
        }
    }

    /// The default limits for its programs.
    pub fn limits(self) -> JailLimits {
        let code = JailLimits::of(Profile::Code);
        match self {
            Self::JavaScript => JailLimits { memory_bytes: 1 << 30, ..code },
            Self::Python | Self::Rust | Self::Go | Self::Bash => code,
        }
    }

    /// The limits for its compiler.
    fn compiler_limits() -> JailLimits {
        JailLimits {
            wall: Duration::from_secs(120),
            cpu: Duration::from_secs(240),
            memory_bytes: 2 << 30,
            processes: 256,
            disk_bytes: 512 << 20,
            open_files: 1024,
            output_bytes: COMPILED_BYTES_MAX,
        }
    }
}

/// Larger than any reasonable program.
const COMPILED_BYTES_MAX: usize = 64 << 20;
const COMPILED: &str = "program";

/// One file of code with its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub language: ProgramLanguage,
    pub source: String,
    pub arguments: Vec<String>,
    pub stdin: Vec<u8>,
    /// Additional files.
    pub files: Vec<(String, Vec<u8>)>,
    /// The limits when it runs. Compilers have their own.
    pub limits: JailLimits,
}

impl Program {
    /// Code with the default limits.
    pub fn new(language: ProgramLanguage, source: impl Into<String>) -> Self {
        Self {
            language,
            source: source.into(),
            arguments: Vec::new(),
            stdin: Vec::new(),
            files: Vec::new(),
            limits: language.limits(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Execution {
    /// It did not compile, so nothing ran.
    NotCompiled(JobReport),
    /// It ran, successfully or not.
    Ran(JobReport),
}

/// A tool chain, as a job sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolChain {
    pub version: String,
    program: String,
    readable: Vec<Readable>,
    environment: BTreeMap<String, String>,
}

impl ToolChain {
    /// Its folder on this machine, unless it is in the system's folders.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.readable.first().map(|readable| readable.host.as_path())
    }

    /// Makes it readable for another job, and puts it first in its `PATH`.
    pub fn lend(&self, job: &mut JailJob) {
        job.readable.extend(
            self.readable.iter().filter(|readable| !job.readable.contains(readable)).cloned().collect::<Vec<_>>(),
        );
        job.environment.extend(self.environment.clone());
        if let Some(folder) = Path::new(&self.program).parent().and_then(Path::to_str) {
            let rest = job.environment.get("PATH").map_or(super::PATH, String::as_str);
            let path = format!("{folder}:{rest}");
            job.environment.insert("PATH".to_owned(), path);
        }
    }

    fn job<S: Into<String>>(&self, arguments: impl IntoIterator<Item = S>, limits: JailLimits) -> JailJob {
        let command = std::iter::once(self.program.clone()).chain(arguments.into_iter().map(Into::into));
        JailJob {
            readable: self.readable.clone(),
            environment: self.environment.clone(),
            limits,
            ..JailJob::new(Profile::Code, command)
        }
    }
}

impl Jail {
    /// Compiles a program if necessary, and runs it.
    ///
    /// # Errors
    /// As [`Jail::run`], and [`JailError::Missing`] if there is no tool chain.
    pub async fn execute(&self, program: Program) -> Result<Execution, JailError> {
        let chain = self.tool_chain(program.language).await?;
        let file = program.language.file();
        let mut files = program.files.clone();
        files.push((file.to_owned(), program.source.clone().into_bytes()));
        let compiler: &[&str] = match program.language {
            ProgramLanguage::Python | ProgramLanguage::JavaScript | ProgramLanguage::Bash => {
                let arguments = std::iter::once(file.to_owned()).chain(program.arguments);
                let job = JailJob { files, stdin: program.stdin, ..chain.job(arguments, program.limits) };
                return Ok(Execution::Ran(self.run(job).await?));
            }
            ProgramLanguage::Rust => &["--edition", "2024", "-C", "opt-level=1", "-o", COMPILED, file],
            // Go compiles only the files it is given.
            ProgramLanguage::Go => &["build", "-o", COMPILED, file],
        };
        let beside = program.files.iter().map(|(name, _)| name.as_str());
        let beside = beside.filter(|name| program.language == ProgramLanguage::Go && name.ends_with(".go"));
        let compiler: Vec<&str> = compiler.iter().copied().chain(beside).collect();
        let compiling = JailJob {
            files,
            keep: vec![COMPILED.to_owned()],
            ..chain.job(compiler, ProgramLanguage::compiler_limits())
        };
        let mut report = self.run(compiling).await?;
        let Some(compiled) = report.kept.remove(COMPILED).filter(|_| report.end == JobEnd::Exited(0)) else {
            return Ok(Execution::NotCompiled(report));
        };
        if compiled.len() >= COMPILED_BYTES_MAX {
            return Err(JailError::Invalid(format!("the compiled program has more than {COMPILED_BYTES_MAX} bytes")));
        }
        let starter = format!("chmod 700 {COMPILED} && exec ./{COMPILED} \"$@\"");
        let command =
            ["sh".to_owned(), "-c".to_owned(), starter, COMPILED.to_owned()].into_iter().chain(program.arguments);
        let mut files = program.files;
        files.push((COMPILED.to_owned(), compiled));
        let job =
            JailJob { files, stdin: program.stdin, limits: program.limits, ..JailJob::new(Profile::Code, command) };
        Ok(Execution::Ran(self.run(job).await?))
    }

    /// The tool chain of a language, after it has run in the jail.
    ///
    /// # Errors
    /// [`JailError::Missing`] if there is none; says how to install one.
    pub async fn tool_chain(&self, language: ProgramLanguage) -> Result<ToolChain, JailError> {
        let mut known = self.walls.languages.lock().await;
        if let Some(chain) = known.get(&language) {
            return Ok(chain.clone());
        }
        let mut why = Vec::new();
        for found in candidates(language, &search_path()).await {
            match self.try_out(language, found).await {
                Ok(chain) => {
                    known.insert(language, chain.clone());
                    return Ok(chain);
                }
                Err(JailError::Missing(reason)) => why.push(reason),
                Err(error) => return Err(error),
            }
        }
        let tried = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        Err(JailError::Missing(format!("{}{tried}", language.how_to_get())))
    }

    async fn try_out(&self, language: ProgramLanguage, found: ToolChain) -> Result<ToolChain, JailError> {
        let asking = if language == ProgramLanguage::Go { "version" } else { "--version" };
        let report = self.run(found.job([asking], ProgramLanguage::compiler_limits())).await?;
        if report.end != JobEnd::Exited(0) {
            let said = String::from_utf8_lossy(&report.stderr).trim().chars().take(200).collect::<String>();
            return Err(JailError::Missing(format!("{} {asking} ended with {:?}: {said}", found.program, report.end)));
        }
        if language == ProgramLanguage::Rust {
            let linker = self.run(JailJob::new(Profile::Code, ["cc", "--version"])).await?;
            if linker.end != JobEnd::Exited(0) {
                return Err(JailError::Missing("cc, the linker, does not run".to_owned()));
            }
        }
        let version = String::from_utf8_lossy(&report.stdout).lines().next().unwrap_or_default().trim().to_owned();
        Ok(ToolChain { version, ..found })
    }
}

/// Where to search: first where every job can see it.
fn search_path() -> Vec<PathBuf> {
    let system = ["/usr/bin", "/usr/local/bin", "/bin"].map(PathBuf::from).into_iter();
    let own = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo/bin"));
    system
        .chain(own)
        .chain(home)
        .chain([PathBuf::from("/usr/local/go/bin")])
        .filter(|path| path.is_absolute())
        .collect()
}

/// Candidates for tool chains, each as it would be in the jail.
async fn candidates(language: ProgramLanguage, search: &[PathBuf]) -> Vec<ToolChain> {
    let name = match language {
        ProgramLanguage::Python => "python3",
        ProgramLanguage::JavaScript => "node",
        ProgramLanguage::Rust => "rustc",
        ProgramLanguage::Go => "go",
        ProgramLanguage::Bash => "bash",
    };
    let mut found = Vec::<ToolChain>::new();
    for program in search.iter().map(|folder| folder.join(name)).filter(|program| program.is_file()) {
        if let Some(chain) = at_home(language, name, &program).await
            && !found.contains(&chain)
        {
            found.push(chain);
        }
    }
    found
}

/// The complete tool chain of a program. Programs in `PATH` are often only launchers.
async fn at_home(language: ProgramLanguage, name: &str, program: &Path) -> Option<ToolChain> {
    let mut environment = BTreeMap::new();
    if language == ProgramLanguage::Go {
        for (variable, value) in [
            ("GOCACHE", "/tmp/go-cache"),
            ("GOPATH", "/tmp/go"),
            ("GOTOOLCHAIN", "local"),
            ("CGO_ENABLED", "0"),
            ("GO111MODULE", "off"),
        ] {
            environment.insert(variable.to_owned(), value.to_owned());
        }
    }
    let system = |program: &Path| program.starts_with("/usr") || program.starts_with("/bin");
    // Rust in the system's folders can be a launcher for rustup too.
    let real = std::fs::canonicalize(program).ok()?;
    if system(program) && system(&real) && language != ProgramLanguage::Rust {
        let program = program.to_str()?.to_owned();
        return Some(ToolChain { version: String::new(), program, readable: Vec::new(), environment });
    }
    let home = match language {
        ProgramLanguage::Python => ask(program, &["-c", "import sys; print(sys.base_prefix)"]).await?,
        ProgramLanguage::Rust => ask(program, &["--print", "sysroot"]).await?,
        ProgramLanguage::Go => ask(program, &["env", "GOROOT"]).await?,
        ProgramLanguage::JavaScript => real.parent()?.parent()?.to_owned(),
        ProgramLanguage::Bash => return None,
    };
    if !home.join("bin").join(name).is_file() {
        return None;
    }
    if home.starts_with("/usr") {
        let program = home.join("bin").join(name).to_str()?.to_owned();
        return Some(ToolChain { version: String::new(), program, readable: Vec::new(), environment });
    }
    let elsewhere = Path::new("/opt").join(language.word());
    // Python may search for its library at its build path, and would take the system's other
    // version.
    let same = Readable { host: home.clone(), inside: home.clone() };
    let inside =
        if language == ProgramLanguage::Python && check::readable(&same).is_ok() { home.clone() } else { elsewhere };
    if language == ProgramLanguage::Python {
        environment.insert("PYTHONHOME".to_owned(), inside.to_str()?.to_owned());
    }
    let program = inside.join("bin").join(name).to_str()?.to_owned();
    Some(ToolChain { version: String::new(), program, readable: vec![Readable { host: home, inside }], environment })
}

/// The longest path that a tool chain may answer with.
const ANSWER_BYTES: u64 = 4096;
/// Variables that say where a user's tool chains are. Others may hold keys, and are not passed on.
const PLACES: [&str; 5] = ["CARGO_HOME", "GOROOT", "PYENV_ROOT", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];

/// Asks a user's program, outside the jail, where it is installed.
async fn ask(program: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let command: Vec<String> =
        std::iter::once(program.to_str()?).chain(arguments.iter().copied()).map(str::to_owned).collect();
    let place = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    let mut environment: BTreeMap<String, String> = PLACES.iter().filter_map(place).collect();
    // rustup would download a whole tool chain otherwise.
    environment.insert("RUSTUP_AUTO_INSTALL".to_owned(), "0".to_owned());
    // The working folder is not ours: a project's file could choose the tool chain.
    let spec = ProcessSpec { command: &command, environment: &environment, folder: Path::new("/") };
    let mut child = child::start(&spec).ok()?;
    child.stdin = None;
    let mut answer = String::new();
    let answered = async {
        child.stdout.take()?.take(ANSWER_BYTES).read_to_string(&mut answer).await.ok()?;
        child.wait().await.ok()
    };
    let status = tokio::time::timeout(Duration::from_secs(10), answered).await.ok()??;
    let home = PathBuf::from(answer.trim());
    (status.success() && home.is_absolute()).then_some(home)
}
