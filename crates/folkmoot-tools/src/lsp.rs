//! Diagnostics of language servers: errors and warnings, as an editor shows them.
//!
//! ```text
//! start, in the jail ─▶ initialize ─▶ didOpen ─▶ diagnostics, until it is quiet ─▶ shutdown
//! ```
//!
//! One server per request: it is started, asked and ended. A server that says nothing in time is an
//! error, never "no problems". It can execute what a project brings (build scripts, plug-ins,
//! compilers), so it runs in the jail: it can read the project, change nothing, and use no network.

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
    pub place: LspPlacement,
    /// The time limit from its start to its last message.
    pub total: Duration,
    /// How long an idle server must be silent before its diagnostics count as complete.
    pub quiet: Duration,
    pub message_bytes: usize,
    pub diagnostics_max: usize,
}

/// Whether a language server runs in the jail.
#[derive(Clone, Debug)]
pub enum LspPlacement {
    Jail(Jail),
    /// As an ordinary process. Only for projects that are trusted as an editor would trust them.
    OutsideTheJail,
}

impl Lsp {
    pub fn new(jail: Jail) -> Self {
        Self::at(LspPlacement::Jail(jail))
    }

    /// Outside the jail, for trusted projects.
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
    pub server: &'a [String],
    pub root: &'a Path,
    /// The file in the folder; it need not exist.
    pub file: &'a Path,
    pub language: LspLanguage,
    /// Its content.
    pub text: &'a str,
}

/// What a server said about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// Sorted by position.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the server finished and nothing was cut.
    pub is_complete: bool,
}

/// One fault that a server found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    pub severity: DiagnosticSeverity,
    pub message: String,
    /// The tool that found it; a server can run others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

folkmoot_core::vocabulary! {
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

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LspError {
    /// There is no jail to run it in.
    #[error(
        "no language server is started, because it can execute what a project brings and there is no jail: {0}; whoever trusts the \
         project can let it run outside"
    )]
    NoJail(String),
    #[error("{0}")]
    Missing(String),
    #[error("{0}")]
    Invalid(String),
    #[error("the language server said nothing about the file within {after:?}{}", in_the_jail(*.jailed))]
    TimedOut { after: Duration, jailed: bool },
    #[error("the language server ended too early{}{}", said(.complaint), in_the_jail(*.jailed))]
    Ended {
        /// Its last message.
        complaint: String,
        jailed: bool,
    },
    #[error("the language server could not be started: {0}")]
    Failed(String),
    /// It violated the protocol.
    #[error("the language server does not speak its protocol: {0}")]
    Malformed(String),
    /// It sent too much.
    #[error("the language server sent too much: {0}")]
    TooLarge(String),
    #[error("the language server refused: {0}")]
    Refused(String),
}

/// Adds that the jail may be the reason: not every server works inside.
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
    /// The first installed server of a language that can be started. Nothing is started to find
    /// out.
    ///
    /// # Errors
    /// If there is none; says why.
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

    /// The diagnostics of a file.
    pub async fn diagnostics(&self, question: &LspRequest<'_>) -> Result<Diagnosis, LspError> {
        let root = question.root.canonicalize().map_err(|error| {
            LspError::Invalid(format!("the folder {} cannot be opened: {error}", question.root.display()))
        })?;
        let file = within(&root, question.file)?;
        session::ask(self, question, &root, &file).await
    }
}

/// The file's full path, if it is in the folder. It need not exist, but `..` and links that lead
/// out are refused.
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
