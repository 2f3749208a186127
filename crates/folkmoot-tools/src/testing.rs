//! Tests that agents write, executed: each a program of its own in the jail, beside the solution
//! that it is about.
//!
//! A test has passed when it ran to its very end and ended with 0. What it printed does not count,
//! and neither does a solution that ends the program early. (Code that knows how this is told, and
//! wants to lie, shares a process with its test and can: that is what other agents' tests and
//! reviewers are for.) No tests is no pass.

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
    /// What a test is about.
    pub enum Category {
        /// What it is for.
        Functional = "functional",
        /// The border of what it is for.
        EdgeCase = "edge_case",
        /// How long it takes.
        Performance = "performance",
        /// What somebody hostile would try.
        Security = "security",
        /// Several at the same time.
        Concurrency = "concurrency",
        /// What must be refused.
        ErrorHandling = "error_handling",
    }
}

vocabulary! {
    /// How much a test asks for.
    pub enum Difficulty {
        /// Anything that deserves the name does it.
        Basic = "basic",
        /// Most do it.
        Moderate = "moderate",
        /// It takes thought.
        Advanced = "advanced",
        /// It takes knowledge.
        Expert = "expert",
    }
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// What it is called, in its suite.
    pub name: String,
    /// What it is about.
    pub category: Category,
    /// How much it asks for.
    pub difficulty: Difficulty,
    /// The program. It finds the solution under the name `solution` and ends with 0 if that does
    /// what it should: in Python a module, in JavaScript `./solution.mjs`, in Bash a file to
    /// source; in Rust it is the body of a function beside `mod solution`, in Go a file with a
    /// function `check()` in the same package.
    pub code: String,
}

/// The tests that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    /// Whose they are.
    pub author: String,
    /// No name is there twice.
    tests: Vec<TestCase>,
}

/// A solution, which tests find under the name `solution`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    /// What it is called: its author, usually.
    pub id: String,
    /// What it is written in.
    pub language: ProgramLanguage,
    pub code: String,
}

/// What came of one suite on one solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    pub solution: String,
    pub author: String,
    /// What came of each, in order.
    pub tested: Vec<TestResult>,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    pub name: String,
    /// What it is about.
    pub category: Category,
    /// Why it failed; it passed where there is nothing.
    pub failed: Option<FailureCause>,
    /// What it printed last.
    pub output: String,
    /// Time on the wall.
    pub wall: Duration,
    /// Time on the processors.
    pub cpu: Duration,
    /// The most memory that it had, where that can be told.
    pub peak_memory_bytes: Option<u64>,
}

/// Whether the tests of a solution passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestRunStatus {
    /// Nothing: there was no test.
    NoTests,
    /// All passed, and there was at least one.
    AllPassed,
    /// Some failed.
    SomeFailed,
}

/// More is nobody's idea of a suite.
pub const TESTS_MAX: usize = 200;
/// More is nobody's idea of a test, or of a solution.
pub const CODE_BYTES_MAX: usize = 256 * 1024;
/// How much is kept of what a test printed: its end, where the error is.
const OUTPUT_CHARS: usize = 3_000;
/// Tests at the same time, of one run.
const AT_ONCE: usize = 4;

impl Suite {
    /// Somebody's tests, if they can be told apart and executed.
    ///
    /// # Errors
    /// If there are too many, one is too long, or a name is empty or there twice.
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

    /// What is in it.
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
    /// How many passed.
    pub fn passed(&self) -> usize {
        self.tested.iter().filter(|tested| tested.failed.is_none()).count()
    }

    /// What it says about its solution.
    pub fn verdict(&self) -> TestRunStatus {
        match (self.tested.len(), self.passed()) {
            (0, _) => TestRunStatus::NoTests,
            (all, passed) if all == passed => TestRunStatus::AllPassed,
            _ => TestRunStatus::SomeFailed,
        }
    }

    /// How many of all passed, from 0 to 1; nothing where there was no test.
    pub fn pass_rate(&self) -> Option<f64> {
        let count = |count: usize| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
        (!self.tested.is_empty()).then(|| count(self.passed()) / count(self.tested.len()))
    }
}

/// How much one test may use: half a minute, half a gigabyte.
pub fn limits(language: ProgramLanguage) -> JailLimits {
    let usual = JailLimits::of(Profile::Code);
    let memory_bytes = language.limits().memory_bytes.max(512 << 20);
    JailLimits { wall: Duration::from_secs(30), cpu: Duration::from_secs(30), memory_bytes, ..usual }
}

/// Executes a suite on a solution.
///
/// # Errors
/// If nothing can be executed: no jail, no tool chain. What a test does is no error.
pub async fn run_tests(
    jail: &Jail,
    solution: &Solution,
    suite: &Suite,
    limits: &JailLimits,
) -> Result<TestRun, JailError> {
    must_be_short("solution", &solution.code)?;
    // Asked for first, so that a missing tool chain is told also where there is no test.
    jail.tool_chain(solution.language).await?;
    // Boxed, so that the whole can be boxed as well: the compiler loses track of closures over
    // borrowed tests.
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

/// What only a test that ran to its end prints.
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
