//! Requests and answers, as JSON. The words in them are core's; none is defined here a second time.

mod audit;
mod event;
mod gate;
mod halt;
mod object;
mod problem;
mod question;
mod run;
mod schema;
mod server;
mod token;

pub use audit::{AuditEntry, AuditPage, Verification};
pub use event::{Event, FeedMessage};
pub use gate::{
    Amend, Artifact, Cancel, Decide, Decision, Extend, Gate, GateList, GateQuery, NewArtifact, OpenGate, Verdict, Vote,
    WaitFor, WaitMany, Waited,
};
pub use halt::{AnswerGiven, BlockedBy, Clearance, ClearanceFor, ClearanceWaited, Halt, HaltStatus, HeldBy, RaiseHalt};
pub use problem::Problem;
pub use question::{Answer, Ask, Closed, Question, QuestionList, QuestionQuery, WithReason};
pub use run::{
    EndRun, Ending, Fault, JournalEntry, JournalPage, JournalQuery, RecordStep, ResumeRun, Run, RunList, RunQuery,
    StartRun, WaitingAt,
};
pub use server::ServerFile;
pub use token::{NewToken, Token, TokenList};
