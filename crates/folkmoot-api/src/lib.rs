//! Folkmoot's wire types, and the Rust client that uses them.

pub mod client;
pub mod wire;

pub use client::{Client, PRESENCE};
pub use folkmoot_core as core;
pub use folkmoot_debate as debate;
