//! The colours. `anstream` removes them if the output is not a terminal.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use folkmoot_api::core::{
    GateStatus,
    gate::Risk,
    journal::EntryStatus,
    question::{Priority, QuestionStatus},
    run::RunStatus,
};

pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const COMMAND: Style = AnsiColor::Cyan.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

pub(crate) fn of_risk(risk: Risk) -> Style {
    match risk {
        Risk::Low => FAINT,
        Risk::Medium => Style::new(),
        Risk::High => WARN,
        Risk::Critical => BAD,
    }
}

pub(crate) fn of_status(status: GateStatus) -> Style {
    match status {
        GateStatus::Pending => WARN,
        GateStatus::Approved => GOOD,
        GateStatus::Rejected | GateStatus::TimedOut => BAD,
        GateStatus::AdjustRequested | GateStatus::AdjustStrategy | GateStatus::Paused => WARN,
        GateStatus::Cancelled => FAINT,
    }
}

pub(crate) fn of_priority(priority: Priority) -> Style {
    match priority {
        Priority::Low => FAINT,
        Priority::Medium => Style::new(),
        Priority::High => WARN,
        Priority::Critical => BAD,
    }
}

pub(crate) fn of_question(status: QuestionStatus) -> Style {
    match status {
        QuestionStatus::Pending => WARN,
        QuestionStatus::Answered => GOOD,
        QuestionStatus::Denied => BAD,
        QuestionStatus::Skipped | QuestionStatus::Expired | QuestionStatus::Cancelled => FAINT,
    }
}

pub(crate) fn of_run(status: RunStatus) -> Style {
    match status {
        RunStatus::Pending | RunStatus::Running => Style::new(),
        RunStatus::Parked => WARN,
        RunStatus::Completed => GOOD,
        RunStatus::Stopped | RunStatus::Failed => BAD,
        RunStatus::Cancelled => FAINT,
    }
}

pub(crate) fn of_progress(progress: EntryStatus) -> Style {
    match progress {
        EntryStatus::Begun => Style::new(),
        EntryStatus::Failing | EntryStatus::Waiting => WARN,
        EntryStatus::Done => GOOD,
        EntryStatus::Failed => BAD,
    }
}

/// A line of a diff, by its first character.
pub(crate) fn of_diff_line(line: &str) -> Style {
    match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => STRONG,
        Some(b'+') => GOOD,
        Some(b'-') => REMOVED,
        Some(b'@') => COMMAND,
        _ => Style::new(),
    }
}
