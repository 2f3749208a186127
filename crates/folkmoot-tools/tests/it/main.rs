//! What agents may touch, by its behaviour.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod git;
#[cfg(target_os = "linux")]
mod jail;
mod retrieval;
