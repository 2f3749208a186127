//! Runs tests that agents write: each is a separate program in the jail, together with the
//! solution.
//!
//! A test passes if it runs to its end and exits with 0. Its output does not count, and a solution
//! that ends the program early does not pass. (Malicious code shares a process with its test and
//! can cheat; other agents' tests and reviewers are the defence.) Without tests nothing passes.

mod cause;
mod contrast;
mod cross;
mod program;

use std::{collections::BTreeSet, time::Duration};

use folkmoot_core::{Digest, vocabulary};
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use serde::{Deserialize, Serialize};

pub use self::{
    cause::FailureCause,
    contrast::{Contrast, contrast},
    cross::{CrossTests, cross_test},
};
use crate::jail::{Execution, Jail, JailError, JailLimits, JobReport, Profile, ProgramLanguage};

vocabulary! {
    pub enum Category {
        /// The normal behaviour.
        Functional = "functional",
        EdgeCase = "edge_case",
        Performance = "performance",
        Security = "security",
        Concurrency = "concurrency",
        ErrorHandling = "error_handling",
    }
}

vocabulary! {
    pub enum Difficulty {
        /// Every serious solution passes.
        Basic = "basic",
        /// Most solutions pass.
        Moderate = "moderate",
        Advanced = "advanced",
        Expert = "expert",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// Unique in its suite.
    pub name: String,
    pub category: Category,
    pub difficulty: Difficulty,
    /// The program. It uses the solution under the name `solution` and exits with 0 if it is
    /// correct. In Python that is a module, in JavaScript `./solution.mjs`, in Bash a file to
    /// source. In Rust it is the body of a function beside `mod solution`, in Go a file with a
    /// function `check()` in the same package.
    pub code: String,
}

/// The tests of one author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    pub author: String,
    /// Names are unique.
    tests: Vec<TestCase>,
}

/// A solution, which tests use under the name `solution`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    /// Usually its author.
    pub id: String,
    pub language: ProgramLanguage,
    pub code: String,
}

/// The results of one suite on one solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    pub solution: String,
    pub author: String,
    /// In order.
    pub tested: Vec<TestResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    pub name: String,
    pub category: Category,
    /// `None` if it passed.
    pub failed: Option<FailureCause>,
    /// The end of its output.
    pub output: String,
    pub wall: Duration,
    pub cpu: Duration,
    /// The peak memory, if known.
    pub peak_memory_bytes: Option<u64>,
}

/// Whether the tests of a solution passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestRunStatus {
    NoTests,
    /// At least one test, and all passed.
    AllPassed,
    SomeFailed,
}

pub const TESTS_MAX: usize = 200;
pub const CODE_BYTES_MAX: usize = 256 * 1024;
/// How much of the end of a test's output is kept.
const OUTPUT_CHARS: usize = 3_000;
/// Concurrent tests of one run.
const AT_ONCE: usize = 4;

impl Suite {
    ///
    /// # Errors
    /// If there are too many, one is too long, or a name is empty or repeated.
    pub fn new(author: impl Into<String>, tests: Vec<TestCase>) -> Result<Self, JailError> {
        if tests.len() > TESTS_MAX {
            return Err(JailError::Invalid(format!("{} tests; {TESTS_MAX} at most are executed", tests.len())));
        }
        let mut names = BTreeSet::new();
        for test in &tests {
            if test.name.trim().is_empty() || !names.insert(&test.name) {
                return Err(JailError::Invalid(format!("the test name {:?} is empty, or there twice", test.name)));
            }
            must_be_short("test", &test.code)?;
        }
        Ok(Self { author: author.into(), tests })
    }

    pub fn tests(&self) -> &[TestCase] {
        &self.tests
    }
}

fn must_be_short(what: &str, code: &str) -> Result<(), JailError> {
    match code.len() {
        0..=CODE_BYTES_MAX => Ok(()),
        bytes => Err(JailError::Invalid(format!("a {what} of {bytes} bytes; {CODE_BYTES_MAX} at most are executed"))),
    }
}

impl TestRun {
    pub fn passed(&self) -> usize {
        self.tested.iter().filter(|tested| tested.failed.is_none()).count()
    }

    pub fn verdict(&self) -> TestRunStatus {
        match (self.tested.len(), self.passed()) {
            (0, _) => TestRunStatus::NoTests,
            (all, passed) if all == passed => TestRunStatus::AllPassed,
            _ => TestRunStatus::SomeFailed,
        }
    }

    /// The share of passed tests, from 0 to 1; `None` without tests.
    pub fn pass_rate(&self) -> Option<f64> {
        let count = |count: usize| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
        (!self.tested.is_empty()).then(|| count(self.passed()) / count(self.tested.len()))
    }
}

/// The limits of one test: half a minute, half a gigabyte.
pub fn limits(language: ProgramLanguage) -> JailLimits {
    let usual = JailLimits::of(Profile::Code);
    let memory_bytes = language.limits().memory_bytes.max(512 << 20);
    JailLimits { wall: Duration::from_secs(30), cpu: Duration::from_secs(30), memory_bytes, ..usual }
}

/// Runs a suite on a solution.
///
/// # Errors
/// If nothing can be executed: no jail or no tool chain. A failing test is not an error.
pub async fn run_tests(
    jail: &Jail,
    solution: &Solution,
    suite: &Suite,
    limits: &JailLimits,
) -> Result<TestRun, JailError> {
    must_be_short("solution", &solution.code)?;
    // First, so that a missing tool chain is reported even without tests.
    jail.tool_chain(solution.language).await?;
    // Boxed, because the compiler cannot handle the closures over borrowed tests otherwise.
    let tests: Vec<BoxFuture<'_, _>> =
        suite.tests.iter().map(|test| run_test(jail, solution, test, limits).boxed()).collect();
    let tested = stream::iter(tests).buffered(AT_ONCE);
    Ok(TestRun { solution: solution.id.clone(), author: suite.author.clone(), tested: tested.try_collect().await? })
}

async fn run_test(
    jail: &Jail,
    solution: &Solution,
    test: &TestCase,
    limits: &JailLimits,
) -> Result<TestResult, JailError> {
    let mark = mark(solution, test);
    let program = program::program(solution, test, &mark, limits.clone());
    let (failed, report) = match jail.execute(program).await? {
        Execution::NotCompiled(report) => (Some(FailureCause::Syntax), report),
        Execution::Ran(report) => (cause::of(&report, &mark), report),
    };
    Ok(TestResult {
        name: test.name.clone(),
        category: test.category,
        failed,
        output: output(&report, &mark),
        wall: report.wall,
        cpu: report.cpu,
        peak_memory_bytes: report.peak_memory_bytes,
    })
}

/// A mark that only a test that ran to its end prints.
fn mark(solution: &Solution, test: &TestCase) -> String {
    let salt = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), &test.code);
    Digest::of(format!("{salt} {} {}", solution.id, test.name).as_bytes()).hex()
}

/// The end of what was printed: complaints before results, as they say why.
fn output(report: &JobReport, mark: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(mark, "");
    let all = format!("{}\n{}", text(&report.stdout).trim(), text(&report.stderr).trim());
    let all = all.trim();
    let from = all.char_indices().rev().nth(OUTPUT_CHARS - 1).map_or(0, |(at, _)| at);
    all[from..].to_owned()
}
