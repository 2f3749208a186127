//! Prevents git from executing what a repository configures.
//!
//! Git always reads the repository's configuration, but settings given with the command override
//! it. So every command gets the settings below, and settings that disable each driver that the
//! configuration names. The names are read before each command and in the same place, because an
//! included file can apply to a single branch.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use super::GitError;

/// More drivers than any honest repository has.
const DRIVERS_MAX: usize = 500;

/// Settings for every command.
pub(super) const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.askPass", ""),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.quotePath", "true"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    // `git log` would start the signature program.
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("worktree.useRelativePaths", "false"),
    // Files that the configuration names and a command would read.
    ("mailmap.file", ""),
    ("mailmap.blob", ""),
    ("blame.ignoreRevsFile", ""),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("color.ui", "false"),
    ("advice.detachedHead", "false"),
];

/// The variables that pass settings to a command. Not `-c`, because a driver's name may contain
/// `=`.
pub(super) fn variables(settings: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut variables = Vec::new();
    for (number, (key, value)) in settings.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}").into(), key));
        variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value));
    }
    variables.push(("GIT_CONFIG_COUNT".into(), (variables.len() / 2).to_string().into()));
    variables
}

/// Disables each driver among these configuration keys, as `git config --list --name-only -z`
/// prints them.
pub(super) fn drivers_off(keys: &[u8]) -> Result<Vec<(OsString, OsString)>, GitError> {
    let mut drivers = BTreeSet::new();
    for key in keys.split(|byte| *byte == 0) {
        let Some((section, name)) = driver(key) else { continue };
        drivers.insert((section, name));
    }
    if drivers.len() > DRIVERS_MAX {
        return Err(GitError::TooLarge(format!("the repository's configuration has more than {DRIVERS_MAX} drivers")));
    }
    let mut off = Vec::new();
    for (section, name) in drivers {
        let switches: &[(&str, &str)] = match section {
            // A required filter that does nothing would fail.
            b"filter" => &[("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")],
            // Since git 2.54 the configuration can contain hooks too, which `core.hooksPath` does
            // not disable.
            b"hook" => &[("enabled", "false")],
            _ => &[("driver", "false")],
        };
        for (variable, value) in switches {
            let key = [section, b".", name, b".", variable.as_bytes()].concat();
            off.push((OsStr::from_bytes(&key).to_owned(), (*value).into()));
        }
    }
    Ok(off)
}

/// Section and name of a key such as `filter.<name>.clean`. Names may contain dots.
fn driver(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = key.iter().position(|byte| *byte == b'.')?;
    let last = key.iter().rposition(|byte| *byte == b'.')?;
    let section = &key[..first];
    let name = key.get(first + 1..last)?;
    [&b"filter"[..], b"hook", b"merge"].contains(&section).then_some((section, name))
}

#[cfg(test)]
mod tests;
