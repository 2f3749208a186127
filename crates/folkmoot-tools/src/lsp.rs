//! What a language server says about a file: errors and warnings, as an editor would show them.
//!
//! ```text
//! start ─▶ initialize ─▶ didOpen ─▶ diagnostics, asked for or sent, until it is quiet ─▶ shutdown ─▶ the process group ends
//! ```
//!
//! One server for one question: it is started, asked and ended, and nothing of it stays. A server that says nothing in time is
//! an error, never "no faults found".

mod frame;
mod language;
mod session;
mod tool;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub use language::{Known, Language};
pub use tool::DiagnosticsTool;

/// Asks language servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lsp {
    /// From its start to its last word.
    pub total: Duration,
    /// How long a server that has said something, and is not at work, must be silent until that is taken for all.
    pub quiet: Duration,
    /// One message.
    pub message_bytes: usize,
    /// How many diagnostics are kept.
    pub diagnostics_max: usize,
    /// Whether servers may be started at all, which is outside of the jail. They can execute what a project brings: build
    /// scripts, plug-ins, the compiler that it names. Only for projects that somebody trusts as far as their own editor does.
    pub outside_the_jail: bool,
}

impl Default for Lsp {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(60),
            quiet: Duration::from_millis(700),
            message_bytes: 16 << 20,
            diagnostics_max: 200,
            outside_the_jail: false,
        }
    }
}

/// A file, and who is asked about it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The server and its arguments.
    pub server: &'a [String],
    /// The project's folder.
    pub root: &'a Path,
    /// The file, within the folder; it need not exist.
    pub file: &'a Path,
    /// What it is written in.
    pub language: Language,
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
    pub severity: Severity,
    /// What it is, in the server's words.
    pub message: String,
    /// Who found it: a server can ask others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

folkmoot_core::vocabulary! {
    /// How bad a fault is.
    pub enum Severity {
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
    /// It would have to be in the jail, and is nowhere.
    #[error(
        "no language server is started: it can execute what a project brings, and the jail cannot hold one yet; whoever trusts \
         the project can allow it to run outside"
    )]
    NoJail,
    /// There is no server for that.
    #[error("{0}")]
    Missing(String),
    /// What was asked makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// It did not say anything about the file in time.
    #[error("the language server said nothing about the file within {0:?}")]
    TimedOut(Duration),
    /// It ended.
    #[error("the language server ended too early{}", said(.0))]
    Ended(String),
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

fn said(complaint: &str) -> String {
    if complaint.is_empty() { ", without saying why".to_owned() } else { format!(", saying: {complaint}") }
}

impl Lsp {
    /// What a server says about a file.
    pub async fn diagnostics(&self, question: &Question<'_>) -> Result<Diagnosis, LspError> {
        if !self.outside_the_jail {
            return Err(LspError::NoJail);
        }
        let root = question.root.canonicalize().map_err(|error| {
            LspError::Invalid(format!("the folder {} cannot be opened: {error}", question.root.display()))
        })?;
        let file = within(&root, question.file)?;
        session::ask(self, question, &root, &file).await
    }
}

/// The file's full path, if it is in the folder: also one that is not there yet, but not by way of `..` or a link that leads out.
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
