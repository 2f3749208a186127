//! The rules of a debate: who hears whom, how it is planned, what counts as agreement, what is learned.
//!
//! Pure, and arithmetic of integers: what was recorded of a debate gives the same numbers again, on any machine. What a model
//! did not say is never counted as if it had: no votes are no agreement, and a report that nobody could read found nothing out.

pub mod cognition;
pub mod consensus;
pub mod effective;
pub mod estimate;
pub mod findings;
pub mod lesson;
pub mod memory;
pub mod planning;
pub mod topology;
mod words;

pub use consensus::Consensus;
pub use effective::Effective;
pub use estimate::Estimate;
pub use findings::Finding;
pub use lesson::Lesson;
pub use memory::{Episode, EpisodicMemory, Reflection};
pub use planning::{Style, TaskPlan};
pub use topology::{Network, Topology};
