//! What the crate promises, against servers that speak the vendors' wire formats.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod parsers;
mod server;
mod wire;
