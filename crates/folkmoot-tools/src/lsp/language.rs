//! Languages, and which servers know them.

use std::{collections::BTreeMap, path::Path};

use super::LspError;
use crate::child;

folkmoot_core::vocabulary! {
    /// What a file can be written in, by the protocol's own names.
    pub enum Language {
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

impl Language {
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

    /// The servers that know it, the best first.
    pub fn servers(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Rust => &[&["rust-analyzer"]],
            Self::Python => &[&["basedpyright-langserver", "--stdio"], &["pyright-langserver", "--stdio"], &["pylsp"]],
            Self::TypeScript | Self::JavaScript => &[&["typescript-language-server", "--stdio"]],
            Self::Go => &[&["gopls", "serve"]],
            Self::Shell => &[&["bash-language-server", "start"]],
        }
    }

    /// The first of its servers that is installed.
    pub fn server(self) -> Result<Vec<String>, LspError> {
        let installed = self.servers().iter().find(|server| child::find(server[0], &BTreeMap::new()).is_some());
        installed.map(|server| server.iter().map(|part| (*part).to_owned()).collect()).ok_or_else(|| {
            let names: Vec<&str> = self.servers().iter().map(|server| server[0]).collect();
            LspError::Missing(format!("there is no language server for {self}: install {}", names.join(" or ")))
        })
    }
}
