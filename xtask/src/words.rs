//! `cargo xtask words`: a type name has one meaning in the whole workspace.
//!
//! It checks structs, enums, unions, traits and type aliases in `crates/*/src`, without tests.

use std::{collections::BTreeMap, fs, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::width::tracked;

#[cfg(test)]
mod tests;

/// Names that several modules define, each with the reason why that is clear.
const ALLOWED: &[(&str, &str)] = &[
    ("Args", "each verb of the command line has its own, and uses it nowhere else"),
    ("Verb", "the verbs below one verb of the command line, in the module of that verb"),
    ("Arguments", "what a model hands to one tool, in the function that reads it"),
    ("Action", "what can be wanted of one noun; other modules write `gate::Action`"),
    ("Needs", "the rows of one noun that a command needs; other modules write `gate::Needs`"),
    ("Loaded", "the rows of one noun that were there; other modules write `gate::Loaded`"),
    ("Telemetry", "only one of its two modules is compiled; the feature `otel` says which"),
    ("Error", "the error of a crate, as in std; other crates write `store::Error`"),
];

/// Where the types are that clients read and write.
const WIRE: &str = "crates/folkmoot-api/src/wire/";

/// Crates whose types may have a wire type of the same name.
const SHOWN_ON_WIRE: &[&str] = &["crates/folkmoot-core/", "crates/folkmoot-debate/", "crates/folkmoot-workflows/"];

pub(crate) fn run() -> Result<ExitCode> {
    let mut definitions = Definitions::new();
    for file in tracked()?.into_iter().filter(|file| is_judged(file)) {
        let text = fs::read_to_string(crate::cargo::root().join(&file)).with_context(|| file.clone())?;
        for (line, name) in defined(&text) {
            definitions.entry(name.to_owned()).or_default().push(Place { file: file.clone(), line });
        }
    }
    if !definitions.contains_key("GateId") || !definitions.contains_key("RunKind") {
        bail!("no GateId or no RunKind in folkmoot-core: cannot read the definitions");
    }

    let faults = ambiguous(&definitions);
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        bail!("{} names have several meanings; give all but one of each a longer name", faults.len());
    }
    println!("words: {} types, and each name means one thing", definitions.len());
    Ok(ExitCode::SUCCESS)
}

/// Each name, with the places that define it.
type Definitions = BTreeMap<String, Vec<Place>>;

#[derive(Clone, Debug)]
struct Place {
    file: String,
    line: usize,
}

/// Whether a file is code of ours that is no test.
fn is_judged(file: &str) -> bool {
    let is_source = file.starts_with("crates/") && file.contains("/src/") && file.ends_with(".rs");
    let is_test = file.split('/').any(|part| matches!(part.trim_end_matches(".rs"), "tests" | "transcript"));
    is_source && !is_test
}

/// One paragraph for each name that is wrongly defined more than once.
fn ambiguous(definitions: &Definitions) -> Vec<String> {
    let is_allowed = |name: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == name);
    let several = definitions.iter().filter(|(name, places)| places.len() > 1 && !is_allowed(name));
    several
        .filter(|(_, places)| !is_wire_twin(places))
        .map(|(name, places)| {
            let places: String = places.iter().map(|place| format!("\n  {}:{}", place.file, place.line)).collect();
            format!("{name}{places}")
        })
        .collect()
}

/// Whether it is a type of the core or a workflow, and its wire type.
fn is_wire_twin(places: &[Place]) -> bool {
    let is_shown = |place: &Place| SHOWN_ON_WIRE.iter().any(|folder| place.file.starts_with(folder));
    let [a, b] = places else { return false };
    let (wire, other) = if a.file.starts_with(WIRE) { (a, b) } else { (b, a) };
    wire.file.starts_with(WIRE) && is_shown(other)
}

/// The types that a file defines outside of its tests, each with its line.
fn defined(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.lines().enumerate().map(|(n, line)| (n + 1, line));
    let tests_begin = tests_begin(text);
    code.take_while(move |(n, _)| *n < tests_begin).filter_map(|(n, line)| Some((n, name(line)?)))
}

/// The line of `#[cfg(test)]` before `mod tests {`. A module in a file of its own does not count.
fn tests_begin(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_begin = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    lines.windows(2).position(is_begin).map_or(usize::MAX, |at| at + 1)
}

/// The name that a line gives to a type.
fn name(line: &str) -> Option<&str> {
    let begins = line.trim_start();
    if let Some(id) = begins.strip_prefix("id!(") {
        return id.split_once("*/").and_then(|(_, rest)| identifier(rest.trim_start()));
    }
    let item = without_visibility(begins);
    let item = item.strip_prefix("unsafe ").unwrap_or(item);
    let (keyword, rest) = item.split_once(' ')?;
    match keyword {
        "struct" | "enum" | "union" | "trait" => identifier(rest),
        // An indented alias belongs to an impl or a trait.
        "type" if begins.len() == line.len() => identifier(rest),
        _ => None,
    }
}

fn without_visibility(item: &str) -> &str {
    match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(item, |(_, rest)| rest),
        Some(rest) => rest.strip_prefix(' ').unwrap_or(item),
        None => item,
    }
}

/// What begins like a type's name: `Gate` of `Gate<'a> {`, and nothing of `$name {`.
fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.starts_with(|c: char| c.is_ascii_uppercase()).then(|| &text[..end])
}
