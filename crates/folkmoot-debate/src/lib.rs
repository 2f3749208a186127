//! The rules of debates and plans: phases and rounds, who hears whom, how work is planned, what
//! counts as agreement, which lessons are learned, which events are logged and which records are
//! kept.
//!
//! Everything here is pure and computes with integers, so the recorded data of a debate gives the
//! same numbers again on any machine. Missing data never counts as data: no votes are not
//! agreement, and a report that could not be read does not mean that nothing was found.

pub mod agent;
pub mod cognition;
pub mod consensus;
pub mod course;
pub mod effective;
pub mod estimate;
pub mod event;
pub mod findings;
pub mod lesson;
pub mod memory;
mod part;
pub mod plan;
pub mod planning;
pub mod progress;
mod provenance;
pub mod record;
mod steering;
pub mod topology;
pub mod verdict;
pub mod voting;
mod words;

pub use agent::{Agent, AgentRole, DebatePhase, Domain, Team};
pub use consensus::Consensus;
pub use course::{Course, Phases, Switch};
pub use effective::EffectiveVotes;
pub use estimate::Estimate;
pub use event::{DebateEvent, TurnState};
pub use findings::Finding;
pub use lesson::Lesson;
pub use memory::{Episode, EpisodicMemory, Reflection};
pub use part::{NoteKind, TurnPart};
pub use planning::{Style, TaskPlan};
pub use progress::DebateProgress;
pub use provenance::Provenance;
pub use record::DebateRecord;
pub use steering::Steering;
pub use topology::{Network, Topology};
pub use verdict::{CastVote, DebateVerdict, DecidedBy, Dissent, NoDecision, Turns};

/// The workflow of debates, with its version.
pub const WORKFLOW: &str = "debate@1";
