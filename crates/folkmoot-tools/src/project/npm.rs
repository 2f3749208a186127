//! JavaScript and TypeScript: the scripts in `package.json`.

use serde_json::{Map, Value};

use super::{ProjectKind, Purpose, ScannedFolder};

const FILE: &str = "package.json";

pub(super) fn detect(place: &mut ScannedFolder<'_>) {
    if !place.has(FILE) {
        return;
    }
    place.found(ProjectKind::Npm);
    let Some(text) = place.text(FILE) else { return };
    let package: Map<String, Value> = match serde_json::from_str(&text) {
        Ok(package) => package,
        Err(error) => {
            place.problem::<()>(FILE, &format!("it is not a JSON object: {error}"));
            return;
        }
    };
    let manager = manager(place, &package);
    let scripts = match package.get("scripts") {
        None => return,
        Some(Value::Object(scripts)) => scripts,
        Some(_) => {
            place.problem::<()>(FILE, "its scripts are not an object");
            return;
        }
    };
    let wanted: [(Purpose, &[&str]); 7] = [
        (Purpose::Build, &["build", "compile"]),
        (Purpose::Test, &["test", "test:unit", "tests"]),
        (Purpose::Lint, &["lint", "lint:check"]),
        (Purpose::Typecheck, &["typecheck", "type-check", "check-types", "types:check", "tsc"]),
        (
            Purpose::Format,
            &["format:check", "check-format", "fmt:check", "prettier:check", "check:format", "format", "fmt"],
        ),
        (Purpose::Bench, &["bench", "benchmark"]),
        (Purpose::Security, &["security", "audit"]),
    ];
    for (purpose, names) in wanted {
        let script = names.iter().find(|name| match scripts.get(**name) {
            Some(Value::String(script)) => serves(purpose, script),
            _ => false,
        });
        if let Some(name) = script {
            let because = format!("{FILE} scripts.{name}");
            let command = place.command(ProjectKind::Npm, purpose, &because, &[manager, "run", name]);
            command
                .needs("node")
                .with("CI", "true")
                .with("NPM_CONFIG_OFFLINE", "true")
                .with("NPM_CONFIG_UPDATE_NOTIFIER", "false");
        }
    }
}

/// Whether a script does what its name says.
fn serves(purpose: Purpose, script: &str) -> bool {
    let words: Vec<&str> = script.split_whitespace().collect();
    match purpose {
        // The default of `npm init`.
        Purpose::Test => !script.contains("no test specified"),
        // A script that rewrites files checks nothing.
        Purpose::Format => words.iter().any(|word| ["--check", "-c", "--list-different", "-l", "check"].contains(word)),
        // A script that needs a registry cannot work without the network.
        Purpose::Security => {
            !["npm audit", "yarn audit", "pnpm audit", "bun audit"].iter().any(|audit| script.contains(audit))
        }
        Purpose::Build | Purpose::Lint | Purpose::Typecheck | Purpose::Bench => !words.is_empty(),
    }
}

fn manager(place: &ScannedFolder<'_>, package: &Map<String, Value>) -> &'static str {
    let named = package.get("packageManager").and_then(Value::as_str).and_then(|named| named.split('@').next());
    for manager in ["pnpm", "yarn", "bun", "npm"] {
        if named == Some(manager) {
            return manager;
        }
    }
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun"), ("bun.lock", "bun")];
    locks.iter().find(|(lock, _)| place.has(lock)).map_or("npm", |(_, manager)| manager)
}
