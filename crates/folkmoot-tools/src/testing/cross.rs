//! Cross-tests: runs everybody's tests on each solution.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Solution, Suite, TestRun, limits, run_tests};
use crate::jail::{Jail, JailError};

/// The results of every suite on every solution, including the author's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossTests {
    /// One per pair, by solution and then by author.
    pub runs: Vec<TestRun>,
}

/// Executes every suite on every solution.
///
/// # Errors
/// As [`run_tests`].
pub async fn cross_test(jail: &Jail, solutions: &[Solution], suites: &[Suite]) -> Result<CrossTests, JailError> {
    let mut runs = Vec::new();
    for solution in solutions {
        for suite in suites {
            runs.push(run_tests(jail, solution, suite, &limits(solution.language)).await?);
        }
    }
    Ok(CrossTests { runs })
}

impl CrossTests {
    /// How many of the others' tests each solution passed, and their number. An author's own tests
    /// do not count.
    pub fn scores(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut scores = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.author != run.solution) {
            let (passed, all) = scores.entry(run.solution.as_str()).or_insert((0, 0));
            *passed += run.passed();
            *all += run.tested.len();
        }
        scores
    }

    /// Tests that say little about a solution that fails them, as (author, test): the author's own
    /// solution fails them, or more than half of the others do, if there are at least two.
    pub fn suspects(&self) -> Vec<(&str, &str)> {
        let mut seen: BTreeMap<(&str, &str), (bool, usize, usize)> = BTreeMap::new();
        for run in &self.runs {
            for tested in &run.tested {
                let (own_fails, failing, others) = seen.entry((&run.author, &tested.name)).or_default();
                if run.author == run.solution {
                    *own_fails |= tested.failed.is_some();
                } else {
                    *others += 1;
                    *failing += usize::from(tested.failed.is_some());
                }
            }
        }
        let is_suspect =
            |(own_fails, failing, others): &(bool, usize, usize)| *own_fails || (*others >= 2 && failing * 2 > *others);
        seen.iter().filter(|(_, seen)| is_suspect(seen)).map(|(test, _)| *test).collect()
    }
}
