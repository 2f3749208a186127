//! The rules of journals, as transcripts. `crate::transcript` says how to read one.

mod limits;
mod outside;
mod record;
mod waits;
