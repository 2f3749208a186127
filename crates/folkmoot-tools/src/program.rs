//! Makes a program of this machine available to a job, if it is not in the system's folders.
//!
//! ```text
//! /usr/bin/x                        as it is
//! …/venv/bin/x, a Python script     the whole environment, and the Python that it was made of
//! …/node_modules/…/x.js             the outermost node_modules, and Node.js
//! rustup's x                        the tool chain
//! any other binary                  that one file
//! ```
//!
//! A folder is shared only if it evidently contains nothing but programs.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use crate::{
    child,
    jail::{Jail, JailError, JailJob, ProgramLanguage, Readable, can_be_lent},
    project::tools,
};

/// Makes a program readable for a job, and returns the path to execute.
pub(crate) async fn lend(jail: &Jail, program: &str, job: &mut JailJob) -> Result<Vec<String>, JailError> {
    let found = child::find(program, &BTreeMap::new()).and_then(|path| std::path::absolute(path).ok());
    let found = found.ok_or_else(|| JailError::Missing(format!("`{program}` is not installed, or not on PATH")))?;
    let unlendable = |why: &str| JailError::Missing(format!("{} cannot be used in the jail: {why}", found.display()));
    let real = fs::canonicalize(&found).map_err(|error| unlendable(&error.to_string()))?;
    let name = found.file_name().and_then(|name| name.to_str()).unwrap_or("program").to_owned();
    if real.file_name().is_some_and(|real| real == "rustup") {
        return of_rustup(jail, &name, job).await;
    }
    let sort = FileSort::of(&real).map_err(|error| unlendable(&error.to_string()))?;
    let place = Path::new("/opt/program").join(&name);
    match sort {
        FileSort::Script(Interpreter::Node) => {
            tools::lend(jail, ProgramLanguage::JavaScript, job).await?;
            let script = match (is_system(&real), outermost(&real, "node_modules")) {
                (true, _) => real,
                (false, Some(modules)) => put(job, &modules, &place.join("node_modules"), &real)?,
                (false, None) => put(job, &real, &place.join(&name), &real)?,
            };
            Ok(vec!["node".to_owned(), text(&script)?])
        }
        _ if is_system(&found) && is_system(&real) => Ok(vec![text(&found)?]),
        FileSort::Script(Interpreter::Python) => {
            let folder = real.parent().unwrap_or(&real).to_owned();
            let prefix = python_prefix(&folder).ok_or_else(|| {
                unlendable(
                    "it is not in a virtual environment, so that nobody knows what belongs to it; install it in one",
                )
            })?;
            let script = lend_python(job, &prefix, &place, &real)?;
            Ok(vec![text(&beside(&script, "python3"))?, text(&script)?])
        }
        FileSort::Binary if name.starts_with("python") => {
            let folder = found.parent().and_then(|folder| fs::canonicalize(folder).ok());
            let prefix = folder.as_deref().and_then(python_prefix);
            let (Some(folder), Some(prefix)) = (folder, prefix) else {
                return Err(unlendable("nobody knows what belongs to it; use one that has a folder of its own"));
            };
            Ok(vec![text(&lend_python(job, &prefix, &place, &folder.join(&name))?)?])
        }
        FileSort::Binary => Ok(vec![text(&put(job, &real, &place.join(&name), &real)?)?]),
        FileSort::Script(Interpreter::Other(interpreter)) => Err(unlendable(&format!(
            "it is a script for `{interpreter}`, and nobody knows what else it needs; name the program that it starts"
        ))),
    }
}

/// Puts a program's folder first in `PATH`.
pub(crate) fn put_first(job: &mut JailJob, program: &str) {
    if let Some(folder) = Path::new(program).parent().and_then(Path::to_str).filter(|folder| !folder.is_empty()) {
        let rest = job.environment.get("PATH").map_or(crate::jail::PATH, String::as_str);
        let path = format!("{folder}:{rest}");
        job.environment.insert("PATH".to_owned(), path);
    }
}

