//! Runs a project's command in the jail, on its folder, without a network.

use std::{path::Path, time::Duration};

use super::{Project, ProjectCommand, ProjectKind, Purpose, tools};
use crate::jail::{Jail, JailError, JailLimits, JobEnd, ProgramLanguage};

/// How much of the end of the output is kept.
const TAIL_CHARS: usize = 3000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    pub command: ProjectCommand,
    pub end: JobEnd,
    /// Whether it exited with 0 within its limits, and without output if that is required.
    pub passed: bool,
    /// The end of its output, without terminal codes.
    pub output: String,
    pub wall: Duration,
}

/// The results of all commands for one purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectCheck {
    /// Counts as not passed.
    NoCommand,
    /// A required program is missing. Counts as not passed.
    Unavailable(String),
    Ran(Vec<CommandResult>),
}

impl ProjectCheck {
    /// Whether at least one ran and all passed.
    pub fn passed(&self) -> bool {
        match self {
            Self::NoCommand | Self::Unavailable(_) => false,
            Self::Ran(results) => !results.is_empty() && results.iter().all(|result| result.passed),
        }
    }
}

/// Runs every command for a purpose.
///
/// # Errors
/// If nothing could be executed for a reason other than a missing program.
pub async fn check(
    jail: &Jail,
    folder: &Path,
    project: &Project,
    purpose: Purpose,
    limits: &JailLimits,
) -> Result<ProjectCheck, JailError> {
    let commands = project.commands(purpose);
    if commands.is_empty() {
        return Ok(ProjectCheck::NoCommand);
    }
    let mut results = Vec::new();
    for command in commands {
        match run(jail, folder, command, limits).await {
            Ok(result) => results.push(result),
            Err(JailError::Missing(what)) => return Ok(ProjectCheck::Unavailable(what)),
            Err(error) => return Err(error),
        }
    }
    Ok(ProjectCheck::Ran(results))
}

/// Runs one command. `folder` is the top of the project and writable.
///
/// # Errors
/// As [`Jail::run`]; [`JailError::Missing`] if there is no tool chain. A failing command is not an
/// error.
pub async fn run(
    jail: &Jail,
    folder: &Path,
    command: &ProjectCommand,
    limits: &JailLimits,
) -> Result<CommandResult, JailError> {
    let mut job = tools::job(&command.folder, &command.needs, &command.argv);
    match command.kind {
        ProjectKind::Cargo => tools::lend(jail, ProgramLanguage::Rust, &mut job).await?,
        ProjectKind::Npm => tools::lend(jail, ProgramLanguage::JavaScript, &mut job).await?,
        ProjectKind::Go => tools::lend(jail, ProgramLanguage::Go, &mut job).await?,
        ProjectKind::Python => tools::lend(jail, ProgramLanguage::Python, &mut job).await?,
        // It may call any of them, and fails by itself if one is missing.
        ProjectKind::Make => tools::lend_all(jail, &mut job).await?,
    }
    job.folder = Some(folder.to_owned());
    job.environment.extend(command.environment.clone());
    job.limits = limits.clone();
    let report = jail.run(job).await?;
    if let Some(program) = tools::missing(&report, &command.needs) {
        return Err(JailError::Missing(format!(
            "`{}` needs {program}, which is not here, or not where the jail can see it; install it",
            command.argv.join(" ")
        )));
    }
    let silent = report.stdout.trim_ascii().is_empty() && report.stderr.trim_ascii().is_empty();
    Ok(CommandResult {
        passed: report.end == JobEnd::Exited(0) && (silent || !command.must_be_silent),
        end: report.end,
        output: tail(&[report.stdout, report.stderr].concat()),
        wall: report.wall,
        command: command.clone(),
    })
}

/// The last characters, without terminal codes.
fn tail(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let mut plain = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                // A control sequence ends with a letter or similar, an operating system command
                // with a bell or an escape.
                Some('[') => while characters.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
                Some(']') => while characters.next_if(|c| *c != '\u{7}' && *c != '\u{1b}').is_some() {},
                _ => {}
            },
            '\n' | '\t' => plain.push(character),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    let plain = plain.trim();
    let skip = plain.chars().count().saturating_sub(TAIL_CHARS);
    plain.chars().skip(skip).collect()
}

#[cfg(test)]
mod tests;
