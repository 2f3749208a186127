//! The wire of Folkmoot: what is sent and what comes back, and a client that speaks it.

pub mod client;
pub mod wire;

pub use client::{Client, PRESENCE};
pub use folkmoot_core as core;
pub use folkmoot_debate as debate;
