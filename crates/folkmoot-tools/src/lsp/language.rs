//! Languages and their servers.

use std::{collections::BTreeMap, path::Path};

use super::LspError;
use crate::child;

folkmoot_core::vocabulary! {
    /// The language of a file, by the protocol's own name.
    pub enum LspLanguage {
        /// Rust.
        Rust = "rust",
        /// Python.
        Python = "python",
        /// TypeScript.
        TypeScript = "typescript",
        /// JavaScript.
        JavaScript = "javascript",
        /// Go.
        Go = "go",
        /// The shell.
        Shell = "shellscript",
    }
}

impl LspLanguage {
    /// The language of a file, by its name.
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "py" | "pyi" => Some(Self::Python),
            "ts" | "tsx" | "mts" | "cts" => Some(Self::TypeScript),
            "js" | "jsx" | "mjs" | "cjs" => Some(Self::JavaScript),
            "go" => Some(Self::Go),
            "sh" | "bash" => Some(Self::Shell),
            _ => None,
        }
    }

    /// The servers for it, the best first.
    pub fn servers(self) -> &'static [LspCommand] {
        match self {
            Self::Rust => &[LspCommand { command: &["rust-analyzer"], needs: &[] }],
            Self::Python => &[
                LspCommand { command: &["basedpyright-langserver", "--stdio"], needs: &[] },
                LspCommand { command: &["pyright-langserver", "--stdio"], needs: &[] },
                LspCommand { command: &["pylsp"], needs: &["pyflakes"] },
            ],
            Self::TypeScript | Self::JavaScript => {
                &[LspCommand { command: &["typescript-language-server", "--stdio"], needs: &[] }]
            }
            Self::Go => &[LspCommand { command: &["gopls", "serve"], needs: &[] }],
            Self::Shell => &[LspCommand { command: &["bash-language-server", "start"], needs: &["shellcheck"] }],
        }
    }

    /// Its installed servers, the best first.
    ///
    /// # Errors
    /// If there is none; says what to install.
    pub fn installed(self) -> Result<Vec<Vec<String>>, LspError> {
        let is_there = |program: &str| child::find(program, &BTreeMap::new()).is_some();
        let is_installed =
            |known: &&LspCommand| is_there(known.command[0]) && known.needs.iter().all(|program| is_there(program));
        let installed = self.servers().iter().filter(is_installed);
        let installed: Vec<Vec<String>> =
            installed.map(|known| known.command.iter().map(|part| (*part).to_owned()).collect()).collect();
        if installed.is_empty() {
            let names: Vec<String> = self.servers().iter().map(LspCommand::names).collect();
            let names = names.join(", or ");
            return Err(LspError::Missing(format!("there is no language server for {self}: install {names}")));
        }
        Ok(installed)
    }
}

/// How to start a known language server.
#[derive(Clone, Copy, Debug)]
pub struct LspCommand {
    pub command: &'static [&'static str],
    /// Programs without which it silently finds no problems.
    pub needs: &'static [&'static str],
}

impl LspCommand {
    fn names(&self) -> String {
        [&self.command[..1], self.needs].concat().join(" with ")
    }
}
