//! Requests and answers, as JSON. The words in them are core's; none is defined here a second time.

mod audit;
mod event;
mod gate;
mod problem;
mod schema;
mod server;
mod token;

pub use audit::{AuditEntry, AuditPage, Verification};
pub use event::Event;
pub use gate::{
    Amend, Artifact, Cancel, Decide, Decision, Extend, Gate, GateList, GateQuery, NewArtifact, OpenGate, Verdict, Vote,
    WaitFor, WaitMany, Waited,
};
pub use problem::Problem;
pub use server::ServerFile;
pub use token::{NewToken, Token, TokenList};
