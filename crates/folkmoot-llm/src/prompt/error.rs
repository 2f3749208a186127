//! What is wrong with a prompt.

use std::path::PathBuf;

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A file that does not do as a template.
    #[error("the prompt {file}{}: {problem}", .line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Template {
        file: String,
        /// Where in it, as far as that is known.
        line: Option<usize>,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A file that would replace no prompt.
    #[error("{} replaces no prompt; the files that can be replaced are {}", .path.display(), .known.join(", "))]
    UnknownFile {
        /// Where it is.
        path: PathBuf,
        /// What could be there.
        known: Vec<&'static str>,
    },
    /// A file or folder that cannot be read.
    #[error("{}: {problem}", .path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// There is no prompt of that name.
    #[error("there is no prompt {name:?}; there are {}", .known.join(", "))]
    UnknownPrompt {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The prompt was given something else than it declares.
    #[error("the prompt {prompt}: its variable `{variable}` {problem}")]
    Context {
        /// Which prompt.
        prompt: &'static str,
        /// Which variable.
        variable: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl PromptError {
    pub(super) fn template(file: &str, line: Option<usize>, problem: impl Into<String>) -> Self {
        PromptError::Template { file: file.to_owned(), line, problem: problem.into() }
    }

    /// What the engine says, about the file in which it happened: that may be one that `prompt`
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
