//! Programs in the languages that are found here.

use folkmoot_tools::jail::{Execution, JailError, JailJob, JobEnd, JobReport, Profile, Program, ProgramLanguage};

use super::{jail, text};

fn hello(language: ProgramLanguage) -> &'static str {
    match language {
        ProgramLanguage::Python => "import sys\nprint('hello', sys.argv[1], input())",
        ProgramLanguage::JavaScript => {
            "import fs from 'node:fs'; console.log('hello', process.argv[2], fs.readFileSync(0, 'utf8').trim())"
        }
        ProgramLanguage::Rust => {
            "fn main() { let mut l = String::new(); std::io::stdin().read_line(&mut l).unwrap(); println!(\"hello {} {}\", std::env::args().nth(1).unwrap(), l.trim()) }"
        }
        ProgramLanguage::Go => {
            "package main\nimport (\"fmt\"; \"os\")\nfunc main() { var l string; fmt.Scan(&l); fmt.Println(\"hello\", os.Args[1], l) }"
        }
        ProgramLanguage::Bash => "read line; echo hello \"$1\" \"$line\"",
    }
}

/// A program that fails when it runs.
fn failing(language: ProgramLanguage) -> &'static str {
    match language {
        ProgramLanguage::Python => "assert 1 == 2",
        ProgramLanguage::JavaScript => "throw new Error('no')",
        ProgramLanguage::Rust => "fn main() { assert_eq!(1, 2) }",
        ProgramLanguage::Go => "package main\nfunc main() { panic(1) }",
        ProgramLanguage::Bash => "exit 3",
    }
}

async fn ran(program: Program) -> JobReport {
    match jail().await.execute(program).await.unwrap() {
        Execution::Ran(report) => report,
        Execution::NotCompiled(report) => panic!("{}", text(&report.stderr)),
    }
}

#[tokio::test]
async fn every_language_that_is_here_runs_programs_that_succeed_and_that_fail() {
    let mut here = Vec::new();
    for language in ProgramLanguage::ALL.iter().copied() {
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
            (JobEnd::Exited(0), "hello a b world\n"),
            "{language}: {}",
            text(&report.stderr)
        );
        let report = ran(Program::new(language, failing(language))).await;
        assert!(matches!(report.end, JobEnd::Exited(code) if code != 0), "{language}: {report:?}");
    }
    assert!(here.contains(&ProgramLanguage::Bash) && here.contains(&ProgramLanguage::Python), "{here:?}");
}

#[tokio::test]
async fn a_project_can_borrow_a_tool_chain() {
    let Ok(chain) = jail().await.tool_chain(ProgramLanguage::Rust).await else {
        println!("not tested: there is no Rust here for this user");
        return;
    };
    let mut job = JailJob::new(
        Profile::Project,
        ["sh", "-c", "cargo init --quiet --vcs none --name x . && cargo run --quiet --offline"],
    );
    chain.lend(&mut job);
    let report = jail().await.run(job).await.unwrap();
    assert_eq!(
        (report.end, text(&report.stdout).as_str()),
        (JobEnd::Exited(0), "Hello, world!\n"),
        "{}",
        text(&report.stderr)
    );
}

#[tokio::test]
async fn what_does_not_compile_does_not_run() {
    if jail().await.tool_chain(ProgramLanguage::Rust).await.is_err() {
        println!("not tested: there is no Rust here for this user");
        return;
    }
    let execution = jail().await.execute(Program::new(ProgramLanguage::Rust, "fn main() { nonsense }")).await.unwrap();
    let Execution::NotCompiled(report) = execution else { panic!("{execution:?}") };
    assert_eq!(report.end, JobEnd::Exited(1));
    assert!(text(&report.stderr).contains("nonsense"));
}
