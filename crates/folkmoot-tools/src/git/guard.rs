//! Holds off what a repository's configuration would have git execute.
//!
//! Git reads the repository's own configuration whatever one does, and there is no switch that
//! ignores it. But what is given with the command comes last and wins. So every command is given
//! the settings below, and for each driver that the configuration names, settings that switch it
//! off. The names are read before each command and in the same place, because an included file can
//! apply to one branch only.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use super::GitError;

/// More drivers than any honest repository has.
const DRIVERS_MAX: usize = 500;

/// What holds for every command.
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
    // Files that the configuration names, and that a command would read.
    ("mailmap.file", ""),
    ("mailmap.blob", ""),
    ("blame.ignoreRevsFile", ""),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("color.ui", "false"),
    ("advice.detachedHead", "false"),
];

/// The variables that carry settings into a command. In variables rather than `-c`, because a
/// driver's name may have a `=`.
pub(super) fn variables(settings: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut variables = Vec::new();
    for (number, (key, value)) in settings.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}").into(), key));
        variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value));
    }
    variables.push(("GIT_CONFIG_COUNT".into(), (variables.len() / 2).to_string().into()));
    variables
}

/// Switches off each driver among the keys of a configuration, as
/// `git config --list --name-only -z` prints them.
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
            // A filter that is required and does nothing would fail.
            b"filter" => &[("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")],
            // Since git 2.54 hooks can also be in the configuration, where `core.hooksPath` does
            // not reach them.
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

/// Section and name of a key `filter.<name>.clean`. Names can have dots in them.
fn driver(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = key.iter().position(|byte| *byte == b'.')?;
    let last = key.iter().rposition(|byte| *byte == b'.')?;
    let section = &key[..first];
    let name = key.get(first + 1..last)?;
    [&b"filter"[..], b"hook", b"merge"].contains(&section).then_some((section, name))
}

#[cfg(test)]
mod tests;