async fn of_rustup(jail: &Jail, name: &str, job: &mut JailJob) -> Result<Vec<String>, JailError> {
    let chain = jail.tool_chain(ProgramLanguage::Rust).await?;
    tools::lend(jail, ProgramLanguage::Rust, job).await?;
    match chain.home().is_some_and(|home| home.join("bin").join(name).is_file()) {
        true => Ok(vec![name.to_owned()]),
        false => Err(JailError::Missing(format!(
            "`{name}` is not in the tool chain that rustup uses here; `rustup component add {name}` adds it"
        ))),
    }
}

/// The type of a file, by its first bytes.
enum FileSort {
    Binary,
    Script(Interpreter),
}

enum Interpreter {
    Python,
    Node,
    Other(String),
}

impl FileSort {
    fn of(file: &Path) -> std::io::Result<Self> {
        let mut first = Vec::new();
        File::open(file)?.take(256).read_to_end(&mut first)?;
        let Some(line) = first.strip_prefix(b"#!") else { return Ok(Self::Binary) };
        let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let named = words.find(|word| *word != "env" && !word.starts_with('-')).unwrap_or("sh");
        // Installers write a shell script that starts Python if its path is too long for a first
        // line.
        let interpreter = match named {
            named if named.starts_with("python") => Interpreter::Python,
            "sh" if String::from_utf8_lossy(&first).contains("\n'''exec'") => Interpreter::Python,
            "node" | "nodejs" => Interpreter::Node,
            other => Interpreter::Other(other.to_owned()),
        };
        Ok(Self::Script(interpreter))
    }
}

/// The Python environment of this folder: a virtual one, or a complete installation.
fn python_prefix(folder: &Path) -> Option<PathBuf> {
    let prefix = folder.parent()?;
    let python = fs::canonicalize(folder.join("python3")).ok()?;
    let is_its_own = python.parent() == Some(folder) && folder.ends_with("bin");
    (prefix.join("pyvenv.cfg").is_file() || is_its_own).then(|| prefix.to_owned())
}

/// Makes a Python environment and its base readable. Returns the path of a file in it.
fn lend_python(job: &mut JailJob, prefix: &Path, place: &Path, file: &Path) -> Result<PathBuf, JailError> {
    // Only for a complete Python: an environment finds its library by its configuration.
    job.environment.remove("PYTHONHOME");
    let python = fs::canonicalize(prefix.join("bin/python3"))
        .map_err(|error| JailError::Missing(format!("{} has no Python: {error}", prefix.display())))?;
    let base = python.parent().and_then(Path::parent).unwrap_or(prefix);
    if !is_system(&python) && base != prefix {
        // At its own path, because the environment refers to it.
        put(job, base, base, &python)?;
    }
    let same = Readable { host: prefix.to_owned(), inside: prefix.to_owned() };
    let inside = if can_be_lent(&same) { prefix } else { place };
    put(job, prefix, inside, file)
}

/// Makes a folder or file readable, and returns the path of a file in it.
fn put(job: &mut JailJob, host: &Path, inside: &Path, file: &Path) -> Result<PathBuf, JailError> {
    let readable = Readable { host: host.to_owned(), inside: inside.to_owned() };
    if !can_be_lent(&readable) {
        return Err(JailError::Missing(format!(
            "{} cannot be where a job has its own files; install it elsewhere",
            host.display()
        )));
    }
    let is_there = |other: &&Readable| inside.starts_with(&other.inside) && host.starts_with(&other.host);
    if !job.readable.iter().any(|other| is_there(&other)) {
        job.readable.push(readable);
    }
    let below = file.strip_prefix(host).unwrap_or(Path::new(""));
    Ok(if below.as_os_str().is_empty() { inside.to_owned() } else { inside.join(below) })
}

fn beside(file: &Path, name: &str) -> PathBuf {
    file.parent().unwrap_or(file).join(name)
}

fn outermost(path: &Path, name: &str) -> Option<PathBuf> {
    path.ancestors().filter(|above| above.ends_with(name)).last().map(Path::to_owned)
}

/// Whether every job sees it.
fn is_system(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/gnu/store"]
        .iter()
        .any(|system| path.starts_with(system))
}

fn text(path: &Path) -> Result<String, JailError> {
    path.to_str().map(str::to_owned).ok_or_else(|| JailError::Invalid(format!("{} is no text", path.display())))
}

#[cfg(test)]
mod tests;
