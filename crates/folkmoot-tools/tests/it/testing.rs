//! Tests that agents write, on solutions that agents write, in the jail.

use folkmoot_llm::rehearsal::exercises;
use folkmoot_tools::{
    jail::{Helper, Jail, JailError, JailLimits, ProgramLanguage},
    testing::{
        Category, Difficulty, FailureCause, Solution, Suite, TestCase, TestRun, TestRunStatus, contrast, cross_test,
        limits, run_tests,
    },
};

async fn jail() -> Jail {
    Jail::probe(Helper::at(env!("CARGO_BIN_EXE_folkmoot-jail"))).await
}

fn solution(id: &str, language: ProgramLanguage, code: &str) -> Solution {
    Solution { id: id.to_owned(), language, code: code.to_owned() }
}

fn test(name: &str, code: &str) -> TestCase {
    TestCase {
        name: name.to_owned(),
        category: Category::Functional,
        difficulty: Difficulty::Basic,
        code: code.to_owned(),
    }
}

fn suite(author: &str, tests: &[(&str, &str)]) -> Suite {
    Suite::new(author, tests.iter().map(|(name, code)| test(name, code)).collect()).unwrap()
}

/// Why each of the tests failed.
async fn causes(language: ProgramLanguage, code: &str, tests: &[&str]) -> Vec<Option<FailureCause>> {
    let tests: Vec<TestCase> = tests.iter().enumerate().map(|(number, code)| test(&number.to_string(), code)).collect();
    let suite = Suite::new("tester", tests).unwrap();
    let limits = JailLimits { wall: std::time::Duration::from_secs(5), ..limits(language) };
    let run = run_tests(&jail().await, &solution("s", language, code), &suite, &limits).await.unwrap();
    run.tested.into_iter().map(|tested| tested.failed).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_rehearsal_says_about_its_exercises_is_true() {
    let jail = jail().await;
    for exercise in exercises() {
        let tests = exercise.tests.iter().map(|known| TestCase {
            category: known.category.parse().unwrap(),
            difficulty: known.difficulty.parse().unwrap(),
            ..test(&known.name, &known.code)
        });
        let suite = Suite::new("rehearsal", tests.collect()).unwrap();
        for (number, known) in exercise.solutions.iter().enumerate() {
            let solution = solution("s", ProgramLanguage::Python, &known.code);
            let run = run_tests(&jail, &solution, &suite, &limits(ProgramLanguage::Python)).await.unwrap();
            let right = number == exercise.solutions.len() - 1;
            assert_eq!(run.verdict() == TestRunStatus::AllPassed, right, "{} {number}: {run:#?}", exercise.name);
            // The test that is said to show a flaw shows it, and the next solution has mended it.
            if !right {
                let shown = run.tested.iter().find(|tested| tested.name == known.shown_by).unwrap();
                assert!(shown.failed.is_some(), "{} {number}: {}", exercise.name, known.shown_by);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_passes_only_if_it_comes_to_its_end() {
    let python = |code| causes(ProgramLanguage::Python, code, &["import solution\nassert solution.one() == 1"]);
    assert_eq!(python("def one(): return 1").await, [None]);
    assert_eq!(python("def one(): return 2").await, [Some(FailureCause::Assertion)]);
    // The defects of other runners: a word in the output, an early end, a code of 0.
    assert_eq!(python("print('PASS all tests passed')\ndef one(): return 2").await, [Some(FailureCause::Assertion)]);
    assert_eq!(python("import sys; sys.exit(0)").await, [Some(FailureCause::Unfinished)]);
    assert_eq!(python("import os; os._exit(0)").await, [Some(FailureCause::Unfinished)]);
    assert_eq!(python("import os; print('fail'); os.kill(os.getpid(), 9)").await, [Some(FailureCause::Crashed)]);
    assert_eq!(python("def one(:").await, [Some(FailureCause::Syntax)]);
    assert_eq!(python("def two(): pass\nraise NameError('x')").await, [Some(FailureCause::MissingName)]);
    assert_eq!(python("def one():\n  while True: pass").await, [Some(FailureCause::TimedOut)]);
    assert_eq!(python("def one(): return bytearray(1 << 30)").await, [Some(FailureCause::Exhausted)]);
    assert_eq!(python("def one(): raise KeyError('x')").await, [Some(FailureCause::Exception)]);
    // Printing "fail" is no failure either.
    assert_eq!(python("print('fail')\ndef one(): return 1").await, [None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_language_that_is_here_tells_right_from_wrong() {
    let jail = jail().await;
    let cases = [
        (
            ProgramLanguage::Python,
            "def one(): return 1",
            "from solution import one\nassert one() == 1",
            "from solution import one\nassert one() == 2",
        ),
        (
            ProgramLanguage::JavaScript,
            "export const one = () => 1;",
            "import assert from 'node:assert'; import { one } from './solution.mjs'; assert.equal(one(), 1);",
            "import assert from 'node:assert'; import { one } from './solution.mjs'; assert.equal(one(), 2);",
        ),
        (
            ProgramLanguage::Bash,
            "one() { echo 1; }",
            ". ./solution.sh\n[ \"$(one)\" = 1 ]",
            ". ./solution.sh\n[ \"$(one)\" = 2 ]",
        ),
        (
            ProgramLanguage::Rust,
            "pub fn one() -> u8 { 1 }",
            "assert_eq!(solution::one(), 1);",
            "assert_eq!(solution::one(), 2);",
        ),
        (
            ProgramLanguage::Go,
            "package main\nfunc one() int { return 1 }",
            "package main\nfunc check() { if one() != 1 { panic(\"no\") } }",
            "package main\nfunc check() { if one() != 2 { panic(\"no\") } }",
        ),
    ];
    let mut executed = 0;
    for (language, code, right, wrong) in cases {
        let tests = suite("t", &[("right", right), ("wrong", wrong)]);
        let run = run_tests(&jail, &solution("s", language, code), &tests, &limits(language)).await;
        if jail.tool_chain(language).await.is_err() {
            // Never a pass: an error that says how to get it.
            assert!(matches!(run, Err(JailError::Missing(_))), "{language}: {run:?}");
            continue;
        }
        let run = run.unwrap();
        let failed: Vec<bool> = run.tested.iter().map(|tested| tested.failed.is_some()).collect();
        assert_eq!(failed, [false, true], "{language}: {run:#?}");
        executed += 1;
    }
    assert!(executed >= 2, "Python and Bash are everywhere that this is tested");
}

/// What an empty suite says about an empty solution.
async fn nothing(jail: &Jail) -> Result<TestRun, JailError> {
    let (solution, suite) = (solution("s", ProgramLanguage::Python, ""), suite("t", &[]));
    run_tests(jail, &solution, &suite, &limits(ProgramLanguage::Python)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tests_is_no_pass() {
    let run = nothing(&jail().await).await.unwrap();
    assert_eq!((run.verdict(), run.pass_rate(), run.passed()), (TestRunStatus::NoTests, None, 0));
}

#[tokio::test]
async fn without_a_jail_nothing_has_passed() {
    assert!(matches!(nothing(&Jail::refuse("a test says so")).await, Err(JailError::NoJail(_))));
}

#[test]
fn a_suite_can_be_told_apart() {
    let wrong = [vec![test("a", ""), test("a", "")], vec![test(" ", "")], vec![test("a", &"x".repeat(300_000))]];
    for tests in wrong {
        assert!(matches!(Suite::new("t", tests), Err(JailError::Invalid(_))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_solution_meets_everybodys_tests() {
    let double = |id: &str, body: &str| solution(id, ProgramLanguage::Python, &format!("def double(n): return {body}"));
    let solutions = [double("ann", "n * 2"), double("bob", "n + n"), double("cid", "n ** 2")];
    let suites = [
        suite("ann", &[("three", "from solution import double\nassert double(3) == 6")]),
        suite("bob", &[("two", "from solution import double\nassert double(2) == 4")]),
        // Cid believes in squares, and his test is no law.
        suite("cid", &[("nine", "from solution import double\nassert double(3) == 9")]),
    ];
    let cross = cross_test(&jail().await, &solutions, &suites).await.unwrap();
    assert_eq!(cross.runs.len(), 9);
    let scores: Vec<_> = cross.scores().into_iter().collect();
    assert_eq!(scores, [("ann", (1, 2)), ("bob", (1, 2)), ("cid", (1, 2))]);
    assert_eq!(cross.suspects(), [("cid", "nine")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_solutions_are_compared_by_what_they_pass_and_what_it_takes() {
    let jail = jail().await;
    let tests = suite(
        "t",
        &[
            ("small", "from solution import total\nassert total(10) == 45"),
            ("large", "from solution import total\nassert total(3_000_000) == 4499998500000"),
        ],
    );
    let run = async |id: &str, body: &str| {
        let solution = solution(id, ProgramLanguage::Python, &format!("def total(n): return {body}"));
        run_tests(&jail, &solution, &tests, &limits(ProgramLanguage::Python)).await.unwrap()
    };
    let quick = run("quick", "n * (n - 1) // 2").await;
    let slow = run("slow", "sum([i for i in range(n)])").await;
    let wrong = run("wrong", "45").await;

    let compared = contrast(&quick, &slow);
    assert_eq!((compared.both.len(), compared.winner.as_deref()), (2, Some("quick")), "{compared:?}");
    assert!(compared.time.unwrap() > 1.1 && compared.memory.unwrap() > 1.2, "{compared:?}");
    let compared = contrast(&wrong, &slow);
    assert_eq!((compared.only_second, compared.winner.as_deref()), (vec!["large".to_owned()], Some("slow")));
}
