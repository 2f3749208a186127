//! Go.

use super::{ProjectKind, Purpose, ScannedFolder};

pub(super) fn detect(place: &mut ScannedFolder<'_>) {
    let Some(file) = ["go.work", "go.mod"].into_iter().find(|file| place.has(file)) else { return };
    place.found(ProjectKind::Go);
    let Some(text) = place.text(file) else { return };
    let directive = if file == "go.mod" { "module" } else { "use" };
    if !text.lines().any(|line| line.split_whitespace().next() == Some(directive)) {
        place.problem::<()>(file, &format!("it has no {directive}"));
        return;
    }
    let mut add = |purpose, because: &str, argv: &[&str]| {
        let command = place.command(ProjectKind::Go, purpose, because, argv);
        command
            .with("GOPROXY", "off")
            .with("GOFLAGS", "-mod=readonly")
            .with("GOTOOLCHAIN", "local")
            .with("GOSUMDB", "off");
    };
    add(Purpose::Build, file, &["go", "build", "./..."]);
    add(Purpose::Test, file, &["go", "test", "./..."]);
    add(Purpose::Typecheck, file, &["go", "vet", "./..."]);
    add(Purpose::Bench, file, &["go", "test", "-run", "^$", "-bench", ".", "./..."]);
    let linter = [".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"]
        .into_iter()
        .find(|file| place.has(file));
    match linter {
        Some(because) => place.command(ProjectKind::Go, Purpose::Lint, because, &["golangci-lint", "run"]).needs("go"),
        None => place.command(ProjectKind::Go, Purpose::Lint, file, &["go", "vet", "./..."]),
    }
    .with("GOPROXY", "off")
    .with("GOTOOLCHAIN", "local");
    // It lists files and still exits with 0.
    place.command(ProjectKind::Go, Purpose::Format, file, &["gofmt", "-l", "."]).must_be_silent = true;
}
