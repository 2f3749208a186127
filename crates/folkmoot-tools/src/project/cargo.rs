//! Rust, by Cargo.

use super::{ProjectKind, Purpose, ScannedFolder};

pub(super) fn detect(place: &mut ScannedFolder<'_>) {
    const FILE: &str = "Cargo.toml";
    if !place.has(FILE) {
        return;
    }
    place.found(ProjectKind::Cargo);
    // Cargo could not read it either.
    let Some(manifest) = place.toml(FILE) else { return };
    if !manifest.contains_key("package") && !manifest.contains_key("workspace") {
        place.problem::<()>(FILE, "it has neither [package] nor [workspace]");
        return;
    }
    let mut add = |purpose, because: &str, needs: Option<&str>, argv: &[&str]| {
        let command = place.command(ProjectKind::Cargo, purpose, because, argv);
        if let Some(program) = needs {
            command.needs(program);
        }
    };
    let all = "--workspace";
    add(Purpose::Build, FILE, None, &["cargo", "build", all, "--all-targets", "--offline"]);
    add(Purpose::Test, FILE, None, &["cargo", "test", all, "--offline"]);
    add(
        Purpose::Lint,
        FILE,
        Some("cargo-clippy"),
        &["cargo", "clippy", all, "--all-targets", "--offline", "--", "-D", "warnings"],
    );
    add(Purpose::Typecheck, FILE, None, &["cargo", "check", all, "--all-targets", "--offline"]);
    add(Purpose::Format, FILE, Some("cargo-fmt"), &["cargo", "fmt", "--all", "--check"]);
    // Without benchmarks, `cargo bench` measures nothing and succeeds.
    if manifest.contains_key("bench") || place.has_folder("benches") {
        let because = if manifest.contains_key("bench") { "Cargo.toml [[bench]]" } else { "benches" };
        place.command(ProjectKind::Cargo, Purpose::Bench, because, &["cargo", "bench", all, "--offline"]);
    }
    if place.has("deny.toml") {
        // Advisories need a downloaded database.
        let argv = ["cargo", "deny", "--offline", "check", "bans", "licenses", "sources"];
        place.command(ProjectKind::Cargo, Purpose::Security, "deny.toml", &argv).needs("cargo-deny");
    } else if place.has("Cargo.lock") {
        let argv = ["cargo", "audit", "--no-fetch"];
        place.command(ProjectKind::Cargo, Purpose::Security, "Cargo.lock", &argv).needs("cargo-audit");
    }
}
