//! A project's own commands: detects them and runs them in the jail.
//!
//! ```text
//! detect(folder) ─▶ Project: commands for build, test, lint, …
//! run(jail, folder, command) ─▶ CommandResult
//! check(jail, folder, project, purpose) ─▶ Check
//! ```
//!
//! Detection reads files and executes nothing, not even `make -n`. A file that cannot be parsed is
//! reported and does not stop detection. If a project has no command for a purpose, that purpose
//! has not passed.

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

const FILE_BYTES_MAX: u64 = 1 << 20;

folkmoot_core::vocabulary! {
    /// The build tool of a project.
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
    pub enum Purpose {
        Build = "build",
        Test = "test",
        Lint = "lint",
        Typecheck = "typecheck",
        /// Checks the formatting without changing anything.
        Format = "format",
        Bench = "bench",
        /// Looks for known vulnerabilities.
        Security = "security",
    }
}

folkmoot_core::vocabulary! {
    /// When a debate runs the project's commands.
    pub enum Hook {
        PostProposal = "post_proposal",
        PostOptimization = "post_optimization",
        PostAdversarial = "post_adversarial",
        PostConvergence = "post_convergence",
    }
}

impl Hook {
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The build tools, each with its folder; `""` is the top.
    pub kinds: Vec<(ProjectKind, String)>,
    /// In a fixed order.
    pub commands: Vec<ProjectCommand>,
    pub problems: Vec<ProjectProblem>,
}

/// A command of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCommand {
    pub purpose: Purpose,
    pub kind: ProjectKind,
    /// The folder to run it in; `""` is the top.
    pub folder: String,
    pub argv: Vec<String>,
    /// Programs that it needs.
    pub needs: Vec<String>,
    /// Variables that keep it off the network.
    pub environment: BTreeMap<String, String>,
    /// What indicates this command.
    pub because: String,
    /// It passes only without output: some programs list problems and still exit with 0.
    pub must_be_silent: bool,
}

/// A file of a project that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectProblem {
    pub file: String,
    pub what: String,
}

impl Project {
    /// The commands for a purpose. Make's are used only if there is no other, because a Makefile
    /// usually calls the others.
    pub fn commands(&self, purpose: Purpose) -> Vec<&ProjectCommand> {
        let all: Vec<&ProjectCommand> = self.commands.iter().filter(|command| command.purpose == purpose).collect();
        let direct: Vec<&ProjectCommand> =
            all.iter().copied().filter(|command| command.kind != ProjectKind::Make).collect();
        if direct.is_empty() { all } else { direct }
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

/// Examines a folder, and its direct subfolders for what the top lacks.
///
/// # Errors
/// If the folder cannot be read.
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

    /// The names of files in a subfolder.
    fn files_in(&self, name: &str) -> Vec<String> {
        let entries = self.beneath.list(&self.path(name)).unwrap_or_default().into_iter();
        let files = entries.filter(|entry| matches!(entry.kind, DirEntryKind::File { .. }));
        files.filter_map(|entry| Some(entry.path.rsplit('/').next()?.to_owned())).collect()
    }

    fn files(&self) -> Vec<String> {
        let files = self.entries.iter().filter(|entry| matches!(entry.kind, DirEntryKind::File { .. }));
        files.filter_map(|entry| Some(entry.path.rsplit('/').next()?.to_owned())).collect()
    }

    /// The text of a file. Unreadable text is reported as a problem.
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
