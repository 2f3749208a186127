//! Folkmoot's own agents and the workflows that they run in. The workflows use only the engine's
//! public `Ctx`, as a user's own workflow would.

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
