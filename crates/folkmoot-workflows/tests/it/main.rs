//! What agents are made of, by its behaviour; and model calls in durable runs, crashed wherever
//! they can be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod call;
mod cancel;
mod debate;
mod doctor;
mod moot;
mod plan;
mod vendors;
mod voices;
mod workbench;
