//! How a verb ends: its exit code and its message.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use folkmoot_api::{
    client,
    core::{GateStatus, gate::Next, question::QuestionStatus},
    wire::{Gate, Question},
};

use folkmoot_server::workflows::llm;

use crate::terminal::style::{self, paint};

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Problems,
    NotApproved,
    Waiting,
    TimedOut,
    Halted,
    /// A step is done already.
    DoneBefore,
    /// A step was begun, and it is unknown whether it was done.
    Unknown,
    /// A step failed already.
    FailedBefore,
    /// A debate decided nothing.
    NoDecision,
    /// A receipt is valid, but the key that signed it is unknown.
    UnknownKey,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Problems => FAILED,
            Exit::NotApproved => 3,
            Exit::Waiting => 4,
            Exit::TimedOut => 5,
            Exit::Halted => 6,
            Exit::DoneBefore => 7,
            Exit::Unknown => 8,
            Exit::FailedBefore => 9,
            Exit::NoDecision => 10,
            Exit::UnknownKey => 11,
            Exit::Interrupted => 130,
        })
    }
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const STOPPED: u8 = 70;

impl Exit {
    /// The exit code for a script that waits at this gate. A timeout counts as approval only if the
    /// gate says so.
    pub(crate) fn of(gate: &Gate) -> Self {
        match gate.status {
            GateStatus::Approved => Exit::Done,
            GateStatus::Pending => Exit::Waiting,
            GateStatus::TimedOut if gate.outcome == Some(Next::Proceed) => Exit::Done,
            GateStatus::TimedOut => Exit::TimedOut,
            GateStatus::Rejected
            | GateStatus::AdjustRequested
            | GateStatus::AdjustStrategy
            | GateStatus::Paused
            | GateStatus::Cancelled => Exit::NotApproved,
        }
    }

    /// The exit code for a script that waits for this answer. Pending means that the script's own
    /// time is over.
    pub(crate) fn of_question(question: &Question) -> Self {
        match question.status {
            QuestionStatus::Answered => Exit::Done,
            QuestionStatus::Expired if question.answer.is_some() => Exit::Done,
            QuestionStatus::Pending | QuestionStatus::Expired => Exit::TimedOut,
            QuestionStatus::Denied | QuestionStatus::Skipped | QuestionStatus::Cancelled => Exit::NotApproved,
        }
    }
}

/// The store has stopped: nothing was acknowledged afterwards.
#[derive(Debug)]
pub(crate) struct StoreStopped(pub(crate) String);

impl std::error::Error for StoreStopped {}

impl std::fmt::Display for StoreStopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the store has stopped, and nothing was acknowledged after that: {}", self.0)
    }
}

/// Prints an error to stderr.
pub(crate) fn failure(error: &anyhow::Error, json: bool) -> ExitCode {
    let pipe = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(pipe) {
        // The reader of the output has closed the pipe.
        return ExitCode::from(FAILED);
    }
    let stopped = error.downcast_ref::<StoreStopped>().is_some();
    let said = match error.downcast_ref() {
        _ if !json => format!("{} {error:#}", paint(style::BAD, "error:")),
        Some(client::Error::Problem(problem)) => {
            serde_json::to_string(&problem).unwrap_or_else(|_| problem.detail.clone())
        }
        _ => {
            let asked = error.downcast_ref::<llm::ModelFailure>().map(|failure| failure.kind.word());
            let code = asked.unwrap_or(if stopped { "store_stopped" } else { "failed" });
            serde_json::json!({ "code": code, "detail": format!("{error:#}") }).to_string()
        }
    };
    let _ = writeln!(anstream::stderr(), "{said}");
    ExitCode::from(if stopped { STOPPED } else { FAILED })
}

/// Prints what is wrong with the command line, or the help if it was requested.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let detail = error.to_string();
        let said = serde_json::json!({ "code": "usage", "detail": detail.trim_start_matches("error: ").trim() });
        let _ = writeln!(io::stderr(), "{said}");
        return ExitCode::from(USAGE);
    }
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}
