//! What Folkmoot's own agents are made of, and the workflows they run in, written on the engine's
//! public `Ctx` as a user would write theirs.

mod call;
pub mod debate;
pub mod doctor;
pub mod equipment;
pub mod plan;
mod schema;
mod voice;
pub mod workbench;

pub use call::{ModelCall, OnExceeded, RunBudget};
pub use equipment::Equipment;
pub use folkmoot_llm as llm;
pub use folkmoot_tools as tools;
pub use voice::{Voice, Voices};
pub use workbench::{Site, Workbench};
