//! What Folkmoot's own agents are made of, and the workflows they run in, written on the engine's public `Ctx` as a user
//! would write theirs.

mod call;

pub use call::{Call, OnExceeded, Spending};
