//! Why a test failed, as far as its end shows.

use folkmoot_core::vocabulary;

use crate::jail::{JobEnd, JobReport, Limit};

vocabulary! {
    pub enum FailureCause {
        Assertion = "assertion",
        Exception = "exception",
        Syntax = "syntax",
        /// It uses a name that the solution does not have.
        MissingName = "missing_name",
        TimedOut = "timed_out",
        /// It exceeded a limit: memory, processes, disk, output.
        Exhausted = "exhausted",
        /// It made a forbidden system call, or a signal ended it.
        Crashed = "crashed",
        /// It exited with 0 before its end.
        Unfinished = "unfinished",
    }
}

/// `None` if it passed.
pub(super) fn of(report: &JobReport, mark: &str) -> Option<FailureCause> {
    let limit = match report.end {
        JobEnd::Limited(limit) => Some(limit),
        JobEnd::Exited(_) | JobEnd::Signalled(_) => report.reached.first().copied(),
    };
    Some(match (limit, report.end) {
        (Some(Limit::Wall | Limit::Cpu), _) => FailureCause::TimedOut,
        (Some(Limit::Syscall), _) => FailureCause::Crashed,
        (Some(_), JobEnd::Limited(_)) => FailureCause::Exhausted,
        (_, JobEnd::Exited(0)) if String::from_utf8_lossy(&report.stdout).trim_end().ends_with(mark) => return None,
        (_, JobEnd::Exited(0)) => FailureCause::Unfinished,
        (Some(_), _) => FailureCause::Exhausted,
        (None, JobEnd::Exited(_)) => of_words(&String::from_utf8_lossy(&report.stderr)),
        (None, JobEnd::Signalled(_) | JobEnd::Limited(_)) => FailureCause::Crashed,
    })
}

/// Recognises the languages' error messages.
fn of_words(stderr: &str) -> FailureCause {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(last, &["MemoryError", "out of memory", "Cannot allocate memory", "memory allocation of"]) {
        FailureCause::Exhausted
    } else if has(stderr, &["SyntaxError", "IndentationError", "syntax error"]) {
        FailureCause::Syntax
    } else if has(stderr, &["AssertionError", "ERR_ASSERTION"]) || has(stderr, &["assertion failed", "assertion `"]) {
        FailureCause::Assertion
    } else if has(last, &["ImportError", "ModuleNotFoundError", "NameError"])
        || has(stderr, &["ReferenceError", "ERR_MODULE_NOT_FOUND", "command not found"])
    {
        FailureCause::MissingName
    } else {
        FailureCause::Exception
    }
}
