//! What a language server says about a file: errors and warnings, as an editor would show them.
//!
//! ```text
//! start, in the jail ─▶ initialize ─▶ didOpen ─▶ diagnostics, until it is quiet ─▶ shutdown
//! ```
//!
//! One server for one question: it is started, asked and ended, and nothing of it stays. A server
//! that says nothing in time is an error, never "no faults found". It can execute what a project
//! brings (build scripts, plug-ins, the compiler that it names) and so it is in the jail: it reads
//! the project, changes nothing of it, and has no network.

mod frame;
mod language;
mod server;
mod session;
mod tool;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::Jail;

pub use language::{LspCommand, LspLanguage};
pub use tool::DiagnosticsTool;

/// Asks language servers.
#[derive(Clone, Debug)]
pub struct Lsp {
    /// Where they run.
    pub place: LspPlacement,
    /// From its start to its last word.
    pub total: Duration,
    /// How long a server that has said something, and is not at work, must be silent until that is
    /// taken for all.
    pub quiet: Duration,
    /// One message.
    pub message_bytes: usize,
    /// How many diagnostics are kept.
    pub diagnostics_max: usize,
}

/// Whether a language server runs in the jail.
#[derive(Clone, Debug)]
pub enum LspPlacement {
    /// In the jail.
    Jail(Jail),
    /// As a process of ours. Only for projects that somebody trusts as far as their own editor
    /// does.
    OutsideTheJail,
}

impl Lsp {
    /// Servers that run in a jail.
    pub fn new(jail: Jail) -> Self {
        Self::at(LspPlacement::Jail(jail))
    }

    /// Servers that run outside of it, for somebody who trusts the project, and all that it brings.
    pub fn outside_the_jail() -> Self {
        Self::at(LspPlacement::OutsideTheJail)
    }

    fn at(place: LspPlacement) -> Self {
        Self {
            place,
            total: Duration::from_secs(60),
            quiet: Duration::from_millis(700),
            message_bytes: 16 << 20,
            diagnostics_max: 200,
        }
    }
}

/// A file to diagnose, and the server to ask.
#[derive(Clone, Debug)]
pub struct LspRequest<'a> {
    /// The server and its arguments.
    pub server: &'a [String],
    /// The project's folder.
    pub root: &'a Path,
    /// The file, within the folder; it need not exist.
    pub file: &'a Path,
    /// What it is written in.
    pub language: LspLanguage,
    /// What is in it.
    pub text: &'a str,
}

/// What a server said about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// What it found, by position.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether that is all: it had come to rest, and nothing was cut.
    pub is_complete: bool,
}

/// One fault that a server found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    /// The line, from 1.
    pub line: u32,
    /// The character in it, from 1.
    pub column: u32,
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// What it is, in the server's words.
    pub message: String,
    /// Who found it: a server can ask others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

folkmoot_core::vocabulary! {
    /// How bad a fault is.
    pub enum DiagnosticSeverity {
        /// It is wrong.
        Error = "error",
        /// It may be wrong.
        Warning = "warning",
        /// Worth knowing.
        Information = "information",
        /// It could be better.
        Hint = "hint",
    }
}

/// Why a server said nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LspError {
    /// There is no jail for it to be in.
    #[error(
        "no language server is started, because it can execute what a project brings and there is no jail: {0}; whoever trusts the \
         project can let it run outside"
    )]
    NoJail(String),
    /// There is no server for that.
    #[error("{0}")]
    Missing(String),
    /// What was asked makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// It did not say anything about the file in time.
    #[error("the language server said nothing about the file within {after:?}{}", in_the_jail(*.jailed))]
    TimedOut {
        /// How long it had.
        after: Duration,
        /// Whether it was in the jail.
        jailed: bool,
    },
    /// It ended.
    #[error("the language server ended too early{}{}", said(.complaint), in_the_jail(*.jailed))]
    Ended {
        /// What it said last.
        complaint: String,
        /// Whether it was in the jail.
        jailed: bool,
    },
    /// It could not be started.
    #[error("the language server could not be started: {0}")]
    Failed(String),
    /// What it says is not the protocol.
    #[error("the language server does not speak its protocol: {0}")]
    Malformed(String),
    /// It says more than it may.
    #[error("the language server sent too much: {0}")]
    TooLarge(String),
    /// It answered with an error.
    #[error("the language server refused: {0}")]
    Refused(String),
}

/// That may be why: not every server can do without what is not there.
fn in_the_jail(jailed: bool) -> &'static str {
    match jailed {
        true => {
            " (it was in the jail: no network, the project only to read, of this machine only its own program and tool chain; if it \
             cannot work so, whoever trusts the project can let it run outside)"
        }
        false => "",
    }
}

fn said(complaint: &str) -> String {
    if complaint.is_empty() { ", without saying why".to_owned() } else { format!(", saying: {complaint}") }
}

impl Lsp {
    /// The first server of a language that is installed and can be started where servers run.
    /// Nothing is started to find out.
    ///
    /// # Errors
    /// If there is none, which says why.
    pub async fn server(&self, language: LspLanguage) -> Result<Vec<String>, LspError> {
        let mut why = Vec::new();
        for command in language.installed()? {
            match &self.place {
                LspPlacement::OutsideTheJail => return Ok(command),
                LspPlacement::Jail(jail) => match server::lend(jail, &command, language).await {
                    Ok(_) => return Ok(command),
                    Err(LspError::Missing(reason)) => why.push(reason),
                    Err(error) => return Err(error),
                },
            }
        }
        Err(LspError::Missing(why.join("; ")))
    }

    /// What a server says about a file.
    pub async fn diagnostics(&self, question: &LspRequest<'_>) -> Result<Diagnosis, LspError> {
        let root = question.root.canonicalize().map_err(|error| {
            LspError::Invalid(format!("the folder {} cannot be opened: {error}", question.root.display()))
        })?;
        let file = within(&root, question.file)?;
        session::ask(self, question, &root, &file).await
    }
}

/// The file's full path, if it is in the folder: also one that is not there yet, but not by way of
/// `..` or a link that leads out.
fn within(root: &Path, file: &Path) -> Result<PathBuf, LspError> {
    let outside = || LspError::Invalid(format!("{} is not in the project's folder", file.display()));
    let relative = if file.is_absolute() { file.strip_prefix(root).map_err(|_| outside())? } else { file };
    if relative.as_os_str().is_empty()
        || relative.components().any(|part| !matches!(part, std::path::Component::Normal(_)))
    {
        return Err(outside());
    }
    let full = root.join(relative);
    let nearest = full.ancestors().find_map(|path| path.canonicalize().ok()).ok_or_else(outside)?;
    if nearest.starts_with(root) { Ok(full) } else { Err(outside()) }
}

#[cfg(test)]
mod tests;
