use std::fs;

use super::*;

/// What is detected in a folder with these files, a command a line.
fn check(files: &[(&str, &str)], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let project = detect(folder.path()).unwrap();
    let mut found: Vec<String> = project
        .commands
        .iter()
        .map(|command| {
            let place = if command.folder.is_empty() { String::new() } else { format!("{}/ ", command.folder) };
            let silent = if command.must_be_silent { " (silent)" } else { "" };
            format!("{}: {place}{}{silent}", command.purpose, command.argv.join(" "))
        })
        .collect();
    found.extend(project.problems.iter().map(|problem| format!("problem: {}", problem.file)));
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found, expected);
}

#[test]
fn cargo_is_detected_and_stays_off_the_network() {
    check(
        &[("Cargo.toml", "[package]\nname = \"a\""), ("Cargo.lock", ""), ("benches/b.rs", "")],
        "build: cargo build --workspace --all-targets --offline
         test: cargo test --workspace --offline
         lint: cargo clippy --workspace --all-targets --offline -- -D warnings
         typecheck: cargo check --workspace --all-targets --offline
         format: cargo fmt --all --check
         bench: cargo bench --workspace --offline
         security: cargo audit --no-fetch",
    );
}

#[test]
fn only_the_scripts_that_a_package_really_has() {
    let package = r#"{"scripts": {
        "build": "tsc -p .", "test": "echo \"Error: no test specified\" && exit 1", "lint": "eslint .",
        "format": "prettier --write .", "audit": "npm audit", "start": "node ."}}"#;
    check(&[("package.json", package)], "build: npm run build\nlint: npm run lint");
    let package = r#"{"packageManager": "pnpm@9.1.0", "scripts": {
        "test": "vitest run", "type-check": "tsc --noEmit", "format:check": "prettier --check ."}}"#;
    check(
        &[("package.json", package), ("yarn.lock", "")],
        "test: pnpm run test\ntypecheck: pnpm run type-check\nformat: pnpm run format:check",
    );
    check(&[("package.json", "{}"), ("bun.lock", "")], "");
}

#[test]
fn go_lists_what_is_not_formatted_and_must_be_silent() {
    check(
        &[("go.mod", "module example.com/a\n\ngo 1.22\n"), (".golangci.yml", "")],
        "build: go build ./...
         test: go test ./...
         typecheck: go vet ./...
         bench: go test -run ^$ -bench . ./...
         lint: golangci-lint run
         format: gofmt -l . (silent)",
    );
}

#[test]
fn python_has_what_it_is_set_up_for() {
    let compile = r"build: python3 -m compileall -q -x (^|/)(\.venv|venv|\.tox|node_modules|\.git)/ .";
    check(
        &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n[tool.bandit]\n")],
        &format!(
            "{compile}
             test: python3 -m pytest -q
             lint: ruff check --no-cache .
             typecheck: python3 -m mypy .
             format: ruff format --no-cache --check .
             security: python3 -m bandit -q -r ."
        ),
    );
    check(
        &[("pyproject.toml", "[project]\nname = \"a\"\n[dependency-groups]\ndev = [\"pytest>=8\"]\n[tool.black]")],
        &format!("{compile}\ntest: python3 -m pytest -q\nformat: python3 -m black --check -q ."),
    );
    check(
        &[("setup.py", ""), ("setup.cfg", "[flake8]\n"), ("tests/test_a.py", "")],
        &format!("{compile}\ntest: python3 -m unittest discover -s tests -t .\nlint: python3 -m flake8"),
    );
    check(&[("requirements.txt", "# tests\nPyTest==8\n")], &format!("{compile}\ntest: python3 -m pytest -q"));
    // Nothing says how it would be tested.
    check(&[("requirements.txt", "pytest-cov-like\n")], compile);
}

#[test]
fn make_has_the_targets_that_exist() {
    check(
        &[("Makefile", "all: a\ncheck:\n\ttrue\nlint:\n\truff\nformat:\n\tfmt\n")],
        "build: make all\ntest: make check\nlint: make lint",
    );
}

#[test]
fn a_repository_can_be_several_things() {
    let files = [
        ("go.mod", "module a\n"),
        ("Makefile", "test:\n\tgo test\nsecurity:\n\ttrue\n"),
        ("web/package.json", r#"{"scripts": {"test": "vitest run"}}"#),
        ("tools/go.mod", "module tools\n"),
        ("node_modules/x/package.json", r#"{"scripts": {"test": "x"}}"#),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let project = detect(folder.path()).unwrap();
    let kinds =
        [(ProjectKind::Go, String::new()), (ProjectKind::Make, String::new()), (ProjectKind::Npm, "web".to_owned())];
    assert_eq!(project.kinds, kinds);
    let argv =
        |purpose| project.commands(purpose).into_iter().map(|command| command.argv.join(" ")).collect::<Vec<_>>();
    // Make's own only where nobody else has one.
    assert_eq!(argv(Purpose::Test), ["go test ./...", "npm run test"]);
    assert_eq!(argv(Purpose::Security), ["make security"]);
}

#[test]
fn what_is_broken_is_reported_and_stops_nothing() {
    check(
        &[
            ("Cargo.toml", "[package\n"),
            ("package.json", "{,}"),
            ("go.mod", "nothing here\n"),
            ("pyproject.toml", "= ="),
            ("Makefile", "lint:\n\ttrue\n"),
            ("a/Cargo.toml", "x = 1\n"),
        ],
        r"build: python3 -m compileall -q -x (^|/)(\.venv|venv|\.tox|node_modules|\.git)/ .
          lint: make lint
          problem: Cargo.toml
          problem: package.json
          problem: go.mod
          problem: pyproject.toml",
    );
    check(&[("package.json", r#"{"scripts": []}"#)], "problem: package.json");
    check(&[("package.json", r#"{"scripts": {"test": 1, "lint": ""}}"#)], "");
    check(&[("Cargo.toml", "[lib]\n")], "problem: Cargo.toml");
}

#[test]
fn files_that_are_not_text_or_not_files_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Cargo.toml"), b"[package]\nname = \"\xff\"").unwrap();
    fs::write(folder.path().join("go.mod"), vec![b'a'; FILE_BYTES_MAX as usize + 1]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("package.json")).unwrap();
    let project = detect(folder.path()).unwrap();
    assert!(project.is_empty());
    let files: Vec<_> = project.problems.iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(files, ["Cargo.toml", "go.mod"]);
}

#[test]
fn nothing_detected_is_nothing_and_a_missing_folder_an_error() {
    check(&[("README.md", "# Hello")], "");
    assert!(detect(Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn each_hook_checks_something() {
    let all = [Hook::PostProposal, Hook::PostOptimization, Hook::PostAdversarial, Hook::PostConvergence];
    assert!(all.iter().all(|hook| !hook.purposes().is_empty()));
}
