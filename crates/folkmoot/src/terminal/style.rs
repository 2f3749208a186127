//! The few colours there are. `anstream` drops them where no terminal would show them.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use folkmoot_api::core::{
    Status,
    gate::Risk,
    journal::Progress,
    question::{self, Priority},
    run,
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

pub(crate) fn of_status(status: Status) -> Style {
    match status {
        Status::Pending => WARN,
        Status::Approved => GOOD,
        Status::Rejected | Status::TimedOut => BAD,
        Status::AdjustRequested | Status::AdjustStrategy | Status::Paused => WARN,
        Status::Cancelled => FAINT,
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

pub(crate) fn of_question(status: question::Status) -> Style {
    match status {
        question::Status::Pending => WARN,
        question::Status::Answered => GOOD,
        question::Status::Denied => BAD,
        question::Status::Skipped | question::Status::Expired | question::Status::Cancelled => FAINT,
    }
}

pub(crate) fn of_run(status: run::Status) -> Style {
    match status {
        run::Status::Pending | run::Status::Running => Style::new(),
        run::Status::Parked => WARN,
        run::Status::Completed => GOOD,
        run::Status::Stopped | run::Status::Failed => BAD,
        run::Status::Cancelled => FAINT,
    }
}

pub(crate) fn of_progress(progress: Progress) -> Style {
    match progress {
        Progress::Begun => Style::new(),
        Progress::Failing | Progress::Waiting => WARN,
        Progress::Done => GOOD,
        Progress::Failed => BAD,
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
