//! The engine in-process, on SQLite and a clock that stands until it is moved.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "these tests run on the real host")]

mod check;
mod clearance;
mod deadlines;
mod deliveries;
mod moot;
mod retention;
mod revoked;
mod runs;
mod wait;
