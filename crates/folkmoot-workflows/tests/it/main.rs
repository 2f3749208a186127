//! What agents are made of, by its behaviour.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod doctor;
mod workbench;
