//! Debates: their course, what is told and kept of them, and what they come to.

pub mod course;
mod part;
pub mod record;
pub mod told;
pub mod verdict;

pub use course::{Course, Phases, Switch};
pub use part::{Note, Part};
pub use record::Record;
pub use told::{Told, TurnState};
pub use verdict::{Cast, DecidedBy, Dissent, NoDecision, Turns, Verdict};

/// The workflow of debates, with its version.
pub const WORKFLOW: &str = "debate@1";
