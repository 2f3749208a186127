//! `cargo xtask supply`: reports what the binary consists of, and whether its build is
//! reproducible.
//!
//! It answers four questions, or says why it cannot: which dependencies are allowed (cargo-deny),
//! which have known vulnerabilities (RustSec), what the binary contains (a CycloneDX list), and
//! whether two builds in two folders give the same bytes.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::{cargo, root, target_dir};

const CYCLONEDX: &str = "0.5.9";

/// Where our own sources are said to be.
const OURS: &str = "/folkmoot";

/// What was asked for.
#[derive(Debug, Default)]
struct Options {
    /// Treats a skipped check as a failure.
    strict: bool,
    /// The profile to build twice, if any.
    reproduce: Option<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let options = read(arguments)?;
    let mut failed = Vec::new();
    let mut tell = |what: &str, answer: Result<String>| match answer {
        Ok(answer) => println!("{what:<12} {answer}"),
        Err(error) => {
            println!("{what:<12} FAILED: {error:#}");
            failed.push(what.to_owned());
        }
    };
    tell("policy", policy());
    tell("advisories", advisories(options.strict));
    tell("contents", contents());
    match &options.reproduce {
        Some(profile) => tell("rebuilt", rebuilt(profile)),
        None => tell("rebuilt", Ok("not run: it builds twice; say --reproduce [PROFILE]".to_owned())),
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(arguments: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--strict" => options.strict = true,
            "--reproduce" => {
                let profile = rest.next_if(|next| !next.starts_with('-'));
                options.reproduce = Some(profile.map_or_else(|| "release".to_owned(), Clone::clone));
            }
            other => bail!("unexpected argument `{other}`; `cargo xtask help` shows what each verb takes"),
        }
    }
    Ok(options)
}

fn policy() -> Result<String> {
    crate::deny::install_if_missing()?;
    quiet(cargo().args(["deny", "--locked", "check", "bans", "licenses", "sources"]))?;
    Ok("banned crates, licences and sources are as deny.toml wants them".to_owned())
}

/// They are in a Git repository, which not every machine can reach.
fn advisories(strict: bool) -> Result<String> {
    let mut check = cargo();
    check.args(["deny", "--locked", "check", "advisories"]);
    if let Err(error) = quiet(cargo().args(["deny", "fetch", "db"])) {
        // An older database is better than none, and the report says so.
        check.arg("--disable-fetch");
        let old = quiet(&mut check);
        let why = error.to_string();
        let why = why.lines().find(|line| line.starts_with("fatal")).unwrap_or("it cannot be fetched").to_owned();
        return match old {
            Ok(()) => Ok("nothing known, by a database that was fetched before".to_owned()),
            Err(_) if !strict => Ok(format!("not run: the RustSec database is not here, and {why}")),
            Err(error) => Err(error.context(why)),
        };
    }
    quiet(&mut check)?;
    Ok("nothing is known to be wrong with anything we depend on".to_owned())
}

/// Lists the contents of the binary.
fn contents() -> Result<String> {
    if quiet(cargo().args(["cyclonedx", "--version"])).is_err() {
        eprintln!("xtask: cargo-cyclonedx is missing; building {CYCLONEDX}, which takes some minutes");
        let installed = cargo()
            .args(["install", "cargo-cyclonedx", "--locked", "--version", CYCLONEDX])
            .env("CARGO_TARGET_DIR", target_dir().join("cyclonedx"))
            .status()?
            .success();
        ensure!(installed, "cannot install cargo-cyclonedx {CYCLONEDX}; see above");
    }
    // It writes beside each manifest, so it works on a copy.
    let copy = copy_of_tree("contents")?;
    let manifest = copy.join("crates/folkmoot/Cargo.toml");
    quiet(
        cargo()
            .current_dir(&copy)
            .args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--no-build-deps"])
            .args(["--override-filename", "folkmoot.cdx", "--manifest-path"])
            .arg(&manifest)
            // The same commit gives the same list.
            .env("SOURCE_DATE_EPOCH", commit_time()?),
    )?;
    let written = fs::read_to_string(copy.join("crates/folkmoot/folkmoot.cdx.json")).context("no list was written")?;
    let listed = written.matches("\"purl\": \"pkg:cargo/").count();
    ensure!(written.contains("\"bomFormat\": \"CycloneDX\"") && listed > 100, "the list has only {listed} crates");
    // Removes the local path, which is private and would differ next time.
    let written = written.replace(&copy.display().to_string(), OURS);
    let told = [root(), target_dir()].into_iter().find(|place| written.contains(&place.display().to_string()));
    ensure!(told.is_none(), "the list tells where it was made: {}", told.unwrap_or_default().display());
    let place = target_dir().join("folkmoot.cdx.json");
    fs::write(&place, written)?;
    fs::remove_dir_all(&copy)?;
    Ok(format!("{listed} components in {}", place.display()))
}

