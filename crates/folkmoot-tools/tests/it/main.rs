//! What agents may touch, on real repositories, folders and programs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod git;
mod retrieval;
