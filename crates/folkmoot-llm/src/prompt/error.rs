//! Errors of prompts.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A file is not a valid template.
    #[error("the prompt {file}{}: {problem}", .line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Template {
        file: String,
        /// The line, if it is known.
        line: Option<usize>,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A file that replaces no prompt.
    #[error("{} replaces no prompt; the files that can be replaced are {}", .path.display(), .known.join(", "))]
    UnknownFile {
        path: PathBuf,
        /// The known names.
        known: Vec<&'static str>,
    },
    #[error("{}: {problem}", .path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("there is no prompt {name:?}; there are {}", .known.join(", "))]
    UnknownPrompt {
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The context does not match the prompt's declaration.
    #[error("the prompt {prompt}: its variable `{variable}` {problem}")]
    Context { prompt: &'static str, variable: String, problem: String },
}

impl PromptError {
    pub(super) fn template(file: &str, line: Option<usize>, problem: impl Into<String>) -> Self {
        PromptError::Template { file: file.to_owned(), line, problem: problem.into() }
    }

    /// Converts the engine's error. It names the file of the error, which may be one that `prompt`
    /// includes.
    pub(super) fn of(prompt: &str, error: &minijinja::Error) -> Self {
        let mut cause = error;
        while let Some(inner) = std::error::Error::source(cause).and_then(|source| source.downcast_ref()) {
            cause = inner;
        }
        let mut problem = cause.kind().to_string();
        if let Some(detail) = cause.detail() {
            problem = format!("{problem}: {detail}");
        }
        if let Some(source) = std::error::Error::source(cause) {
            problem = format!("{problem}: {source}");
        }
        Self::template(cause.name().unwrap_or(prompt), cause.line(), problem)
    }
}
