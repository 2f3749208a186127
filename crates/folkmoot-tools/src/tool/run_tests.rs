//! Runs tests on a solution in the jail.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, parsed, printed};
use crate::{
    jail::{Jail, ProgramLanguage},
    testing::{self, Category, Difficulty, Solution, Suite, TestCase, TestRunStatus},
};

/// As many as a model writes at once and as fit into a call.
const TESTS_MAX: usize = 50;
/// How much of all tests' output is returned, and of one.
const OUTPUT_BYTES: usize = 24 * 1024;
const OUTPUT_BYTES_OF_ONE: usize = 2 * 1024;
/// The longest code.
const CODE_BYTES_MAX: usize = testing::CODE_BYTES_MAX;

#[derive(Clone, Debug)]
pub struct RunTestsTool {
    jail: Jail,
}

impl RunTestsTool {
    pub const NAME: &str = "run_tests";

    pub fn new(jail: Jail) -> Self {
        Self { jail }
    }

    async fn run(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            language: String,
            solution: String,
            tests: Vec<TestCase>,
        }
        let Arguments { language, solution, tests } = parsed(arguments)?;
        let language = ProgramLanguage::named(&language)?;
        let suite = Suite::new("agent", tests)?;
        let solution = Solution { id: "solution".to_owned(), language, code: solution };
        let run = testing::run_tests(&self.jail, &solution, &suite, &testing::limits(language)).await?;
        let verdict = match run.verdict() {
            TestRunStatus::NoTests => "no_tests",
            TestRunStatus::AllPassed => "all_passed",
            TestRunStatus::SomeFailed => "some_failed",
        };
        let output_bytes = (OUTPUT_BYTES / run.tested.len().max(1)).min(OUTPUT_BYTES_OF_ONE);
        let tests = run.tested.iter().map(|tested| {
            // The output of a passing test does not matter.
            let output = tested.failed.map(|_| printed::end(tested.output.as_bytes(), output_bytes));
            super::without_nulls(json!({
                "name": tested.name, "passed": tested.failed.is_none(), "cause": tested.failed, "output": output,
                "wall_ms": u64::try_from(tested.wall.as_millis()).unwrap_or(u64::MAX),
            }))
        });
        let tests: Vec<Value> = tests.collect();
        Ok(json!({ "verdict": verdict, "passed": run.passed(), "of": run.tested.len(), "tests": tests }))
    }
}

impl Tool for RunTestsTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Runs tests on a solution, each as a program of its own in a sandbox without a network, and tells which passed and why the \
         others did not. A test finds the solution as `solution` (Python: `from solution import f`; JavaScript: \
         `./solution.mjs`; Bash: `. ./solution.sh`; Rust: the test is the body of a function beside `mod solution`; Go: the test has \
         a function `check()` in the same package) and fails by an error or an exit other than 0. Only the verdict \
         `all_passed` is a pass; without tests there is none."
    }

    fn arguments(&self) -> Value {
        let code = json!({ "type": "string", "minLength": 1, "maxLength": CODE_BYTES_MAX });
        json!({
            "type": "object",
            "properties": {
                "language": { "enum": ProgramLanguage::WORDS },
                "solution": code,
                "tests": { "type": "array", "maxItems": TESTS_MAX, "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "minLength": 1, "maxLength": 200 },
                        "category": { "enum": Category::WORDS },
                        "difficulty": { "enum": Difficulty::WORDS },
                        "code": code,
                    },
                    "required": ["name", "category", "difficulty", "code"],
                    "additionalProperties": false,
                } },
            },
            "required": ["language", "solution", "tests"],
            "additionalProperties": false,
        })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.run(arguments).boxed()
    }
}
