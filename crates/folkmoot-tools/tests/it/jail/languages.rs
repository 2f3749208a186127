//! Programs in the languages that are found here.

use folkmoot_tools::jail::{End, Execution, JailError, Job, Language, Profile, Program, Report};

use super::{jail, text};

fn hello(language: Language) -> &'static str {
    match language {
        Language::Python => "import sys\nprint('hello', sys.argv[1], input())",
        Language::JavaScript => {
            "import fs from 'node:fs'; console.log('hello', process.argv[2], fs.readFileSync(0, 'utf8').trim())"
        }
        Language::Rust => {
            "fn main() { let mut l = String::new(); std::io::stdin().read_line(&mut l).unwrap(); println!(\"hello {} {}\", std::env::args().nth(1).unwrap(), l.trim()) }"
        }
        Language::Go => {
            "package main\nimport (\"fmt\"; \"os\")\nfunc main() { var l string; fmt.Scan(&l); fmt.Println(\"hello\", os.Args[1], l) }"
        }
        Language::Bash => "read line; echo hello \"$1\" \"$line\"",
    }
}

/// A program that fails when it runs.
fn failing(language: Language) -> &'static str {
    match language {
        Language::Python => "assert 1 == 2",
        Language::JavaScript => "throw new Error('no')",
        Language::Rust => "fn main() { assert_eq!(1, 2) }",
        Language::Go => "package main\nfunc main() { panic(1) }",
        Language::Bash => "exit 3",
    }
}

async fn ran(program: Program) -> Report {
    match jail().await.execute(program).await.unwrap() {
        Execution::Ran(report) => report,
        Execution::NotCompiled(report) => panic!("{}", text(&report.stderr)),
    }
}

#[tokio::test]
async fn every_language_that_is_here_runs_programs_that_succeed_and_that_fail() {
    let mut here = Vec::new();
    for language in Language::ALL.iter().copied() {
        match jail().await.tool_chain(language).await {
            Ok(chain) => assert!(chain.version.contains(|digit: char| digit.is_ascii_digit()), "{chain:?}"),
            Err(JailError::Missing(why)) => {
                println!("not tested: {why}");
                let error = jail().await.execute(Program::new(language, hello(language))).await.unwrap_err();
                assert!(matches!(&error, JailError::Missing(why) if why.contains("install")), "{error}");
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        here.push(language);
        let program = Program {
            arguments: vec!["a b".to_owned()],
            stdin: b"world\n".to_vec(),
            ..Program::new(language, hello(language))
        };
        let report = ran(program).await;
        assert_eq!(
            (report.end, text(&report.stdout).as_str()),
            (End::Exited(0), "hello a b world\n"),
            "{language}: {}",
            text(&report.stderr)
        );
        let report = ran(Program::new(language, failing(language))).await;
        assert!(matches!(report.end, End::Exited(code) if code != 0), "{language}: {report:?}");
    }
    assert!(here.contains(&Language::Bash) && here.contains(&Language::Python), "{here:?}");
}

#[tokio::test]
async fn a_project_can_borrow_a_tool_chain() {
    let Ok(chain) = jail().await.tool_chain(Language::Rust).await else {
        println!("not tested: there is no Rust here for this user");
        return;
    };
    let mut job = Job::new(
        Profile::Project,
        ["sh", "-c", "cargo init --quiet --vcs none --name x . && cargo run --quiet --offline"],
    );
    chain.lend(&mut job);
    let report = jail().await.run(job).await.unwrap();
    assert_eq!(
        (report.end, text(&report.stdout).as_str()),
        (End::Exited(0), "Hello, world!\n"),
        "{}",
        text(&report.stderr)
    );
}

#[tokio::test]
async fn what_does_not_compile_does_not_run() {
    if jail().await.tool_chain(Language::Rust).await.is_err() {
        println!("not tested: there is no Rust here for this user");
        return;
    }
    let execution = jail().await.execute(Program::new(Language::Rust, "fn main() { nonsense }")).await.unwrap();
    let Execution::NotCompiled(report) = execution else { panic!("{execution:?}") };
    assert_eq!(report.end, End::Exited(1));
    assert!(text(&report.stderr).contains("nonsense"));
}
