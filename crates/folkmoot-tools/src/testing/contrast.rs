//! Contrast: compares two solutions on the same tests.

use serde::{Deserialize, Serialize};

use super::{TestResult, TestRun};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    pub both: Vec<String>,
    pub only_first: Vec<String>,
    pub only_second: Vec<String>,
    pub neither: Vec<String>,
    /// CPU time of the second relative to the first, over the tests that both pass; `None` if it
    /// differs by less than a tenth.
    pub time: Option<f64>,
    /// The same for memory, if it differs by more than a fifth.
    pub memory: Option<f64>,
    /// The one that passes more. If they tie and both pass something, the faster one. Otherwise
    /// nobody.
    pub winner: Option<String>,
}

const TIME_DIFFERS: f64 = 0.10;
const MEMORY_DIFFERS: f64 = 0.20;

/// Compares two runs of one suite. Tests that only one of them has are left out.
pub fn contrast(first: &TestRun, second: &TestRun) -> Contrast {
    let pairs: Vec<(&TestResult, &TestResult)> =
        first.tested.iter().filter_map(|a| second.tested.iter().find(|b| b.name == a.name).map(|b| (a, b))).collect();
    let names = |first: bool, second: bool| {
        let wanted =
            move |(a, b): &&(&TestResult, &TestResult)| a.failed.is_none() == first && b.failed.is_none() == second;
        pairs.iter().filter(wanted).map(|(a, _)| a.name.clone()).collect::<Vec<_>>()
    };
    let passed: Vec<_> = pairs.iter().filter(|(a, b)| a.failed.is_none() && b.failed.is_none()).collect();
    let cpu = |of: fn(&(&TestResult, &TestResult)) -> f64| passed.iter().map(|pair| of(pair)).sum::<f64>();
    let time = ratio(cpu(|(a, _)| a.cpu.as_secs_f64()), cpu(|(_, b)| b.cpu.as_secs_f64()), TIME_DIFFERS);
    let peak = |tested: &TestResult| tested.peak_memory_bytes.map_or(0.0, |bytes| bytes as f64);
    let most = |of: &dyn Fn(&(&TestResult, &TestResult)) -> f64| passed.iter().map(|pair| of(pair)).fold(0.0, f64::max);
    let memory = ratio(most(&|(a, _)| peak(a)), most(&|(_, b)| peak(b)), MEMORY_DIFFERS);
    let (only_first, only_second) = (names(true, false), names(false, true));
    let winner = match (only_first.len().cmp(&only_second.len()), time) {
        (std::cmp::Ordering::Greater, _) => Some(&first.solution),
        (std::cmp::Ordering::Less, _) => Some(&second.solution),
        (std::cmp::Ordering::Equal, Some(time)) if time > 1.0 => Some(&first.solution),
        (std::cmp::Ordering::Equal, Some(_)) => Some(&second.solution),
        (std::cmp::Ordering::Equal, None) => None,
    };
    Contrast {
        both: names(true, true),
        winner: winner.cloned(),
        only_first,
        only_second,
        neither: names(false, false),
        time,
        memory,
    }
}

fn ratio(first: f64, second: f64, differs: f64) -> Option<f64> {
    let ratio = (first > 0.0 && second > 0.0).then(|| second / first)?;
    (ratio > 1.0 + differs || ratio < 1.0 / (1.0 + differs)).then_some(ratio)
}
