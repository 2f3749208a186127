//! Tool chains for jobs, and commands that use them.

use std::path::PathBuf;

use crate::jail::{Jail, JailError, JailJob, JobEnd, JobReport, Profile, ProgramLanguage, Readable};

/// The shell's exit code for a missing program.
const NOT_FOUND: i32 = 127;

/// Changes the folder, checks the programs, and executes the command. All input comes as arguments,
/// not as part of the script.
const STARTER: &str = r#"cd -- "$1" && needs=$2 && shift 2 || exit
for program in $needs; do command -v "$program" > /dev/null || { echo "$program" >&2; exit 127; }; done
exec "$@""#;

/// A job that runs a command in a subfolder, if all programs it needs exist.
pub(crate) fn job(folder: &str, needs: &[String], argv: &[String]) -> JailJob {
    let folder = if folder.is_empty() { "." } else { folder };
    let needs = needs.join(" ");
    let words = ["sh", "-c", STARTER, "project", folder, &needs].map(str::to_owned);
    let mut job = JailJob::new(Profile::Project, words.into_iter().chain(argv.iter().cloned()));
    for (name, value) in [
        ("CI", "true"),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("CARGO_TERM_COLOR", "never"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ] {
        set(&mut job, name, value);
    }
    job
}

/// Makes a language's tool chain and downloaded packages available to a job.
pub(crate) async fn lend(jail: &Jail, language: ProgramLanguage, job: &mut JailJob) -> Result<(), JailError> {
    jail.tool_chain(language).await?.lend(job);
    match language {
        ProgramLanguage::Rust => {
            // Only the downloads: Cargo's home also contains tokens.
            let home = home_of("CARGO_HOME", ".cargo");
            for part in ["registry", "git"] {
                share(job, home.as_ref().map(|home| home.join(part)), &format!("/opt/cargo/{part}"));
            }
            set(job, "CARGO_HOME", "/opt/cargo");
        }
        ProgramLanguage::Go => {
            share(job, home_of("GOPATH", "go").map(|home| home.join("pkg/mod")), "/opt/gopath/pkg/mod");
            set(job, "GOMODCACHE", "/opt/gopath/pkg/mod");
            // Unlike a single file, a project has modules.
            job.environment.remove("GO111MODULE");
        }
        ProgramLanguage::Python | ProgramLanguage::JavaScript | ProgramLanguage::Bash => {}
    }
    Ok(())
}

/// Makes all installed tool chains available.
pub(crate) async fn lend_all(jail: &Jail, job: &mut JailJob) -> Result<(), JailError> {
    for language in ProgramLanguage::ALL.iter().copied() {
        match lend(jail, language, job).await {
            Ok(()) | Err(JailError::Missing(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn share(job: &mut JailJob, host: Option<PathBuf>, inside: &str) {
    if let Some(host) = host.filter(|host| host.is_dir()) {
        let readable = Readable { host, inside: inside.into() };
        // It may be shared twice, for the program and the project.
        if !job.readable.contains(&readable) {
            job.readable.push(readable);
        }
    }
}

fn set(job: &mut JailJob, name: &str, value: &str) {
    job.environment.insert(name.to_owned(), value.to_owned());
}

/// The missing program, if that is why the command was not started.
pub(crate) fn missing(report: &JobReport, needs: &[String]) -> Option<String> {
    let said = String::from_utf8_lossy(&report.stderr).trim().to_owned();
    (report.end == JobEnd::Exited(NOT_FOUND) && needs.contains(&said)).then_some(said)
}

fn home_of(variable: &str, usual: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(usual))).filter(|home| home.is_absolute())
}
