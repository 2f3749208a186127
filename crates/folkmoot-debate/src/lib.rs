//! The rules of a debate: its course, who hears whom, how it is planned, what counts as agreement,
//! what is learned, told and kept.
//!
//! Pure, and arithmetic of integers: what was recorded of a debate gives the same numbers again, on
//! any machine. What a model did not say is never counted as if it had: no votes are no agreement,
//! and a report that nobody could read found nothing out.

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
