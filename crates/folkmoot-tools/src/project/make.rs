//! Make: the targets of a Makefile. It is parsed, never executed: even a dry run executes
//! `$(shell …)`.

use std::collections::BTreeSet;

use super::{ProjectKind, Purpose, ScannedFolder};

pub(super) fn detect(place: &mut ScannedFolder<'_>) {
    // In make's own order.
    let Some(file) = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|file| place.has(file)) else { return };
    place.found(ProjectKind::Make);
    let Some(text) = place.text(file) else { return };
    let targets = targets(&text);
    let wanted: [(Purpose, &[&str]); 7] = [
        (Purpose::Build, &["build", "all", "compile"]),
        (Purpose::Test, &["test", "tests", "check"]),
        (Purpose::Lint, &["lint"]),
        (Purpose::Typecheck, &["typecheck", "type-check", "types", "mypy"]),
        (Purpose::Format, &["format-check", "fmt-check", "check-format", "check-fmt"]),
        (Purpose::Bench, &["bench", "benchmark"]),
        (Purpose::Security, &["security", "audit"]),
    ];
    for (purpose, names) in wanted {
        if let Some(name) = names.iter().find(|name| targets.contains(**name)) {
            place.command(ProjectKind::Make, purpose, &format!("{file} {name}"), &["make", name]);
        }
    }
}

/// Names before a `:` that is not an assignment. Patterns, special targets and computed names are
/// left out.
fn targets(text: &str) -> BTreeSet<&str> {
    let mut targets = BTreeSet::new();
    let mut in_definition = false;
    let mut continued = false;
    for line in text.lines() {
        let was_continued = std::mem::replace(&mut continued, line.ends_with('\\'));
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "define" => in_definition = true,
            "endef" => in_definition = false,
            _ => {}
        }
        if in_definition || was_continued || line.starts_with(['\t', '#', ' ']) {
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        let assigns = rest.trim_start_matches(':').starts_with('=') || names.contains('=') || names.contains('#');
        // `target: VARIABLE = value` only sets a variable.
        let sets = rest.split_whitespace().nth(1).is_some_and(|word| ["=", ":=", "::=", "?=", "+="].contains(&word));
        if assigns || sets {
            continue;
        }
        targets
            .extend(names.split_whitespace().filter(|name| !name.starts_with('.') && !name.contains(['%', '$', '/'])));
    }
    targets
}

#[cfg(test)]
mod tests;
