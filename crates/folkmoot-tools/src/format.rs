//! Formats code in the jail. Returns the formatted code or an error.

use std::time::Duration;

use crate::{
    jail::{self, Jail, JailError, JailLimits, JobEnd, Profile},
    program,
    project::tools,
};

/// The longest code that is formatted.
const CODE_BYTES_MAX: usize = 1 << 20;

folkmoot_core::vocabulary! {
    /// A language that can be formatted.
    pub enum FormatLanguage {
        /// Formatted by rustfmt.
        Rust = "rust",
        /// Formatted by black or ruff.
        Python = "python",
        /// Formatted by prettier.
        JavaScript = "javascript",
        /// Formatted by prettier.
        TypeScript = "typescript",
        /// Formatted by gofmt.
        Go = "go",
        /// Formatted by shfmt.
        Shell = "shell",
    }
}

/// Why code was not formatted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("{0}")]
    Missing(String),
    /// The formatter rejects it, usually because it is not valid code.
    #[error("{formatter} did not take the code: {why}")]
    Refused {
        formatter: &'static str,
        /// Its stderr.
        why: String,
    },
    #[error(transparent)]
    Jail(JailError),
}

/// Formats code.
///
/// # Errors
/// If there is no formatter, or it rejects the code. Its output is then discarded.
pub async fn format(jail: &Jail, language: FormatLanguage, code: &str) -> Result<String, FormatError> {
    if code.len() > CODE_BYTES_MAX {
        return Err(FormatError::Refused {
            formatter: language.formatters()[0].name,
            why: "it is longer than 1 MiB".into(),
        });
    }
    if code.trim().is_empty() {
        return Ok(code.to_owned());
    }
    let mut tried = Vec::new();
    for formatter in language.formatters() {
        match formatter.apply(jail, language, code).await {
            Err(FormatError::Missing(why)) => tried.push(why),
            done => return done,
        }
    }
    Err(FormatError::Missing(format!("no formatter for {language} is here: {}", tried.join("; "))))
}

/// Finds the formatter of a language without starting it.
///
/// # Errors
/// [`FormatError::Missing`] if the jail can use none; says how to install one.
pub async fn find(jail: &Jail, language: FormatLanguage) -> Result<String, FormatError> {
    let mut why = Vec::new();
    for formatter in language.formatters() {
        match jail.tool_chain(language.tool_chain()).await {
            Ok(chain) if chain.home().is_some_and(|home| home.join("bin").join(formatter.name).is_file()) => {
                return Ok(format!("{}, with {}", formatter.name, chain.version));
            }
            Ok(_) | Err(JailError::Missing(_)) => {}
            Err(error) => return Err(FormatError::Jail(error)),
        }
        let mut job = tools::job("", &[], &[]);
        match program::lend(jail, formatter.name, &mut job).await {
            Ok(command) => return Ok(format!("{}: {}", formatter.name, command.join(" "))),
            Err(JailError::Missing(reason)) => why.push(reason),
            Err(error) => return Err(FormatError::Jail(error)),
        }
    }
    Err(FormatError::Missing(format!("{}; {}", why.join("; "), language.how_to_get())))
}

/// A program that reads code and prints it formatted.
struct Formatter {
    name: &'static str,
    arguments: &'static [&'static str],
}

impl FormatLanguage {
    fn formatters(self) -> &'static [Formatter] {
        match self {
            Self::Rust => {
                &[Formatter { name: "rustfmt", arguments: &["--edition", "2024", "--emit", "stdout", "--quiet"] }]
            }
            Self::Python => &[
                Formatter { name: "black", arguments: &["-q", "-"] },
                Formatter { name: "ruff", arguments: &["format", "--no-cache", "-q", "-"] },
            ],
            Self::JavaScript => &[Formatter { name: "prettier", arguments: &["--stdin-filepath", "code.js"] }],
            Self::TypeScript => &[Formatter { name: "prettier", arguments: &["--stdin-filepath", "code.ts"] }],
            Self::Go => &[Formatter { name: "gofmt", arguments: &[] }],
            Self::Shell => &[Formatter { name: "shfmt", arguments: &["-"] }],
        }
    }

    fn how_to_get(self) -> &'static str {
        match self {
            Self::Rust => "get rustfmt with `rustup component add rustfmt`",
            Self::Python => "get black or ruff as a package of the system, or by pip in a virtual environment on PATH",
            Self::JavaScript | Self::TypeScript => "get prettier with `npm install --global prettier`",
            Self::Go => "gofmt comes with Go: install the package golang, or from https://go.dev/dl",
            Self::Shell => "get shfmt as a package of the system, or from https://github.com/mvdan/sh",
        }
    }

    /// The tool chain that its formatter is usually installed with.
    fn tool_chain(self) -> jail::ProgramLanguage {
        match self {
            Self::Rust => jail::ProgramLanguage::Rust,
            Self::Python => jail::ProgramLanguage::Python,
            Self::JavaScript | Self::TypeScript => jail::ProgramLanguage::JavaScript,
            Self::Go => jail::ProgramLanguage::Go,
            Self::Shell => jail::ProgramLanguage::Bash,
        }
    }
}

impl Formatter {
    async fn apply(&self, jail: &Jail, language: FormatLanguage, code: &str) -> Result<String, FormatError> {
        let needs = [self.name.to_owned()];
        let arguments = self.arguments.iter().map(|word| (*word).to_owned());
        let mut job = tools::job("", &needs, &needs);
        match tools::lend(jail, language.tool_chain(), &mut job).await {
            // A formatter may be installed without the tool chain.
            Ok(()) | Err(JailError::Missing(_)) => {}
            Err(error) => return Err(FormatError::Jail(error)),
        }
        match program::lend(jail, self.name, &mut job).await {
            Ok(command) => {
                let argv: Vec<String> = command.into_iter().chain(arguments).collect();
                job.command = tools::job("", &[], &argv).command;
            }
            // It may be installed beside its tool chain.
            Err(JailError::Missing(_)) => {
                let argv: Vec<String> = needs.iter().cloned().chain(arguments).collect();
                job.command = tools::job("", &needs, &argv).command;
            }
            Err(error) => return Err(FormatError::Jail(error)),
        }
        job.stdin = code.as_bytes().to_vec();
        job.limits = JailLimits {
            wall: Duration::from_secs(30),
            memory_bytes: 1 << 30,
            output_bytes: 4 * CODE_BYTES_MAX,
            ..JailLimits::of(Profile::Code)
        };
        let report = jail.run(job).await.map_err(FormatError::Jail)?;
        if tools::missing(&report, &needs).is_some() {
            return Err(FormatError::Missing(format!("install {}", self.name)));
        }
        let refused = |why: &str| FormatError::Refused { formatter: self.name, why: why.chars().take(1000).collect() };
        let stderr = String::from_utf8_lossy(&report.stderr);
        if report.end != JobEnd::Exited(0) {
            return Err(refused(&format!("it ended with {:?}: {}", report.end, stderr.trim())));
        }
        let formatted = String::from_utf8(report.stdout).map_err(|_| refused("what it printed is not UTF-8"))?;
        // Empty output for non-empty code is not a formatted version of it.
        if formatted.trim().is_empty() {
            return Err(refused("it printed nothing"));
        }
        Ok(formatted)
    }
}
