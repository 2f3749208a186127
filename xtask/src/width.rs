//! Part of `cargo xtask lint`: comments and Markdown have at most 100 columns.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::cargo::root;

#[cfg(test)]
mod tests;

const COLUMNS_MAX: usize = 100;

/// Fails with every line that is too wide.
pub(crate) fn check() -> Result<()> {
    let mut wide = Vec::new();
    for file in tracked()? {
        let find = match file.rsplit_once('.') {
            Some((_, "rs")) => wide_comments,
            // Prompts are read by models, not by people.
            Some((_, "md")) if !file.contains("/prompts/") => wide_prose,
            _ => continue,
        };
        let text = fs::read_to_string(root().join(&file)).with_context(|| file.clone())?;
        wide.extend(find(&text).map(|line| format!("{file}:{line}")));
    }
    if !wide.is_empty() {
        bail!("wider than {COLUMNS_MAX} columns, so wrap them:\n  {}", wide.join("\n  "));
    }
    Ok(())
}

/// The files that git knows.
pub(crate) fn tracked() -> Result<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--deduplicate"])
        .current_dir(root())
        .output()
        .context("cannot start git")?;
    Ok(String::from_utf8(listed.stdout)?.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Lines that contain only a comment and are too wide.
fn wide_comments(text: &str) -> Box<dyn Iterator<Item = usize> + '_> {
    Box::new(numbered(text).filter(|(_, line)| line.trim_start().starts_with("//") && is_wide(line)).map(|(n, _)| n))
}

/// Lines of prose that are too wide. Tables, quoted output and links cannot be wrapped.
fn wide_prose(text: &str) -> Box<dyn Iterator<Item = usize> + '_> {
    let mut is_quoted = false;
    Box::new(numbered(text).filter_map(move |(n, line)| {
        let begins = line.trim_start();
        if begins.starts_with("```") {
            is_quoted = !is_quoted;
        }
        let is_prose = !is_quoted && !begins.starts_with('|') && line.trim().contains(' ');
        (is_prose && is_wide(line)).then_some(n)
    }))
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line))
}

fn is_wide(line: &str) -> bool {
    line.chars().count() > COLUMNS_MAX
}
