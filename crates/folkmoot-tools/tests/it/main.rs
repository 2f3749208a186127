//! What agents may touch, by its behaviour.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(target_os = "linux")]
mod format;
mod git;
#[cfg(target_os = "linux")]
mod jail;
#[cfg(target_os = "linux")]
mod project;
mod retrieval;
