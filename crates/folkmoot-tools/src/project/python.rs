//! Python: the tools that the project is set up for.

use toml::{Table, Value};

use super::{ProjectKind, Purpose, ScannedFolder};

pub(super) fn detect(place: &mut ScannedFolder<'_>) {
    let known = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini"];
    let Some(file) = known.into_iter().find(|file| place.has(file)) else { return };
    place.found(ProjectKind::Python);
    let project = place.toml("pyproject.toml").unwrap_or_default();
    let setup = place.text("setup.cfg").unwrap_or_default();
    let tool = |name: &str| project.get("tool").and_then(Value::as_table).is_some_and(|tools| tools.contains_key(name));
    let section = |name: &str| setup.lines().any(|line| line.trim() == format!("[{name}]"));

    // Folders that do not belong to the project.
    let others = r"(^|/)(\.venv|venv|\.tox|node_modules|\.git)/";
    place.command(ProjectKind::Python, Purpose::Build, file, &["python3", "-m", "compileall", "-q", "-x", others, "."]);

    let pytest = if tool("pytest") {
        Some("pyproject.toml [tool.pytest]")
    } else if section("tool:pytest") {
        Some("setup.cfg [tool:pytest]")
    } else if let Some(file) =
        ["pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py"].into_iter().find(|file| exists(place, file))
    {
        Some(file)
    } else {
        mentions(place, &project, "pytest")
    };
    let is_test = |name: &String| name.starts_with("test") && name.ends_with(".py");
    if let Some(because) = pytest {
        place.command(ProjectKind::Python, Purpose::Test, because, &["python3", "-m", "pytest", "-q"]);
    } else if let Some(folder) = ["tests", "test"].into_iter().find(|folder| place.files_in(folder).iter().any(is_test))
    {
        let argv = ["python3", "-m", "unittest", "discover", "-s", folder, "-t", "."];
        place.command(ProjectKind::Python, Purpose::Test, folder, &argv);
    } else if place.files().iter().any(is_test) {
        place.command(ProjectKind::Python, Purpose::Test, file, &["python3", "-m", "unittest", "discover"]);
    }

    let ruff = if tool("ruff") {
        Some("pyproject.toml [tool.ruff]")
    } else {
        ["ruff.toml", ".ruff.toml"].into_iter().find(|file| place.has(file))
    };
    if let Some(because) = ruff {
        place.command(ProjectKind::Python, Purpose::Lint, because, &["ruff", "check", "--no-cache", "."]);
    } else if section("flake8") || place.has(".flake8") {
        let because = if section("flake8") { "setup.cfg [flake8]" } else { ".flake8" };
        place.command(ProjectKind::Python, Purpose::Lint, because, &["python3", "-m", "flake8"]);
    } else if tool("pylint") || place.has(".pylintrc") {
        let because = if tool("pylint") { "pyproject.toml [tool.pylint]" } else { ".pylintrc" };
        place.command(ProjectKind::Python, Purpose::Lint, because, &["python3", "-m", "pylint", "--recursive=y", "."]);
    }

    if tool("mypy") || section("mypy") || place.has("mypy.ini") || place.has(".mypy.ini") {
        place.command(ProjectKind::Python, Purpose::Typecheck, file, &["python3", "-m", "mypy", "."]);
    } else if tool("pyright") || place.has("pyrightconfig.json") {
        place.command(ProjectKind::Python, Purpose::Typecheck, file, &["pyright"]);
    }

    if tool("black") {
        let because = "pyproject.toml [tool.black]";
        place.command(ProjectKind::Python, Purpose::Format, because, &["python3", "-m", "black", "--check", "-q", "."]);
    } else if let Some(because) = ruff {
        place.command(ProjectKind::Python, Purpose::Format, because, &["ruff", "format", "--no-cache", "--check", "."]);
    }

    if tool("bandit") || place.has(".bandit") {
        place.command(ProjectKind::Python, Purpose::Security, file, &["python3", "-m", "bandit", "-q", "-r", "."]);
    }
}

fn exists(place: &ScannedFolder<'_>, path: &str) -> bool {
    match path.split_once('/') {
        Some((folder, name)) => place.files_in(folder).iter().any(|file| file == name),
        None => place.has(path),
    }
}

/// Where a package is mentioned.
fn mentions(place: &mut ScannedFolder<'_>, project: &Table, package: &str) -> Option<&'static str> {
    let asks = |requirement: &str| {
        let name: String =
            requirement.trim().chars().take_while(|c| c.is_alphanumeric() || "-_.".contains(*c)).collect();
        name.eq_ignore_ascii_case(package)
    };
    let texts = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let table = project.get("project").and_then(Value::as_table);
    let mut wanted = texts(table.and_then(|table| table.get("dependencies")));
    let optional = table.and_then(|table| table.get("optional-dependencies")).and_then(Value::as_table);
    let groups = project.get("dependency-groups").and_then(Value::as_table);
    for group in optional.into_iter().chain(groups).flat_map(|groups| groups.values()) {
        wanted.extend(texts(Some(group)));
    }
    if wanted.iter().any(|requirement| asks(requirement)) {
        return Some("pyproject.toml");
    }
    ["requirements.txt", "requirements-dev.txt", "dev-requirements.txt"]
        .into_iter()
        .find(|file| place.has(file) && place.text(file).is_some_and(|text| text.lines().any(asks)))
}
