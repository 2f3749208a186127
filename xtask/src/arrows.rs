//! `cargo xtask arrows`: checks that our crates depend on each other as ARCHITECTURE.md says.
//!
//! It checks direct normal and build dependencies, on every target and with every feature. Tests
//! may use more. core and debate must not depend on tokio at any depth.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::cargo::cargo;

#[cfg(test)]
mod tests;

/// The crates of ours that each crate may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("folkmoot", &["folkmoot-api", "folkmoot-server"]),
    (
        "folkmoot-server",
        &[
            "folkmoot-api",
            "folkmoot-notify",
            "folkmoot-workflows",
            "folkmoot-engine",
            "folkmoot-store",
            "folkmoot-debate",
            "folkmoot-core",
        ],
    ),
    ("folkmoot-notify", &["folkmoot-outbound", "folkmoot-core"]),
    ("folkmoot-workflows", &["folkmoot-engine", "folkmoot-debate", "folkmoot-llm", "folkmoot-tools", "folkmoot-core"]),
    ("folkmoot-engine", &["folkmoot-store", "folkmoot-core"]),
    ("folkmoot-store", &["folkmoot-core"]),
    ("folkmoot-api", &["folkmoot-debate", "folkmoot-core"]),
    ("folkmoot-tools", &["folkmoot-debate", "folkmoot-llm", "folkmoot-core"]),
    ("folkmoot-llm", &["folkmoot-debate", "folkmoot-outbound", "folkmoot-core"]),
    ("folkmoot-outbound", &["folkmoot-core"]),
    ("folkmoot-debate", &["folkmoot-core"]),
    ("folkmoot-core", &[]),
    // It measures the layers directly and over HTTP.
    (
        "folkmoot-bench",
        &[
            "folkmoot-workflows",
            "folkmoot-engine",
            "folkmoot-debate",
            "folkmoot-store",
            "folkmoot-tools",
            "folkmoot-llm",
            "folkmoot-core",
        ],
    ),
    // For tests alone.
    ("folkmoot-mangle", &[]),
    ("xtask", &[]),
];

pub(crate) fn run() -> Result<ExitCode> {
    let direct = tree(&["--workspace", "--depth", "1", "--prefix", "depth"])?;

    let mut faults = wrong_arrows(&direct);
    for pure in ["folkmoot-core", "folkmoot-debate"] {
        faults.extend(impurities(pure, &tree(&["--package", pure, "--prefix", "depth"])?));
    }
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        bail!("{} of the arrows are wrong; ARCHITECTURE.md draws them", faults.len());
    }
    println!("arrows: all crates depend on each other as designed");
    Ok(ExitCode::SUCCESS)
}

fn tree(which: &[&str]) -> Result<String> {
    let output = cargo()
        .args(["tree", "--locked", "--edges", "normal,build"])
        .args(["--target", "all", "--all-features", "--no-dedupe"])
        .args(which)
        .output()
        .context("cannot start cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("cargo tree printed something other than UTF-8")
}

/// Checks the output of `cargo tree --workspace --depth 1 --prefix depth`: one sentence per
/// violation.
fn wrong_arrows(tree: &str) -> Vec<String> {
    let lines: Vec<(usize, &str)> = tree.lines().filter_map(depth_and_name).collect();
    let ours: BTreeSet<&str> = lines.iter().filter(|(depth, _)| *depth == 0).map(|(_, name)| *name).collect();
    if !ours.contains("folkmoot-core") {
        // Cargo's output format changed, and every violation would pass.
        return vec!["no folkmoot-core in the tree: cannot read what `cargo tree` printed".to_owned()];
    }

    let mut faults = Vec::new();
    let mut from = "";
    for (depth, name) in lines {
        if depth == 0 {
            from = name;
            if allowed(from).is_none() {
                faults.push(format!(
                    "{from} has no rule: add it to ALLOWED in xtask/src/arrows.rs, as ARCHITECTURE.md says"
                ));
            }
        } else if ours.contains(name) && allowed(from).is_some_and(|allowed| !allowed.contains(&name)) {
            faults.push(format!(
                "{from} -> {name} points the wrong way: remove `{name}` from {from}'s Cargo.toml, and move \
                 what it needs to a crate that both may use ({})",
                describe(allowed(from).unwrap_or_default())
            ));
        }
    }
    faults
}

/// Judges the output of `cargo tree --package PURE --prefix depth`.
fn impurities(pure: &str, tree: &str) -> Vec<String> {
    let names: BTreeSet<&str> = tree.lines().filter_map(depth_and_name).map(|(_, name)| name).collect();
    if !names.contains(pure) {
        return vec![format!("cannot read {pure}'s tree as `cargo tree` printed it")];
    }
    names
        .into_iter()
        .filter(|name| *name == "tokio" || name.starts_with("tokio-"))
        .map(|name| {
            format!(
                "{pure} -> … -> {name}: the rules are pure, without async or I/O; see who brings it with \
                 `cargo tree --package {pure} --invert {name}`"
            )
        })
        .collect()
}

fn allowed(from: &str) -> Option<&'static [&'static str]> {
    ALLOWED.iter().find(|(name, _)| *name == from).map(|(_, allowed)| *allowed)
}

fn describe(allowed: &[&str]) -> String {
    match allowed {
        [] => "it may use none of ours".to_owned(),
        some => format!("it may use {}", some.join(", ")),
    }
}

/// `1folkmoot-core v0.1.0 (…)` is `(1, "folkmoot-core")`.
fn depth_and_name(line: &str) -> Option<(usize, &str)> {
    let name_at = line.find(|c: char| !c.is_ascii_digit())?;
    let depth = line[..name_at].parse().ok()?;
    let name = line[name_at..].split_whitespace().next()?;
    Some((depth, name))
}
