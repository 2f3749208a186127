//! A project's own commands, in the jail.

use std::{fs, path::Path, time::Duration};

use folkmoot_tools::{
    Jail, JailError, JailLimits, JobEnd, Limit, Profile,
    jail::Helper,
    project::{CommandResult, Project, ProjectCheck, Purpose, check, detect},
};
use tokio::sync::OnceCell;

pub(crate) async fn jail() -> Jail {
    static JAIL: OnceCell<Jail> = OnceCell::const_new();
    JAIL.get_or_init(async || Jail::probe(Helper::at(env!("CARGO_BIN_EXE_folkmoot-jail"))).await).await.clone()
}

fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let project = detect(folder.path()).unwrap();
    (folder, project)
}

fn limits() -> JailLimits {
    JailLimits { wall: Duration::from_secs(60), ..JailLimits::of(Profile::Project) }
}

async fn one(folder: &Path, project: &Project, purpose: Purpose) -> CommandResult {
    let ran = check(&jail().await, folder, project, purpose, &limits()).await.unwrap();
    let ProjectCheck::Ran(mut results) = ran else { panic!("{ran:?}") };
    assert_eq!(results.len(), 1);
    results.remove(0)
}

#[tokio::test]
async fn a_targets_end_decides_whether_it_passed() {
    let makefile = "build:\n\t@echo made > out.txt\ntest:\n\t@echo it is wrong; exit 3\nlint:\n\t@seq 1 9999\nbench:\n\t@sleep 60\n";
    let (folder, project) = project(&[("Makefile", makefile)]);
    let build = one(folder.path(), &project, Purpose::Build).await;
    assert_eq!((build.end, build.passed), (JobEnd::Exited(0), true), "{}", build.output);
    assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), "made\n");

    let test = one(folder.path(), &project, Purpose::Test).await;
    assert!(!test.passed && test.end == JobEnd::Exited(2) && test.output.contains("it is wrong"), "{test:?}");
    let lint = one(folder.path(), &project, Purpose::Lint).await;
    assert!(lint.passed && lint.output.ends_with("\n9999") && lint.output.chars().count() == 3000, "{lint:?}");

    let hurried = JailLimits { wall: Duration::from_millis(500), ..limits() };
    let bench = check(&jail().await, folder.path(), &project, Purpose::Bench, &hurried).await.unwrap();
    let ProjectCheck::Ran(results) = &bench else { panic!("{bench:?}") };
    assert_eq!((results[0].end, bench.passed()), (JobEnd::Limited(Limit::Wall), false));

    let none = check(&jail().await, folder.path(), &project, Purpose::Security, &limits()).await.unwrap();
    assert_eq!((none.passed(), none), (false, ProjectCheck::NoCommand));
}

#[tokio::test]
async fn a_crate_is_tested_offline() {
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let code = "pub fn double(n: u32) -> u32 { n * 3 }\n#[test]\nfn doubles() { assert_eq!(double(2), 4); }\n";
    let (folder, project) = project(&[("Cargo.toml", manifest), ("src/lib.rs", code)]);
    let test = one(folder.path(), &project, Purpose::Test).await;
    assert!(!test.passed && test.output.contains("doubles"), "{test:?}");
    fs::write(folder.path().join("src/lib.rs"), code.replace("* 3", "* 2")).unwrap();
    let test = one(folder.path(), &project, Purpose::Test).await;
    assert!(test.passed && test.output.contains("1 passed"), "{test:?}");
    // It is one line, and rustfmt would make three of it.
    let format = one(folder.path(), &project, Purpose::Format).await;
    assert!(!format.passed && format.output.contains("Diff in"), "{format:?}");
}

#[tokio::test]
async fn a_command_starts_in_its_folder() {
    let test = "import unittest\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(open('here').read(), 'x')\n";
    let files = [("service one/requirements.txt", ""), ("service one/here", "x"), ("service one/test_it.py", test)];
    let (folder, project) = project(&files);
    let test = one(folder.path(), &project, Purpose::Test).await;
    assert!(test.passed && test.output.contains("Ran 1 test"), "{test:?}");
    let build = one(folder.path(), &project, Purpose::Build).await;
    assert!(build.passed, "{build:?}");
    fs::write(folder.path().join("service one/broken.py"), "def (:\n").unwrap();
    assert!(!one(folder.path(), &project, Purpose::Build).await.passed);
}

#[tokio::test]
async fn the_scripts_of_a_package_run() {
    let package = r#"{"name": "p", "scripts": {"test": "node -e \"process.exit(Number(process.env.CI !== 'true'))\"", "lint": "exit 1"}}"#;
    let (folder, project) = project(&[("package.json", package)]);
    match check(&jail().await, folder.path(), &project, Purpose::Test, &limits()).await.unwrap() {
        ProjectCheck::Unavailable(why) => assert!(why.contains("node") || why.contains("npm"), "{why}"),
        ran => {
            assert!(ran.passed(), "{ran:?}");
            assert!(!one(folder.path(), &project, Purpose::Lint).await.passed);
        }
    }
}

#[tokio::test]
async fn a_program_that_is_missing_has_not_passed() {
    let (folder, mut project) = project(&[("Makefile", "test:\n\ttrue\n")]);
    project.commands[0].needs.push("no-such-program".into());
    let missing = check(&jail().await, folder.path(), &project, Purpose::Test, &limits()).await.unwrap();
    assert!(matches!(&missing, ProjectCheck::Unavailable(why) if why.contains("needs no-such-program")), "{missing:?}");
    assert!(!missing.passed());
    let refused =
        check(&Jail::refuse("not here"), folder.path(), &project, Purpose::Test, &limits()).await.unwrap_err();
    assert!(matches!(refused, JailError::NoJail(_)), "{refused}");
}
