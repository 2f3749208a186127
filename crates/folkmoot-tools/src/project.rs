//! A project's own commands: which there are, and what comes of them in the jail.
//!
//! ```text
//! detect(folder) ─▶ Project: commands for build, test, lint, …
//! run(jail, folder, command) ─▶ CommandResult
//! check(jail, folder, project, purpose) ─▶ Check
//! ```
//!
//! Detection reads files and executes nothing, not even `make -n`. A file that cannot be understood
//! is a problem that is reported, and never one that stops detection. Where a project has no
//! command for a purpose, that purpose has not passed.

mod cargo;
mod go;
mod make;
mod npm;
mod python;
mod run;
pub(crate) mod tools;

use std::{collections::BTreeMap, io, path::Path};

use serde::{Deserialize, Serialize};

pub use run::{CommandResult, ProjectCheck, check, run};

use crate::beneath::{DirEntry, DirEntryKind, Folder};

/// The longest file that is looked into.
const FILE_BYTES_MAX: u64 = 1 << 20;

folkmoot_core::vocabulary! {
    /// What a project is built with.
    pub enum ProjectKind {
        /// Rust, by Cargo.
        Cargo = "cargo",
        /// JavaScript or TypeScript, by npm, pnpm, yarn or bun.
        Npm = "npm",
        /// Go.
        Go = "go",
        /// Python.
        Python = "python",
        /// Make.
        Make = "make",
    }
}

folkmoot_core::vocabulary! {
    /// What a command is for.
    pub enum Purpose {
        /// Builds it.
        Build = "build",
        /// Runs its tests.
        Test = "test",
        /// Looks for bad habits.
        Lint = "lint",
        /// Checks types.
        Typecheck = "typecheck",
        /// Checks, without changing anything, that the code is formatted.
        Format = "format",
        /// Measures.
        Bench = "bench",
        /// Looks for known weaknesses.
        Security = "security",
    }
}

folkmoot_core::vocabulary! {
    /// When a debate has the project's commands run.
    pub enum Hook {
        /// After proposals.
        PostProposal = "post_proposal",
        /// After optimization.
        PostOptimization = "post_optimization",
        /// After the adversarial phase.
        PostAdversarial = "post_adversarial",
        /// After convergence.
        PostConvergence = "post_convergence",
    }
}

impl Hook {
    /// What is checked then.
    pub fn purposes(self) -> &'static [Purpose] {
        match self {
            Self::PostProposal => &[Purpose::Lint],
            Self::PostOptimization => &[Purpose::Test, Purpose::Typecheck],
            Self::PostAdversarial => &[Purpose::Security],
            Self::PostConvergence => {
                &[Purpose::Test, Purpose::Lint, Purpose::Typecheck, Purpose::Security, Purpose::Bench]
            }
        }
    }
}

/// What was found in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// What it is built with, and in which folders; `""` is the top.
    pub kinds: Vec<(ProjectKind, String)>,
    /// Its commands, in a fixed order.
    pub commands: Vec<ProjectCommand>,
    /// Files that could not be understood.
    pub problems: Vec<ProjectProblem>,
}

/// A command of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCommand {
    /// What it is for.
    pub purpose: Purpose,
    /// What it belongs to.
    pub kind: ProjectKind,
    /// The folder to start it in, from the top; `""` is the top.
    pub folder: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Programs that must be there.
    pub needs: Vec<String>,
    /// Variables that keep it away from the network.
    pub environment: BTreeMap<String, String>,
    /// What says that there is such a command.
    pub because: String,
    /// It passes only when it prints nothing: programs that list what is wrong and still end well.
    pub must_be_silent: bool,
}

/// A file of a project that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectProblem {
    /// The path from the top.
    pub file: String,
    pub what: String,
}

impl Project {
    /// The commands for a purpose. Make's only where nothing else has one, because a Makefile
    /// usually calls the others.
    pub fn commands(&self, purpose: Purpose) -> Vec<&ProjectCommand> {
        let all: Vec<&ProjectCommand> = self.commands.iter().filter(|command| command.purpose == purpose).collect();
        let direct: Vec<&ProjectCommand> =
            all.iter().copied().filter(|command| command.kind != ProjectKind::Make).collect();
        if direct.is_empty() { all } else { direct }
    }