/// Builds twice, in two folders with names of different lengths, and compares.
fn rebuilt(profile: &str) -> Result<String> {
    let mut hashes = Vec::new();
    for name in ["first", "the-second-one"] {
        let copy = copy_of_tree(name)?;
        let target = copy.join("target");
        let mut build = cargo();
        build.current_dir(&copy).args(["build", "--locked", "--package", "folkmoot", "--profile", profile]);
        for (name, value) in settings(&copy)? {
            build.env(name, value);
        }
        let built = build.env("CARGO_TARGET_DIR", &target).status()?.success();
        ensure!(built, "it does not build; see above");
        let folder = if profile == "dev" { "debug" } else { profile };
        // Kept for comparison if they differ.
        let kept = target_dir().join("supply").join(format!("folkmoot-{name}"));
        fs::copy(target.join(folder).join("folkmoot"), &kept).context("nothing was built")?;
        hashes.push(sha256(&kept)?);
        fs::remove_dir_all(&copy)?;
    }
    ensure!(
        hashes[0] == hashes[1],
        "two builds of one tree differ: {} and {}; both are in {}",
        hashes[0],
        hashes[1],
        target_dir().join("supply").display()
    );
    Ok(format!("twice the same: sha256 {} ({profile})", hashes[0]))
}

/// Settings that keep the folder, the user and the date out of the binary.
fn settings(copy: &Path) -> Result<Vec<(&'static str, String)>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"))).context("no home")?;
    // The last match wins, so the inner folder comes last.
    let places = [(home.as_path(), "/cargo"), (copy, OURS)];
    let rust: Vec<String> =
        places.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect();
    let c: Vec<String> = places.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display())).collect();
    Ok(vec![
        ("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}")),
        ("CFLAGS", c.join(" ")),
        ("CARGO_INCREMENTAL", "0".to_owned()),
        ("SOURCE_DATE_EPOCH", commit_time()?),
    ])
}

/// A copy of all files that git tracks.
fn copy_of_tree(name: &str) -> Result<PathBuf> {
    let copy = target_dir().join("supply").join(name);
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().context("no git")?;
    ensure!(listed.status.success(), "git does not know this tree");
    for file in String::from_utf8(listed.stdout)?.split('\0').filter(|file| !file.is_empty()) {
        let (from, to) = (root().join(file), copy.join(file));
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(copy)
}

fn commit_time() -> Result<String> {
    let asked = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()).output()?;
    ensure!(asked.status.success(), "git does not know when this tree was made");
    Ok(String::from_utf8(asked.stdout)?.trim().to_owned())
}

fn sha256(file: &Path) -> Result<String> {
    let summed = Command::new("sha256sum").arg(file).output().context("no sha256sum")?;
    ensure!(summed.status.success(), "{} cannot be read", file.display());
    let said = String::from_utf8(summed.stdout)?;
    Ok(said.split_whitespace().next().unwrap_or_default().to_owned())
}

/// Runs it, and shows what it said only if it failed.
fn quiet(command: &mut Command) -> Result<()> {
    let done =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let tail: Vec<&str> = said.lines().rev().take(20).collect();
    bail!("{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"))
}
