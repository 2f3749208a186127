//! Tool chains as the jail shows them, and a command that is looked for among them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::jail::{End, Jail, JailError, Job, Language, Profile, Readable, Report};

/// What a shell says when there is no such program.
const NOT_FOUND: i32 = 127;

/// Goes to a folder, sees to it that the programs are there, and becomes the command. All of it comes as arguments, and is no
/// part of the script.
const STARTER: &str = r#"cd -- "$1" && needs=$2 && shift 2 || exit
for program in $needs; do command -v "$program" > /dev/null || { echo "$program" >&2; exit 127; }; done
exec "$@""#;

/// Tool chains, and what goes with them.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    paths: Vec<String>,
    readable: Vec<Readable>,
    environment: BTreeMap<String, String>,
}

impl Tools {
    /// Those of a language.
    pub(crate) async fn of(jail: &Jail, language: Language) -> Result<Self, JailError> {
        let chain = jail.tool_chain(language).await?;
        let path = Path::new(chain.program()).parent().and_then(Path::to_str);
        let mut tools = Self {
            paths: path.map(str::to_owned).into_iter().collect(),
            readable: chain.readable().to_vec(),
            environment: chain.environment().clone(),
        };
        match language {
            Language::Rust => {
                // What was downloaded, and no more of Cargo's home: its tokens are there too.
                let home = home_of("CARGO_HOME", ".cargo");
                for part in ["registry", "git"] {
                    tools.share(home.as_ref().map(|home| home.join(part)), &format!("/opt/cargo/{part}"));
                }
                tools.set("CARGO_HOME", "/opt/cargo");
            }
            Language::Go => {
                let modules = home_of("GOPATH", "go").map(|home| home.join("pkg/mod"));
                tools.share(modules, "/opt/gopath/pkg/mod");
                tools.set("GOMODCACHE", "/opt/gopath/pkg/mod");
                // A project has modules, which a single file has not.
                tools.environment.remove("GO111MODULE");
            }
            Language::Python | Language::JavaScript | Language::Bash => {}
        }
        Ok(tools)
    }

    /// Those of every language that is here.
    pub(crate) async fn all(jail: &Jail) -> Result<Self, JailError> {
        let mut all = Self::default();
        for language in Language::all() {
            match Self::of(jail, language).await {
                Ok(found) => {
                    all.paths.extend(found.paths);
                    all.readable.extend(found.readable);
                    all.environment.extend(found.environment);
                }
                Err(JailError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// A command that is started in a folder below the job's, if all programs that it needs are there.
    pub(crate) fn job(self, folder: &str, needs: &[String], argv: &[String]) -> Job {
        let folder = if folder.is_empty() { "." } else { folder };
        let needs = needs.join(" ");
        let words = ["sh", "-c", STARTER, "project", folder, &needs].map(str::to_owned);
        let mut job = Job::new(Profile::Project, words.into_iter().chain(argv.iter().cloned()));
        job.readable = self.readable;
        job.environment = self.environment;
        let usual = [
            ("CI", "true"),
            ("NO_COLOR", "1"),
            ("TERM", "dumb"),
            ("CARGO_TERM_COLOR", "never"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ];
        job.environment.extend(usual.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let system = ["/usr/local/bin", "/usr/bin", "/bin"];
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).chain(system).collect();
        job.environment.insert("PATH".to_owned(), paths.join(":"));
        job
    }

    fn share(&mut self, host: Option<PathBuf>, inside: &str) {
        if let Some(host) = host.filter(|host| host.is_dir()) {
            self.readable.push(Readable { host, inside: inside.into() });
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }
}

/// The program for want of which the command was not started.
pub(crate) fn missing(report: &Report, needs: &[String]) -> Option<String> {
    let said = String::from_utf8_lossy(&report.stderr).trim().to_owned();
    (report.end == End::Exited(NOT_FOUND) && needs.contains(&said)).then_some(said)
}

fn home_of(variable: &str, usual: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(usual))).filter(|home| home.is_absolute())
}