    /// Whether there is nothing that can be run.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

/// Looks at the top of a folder, and at the folders directly below for what the top does not have.
///
/// # Errors
/// Only where the folder itself cannot be read.
pub fn detect(folder: &Path) -> io::Result<Project> {
    let beneath = Folder::open(folder)?;
    let mut project = Project::default();
    let top = beneath.list("")?;
    look(&mut ScannedFolder { beneath: &beneath, folder: "", entries: &top, project: &mut project }, &[]);
    let covered: Vec<ProjectKind> = project.kinds.iter().map(|(kind, _)| *kind).collect();
    let left_out = ["target", "node_modules", "vendor", "venv", "dist", "build"];
    for entry in &top {
        if entry.kind != DirEntryKind::Folder
            || entry.path.starts_with(['.', '-'])
            || left_out.contains(&entry.path.as_str())
        {
            continue;
        }
        let Ok(entries) = beneath.list(&entry.path) else { continue };
        look(
            &mut ScannedFolder { beneath: &beneath, folder: &entry.path, entries: &entries, project: &mut project },
            &covered,
        );
    }
    Ok(project)
}

fn look(place: &mut ScannedFolder<'_>, covered: &[ProjectKind]) {
    for kind in [ProjectKind::Cargo, ProjectKind::Npm, ProjectKind::Go, ProjectKind::Python, ProjectKind::Make] {
        if covered.contains(&kind) {
            continue;
        }
        match kind {
            ProjectKind::Cargo => cargo::detect(place),
            ProjectKind::Npm => npm::detect(place),
            ProjectKind::Go => go::detect(place),
            ProjectKind::Python => python::detect(place),
            ProjectKind::Make => make::detect(place),
        }
    }
}

/// A folder that is being scanned for project files.
struct ScannedFolder<'a> {
    beneath: &'a Folder,
    folder: &'a str,
    entries: &'a [DirEntry],
    project: &'a mut Project,
}

impl ScannedFolder<'_> {
    fn path(&self, name: &str) -> String {
        if self.folder.is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) }
    }

    fn has(&self, name: &str) -> bool {
        let path = self.path(name);
        self.entries.iter().any(|entry| entry.path == path && matches!(entry.kind, DirEntryKind::File { .. }))
    }

    fn has_folder(&self, name: &str) -> bool {
        let path = self.path(name);
        self.entries.iter().any(|entry| entry.path == path && entry.kind == DirEntryKind::Folder)
    }

    /// The names of files directly in a folder below.
    fn files_in(&self, name: &str) -> Vec<String> {
        let entries = self.beneath.list(&self.path(name)).unwrap_or_default().into_iter();
        let files = entries.filter(|entry| matches!(entry.kind, DirEntryKind::File { .. }));
        files.filter_map(|entry| Some(entry.path.rsplit('/').next()?.to_owned())).collect()
    }

    fn files(&self) -> Vec<String> {
        let files = self.entries.iter().filter(|entry| matches!(entry.kind, DirEntryKind::File { .. }));
        files.filter_map(|entry| Some(entry.path.rsplit('/').next()?.to_owned())).collect()
    }

    /// The text of a file; what cannot be read as text is a problem.
    fn text(&mut self, name: &str) -> Option<String> {
        let path = self.path(name);
        match self.beneath.read(&path, FILE_BYTES_MAX + 1) {
            Ok(None) => None,
            Ok(Some(content)) if content.len() as u64 > FILE_BYTES_MAX => self.problem(name, "it is longer than 1 MiB"),
            Ok(Some(content)) => match String::from_utf8(content) {
                Ok(text) => Some(text.trim_start_matches('\u{feff}').to_owned()),
                Err(_) => self.problem(name, "it is not UTF-8"),
            },
            Err(error) => self.problem(name, &error.to_string()),
        }
    }

    fn toml(&mut self, name: &str) -> Option<toml::Table> {
        match self.text(name)?.parse() {
            Ok(table) => Some(table),
            Err(error) => self.problem(name, &format!("it is not TOML: {}", error.message())),
        }
    }

    fn problem<T>(&mut self, name: &str, what: &str) -> Option<T> {
        let file = self.path(name);
        self.project.problems.push(ProjectProblem { file, what: what.to_owned() });
        None
    }

    fn found(&mut self, kind: ProjectKind) {
        self.project.kinds.push((kind, self.folder.to_owned()));
    }

    fn command(&mut self, kind: ProjectKind, purpose: Purpose, because: &str, argv: &[&str]) -> &mut ProjectCommand {
        let because = self.path(because);
        self.project.commands.push(ProjectCommand {
            purpose,
            kind,
            folder: self.folder.to_owned(),
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            needs: argv.first().map(|word| (*word).to_owned()).into_iter().collect(),
            environment: BTreeMap::new(),
            because,
            must_be_silent: false,
        });
        self.project.commands.last_mut().expect("one was just added")
    }
}

impl ProjectCommand {
    fn needs(&mut self, program: &str) -> &mut Self {
        self.needs.push(program.to_owned());
        self
    }

    fn with(&mut self, name: &str, value: &str) -> &mut Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }
}

#[cfg(test)]
mod tests;
