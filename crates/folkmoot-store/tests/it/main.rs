//! What a store promises, on both databases, and what it does when they fail it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so best by panicking")]

mod backup;
mod conformance;
mod erased_bytes;
mod faults;
mod nodes;
mod parsers;
mod support;
