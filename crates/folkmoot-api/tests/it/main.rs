//! The client, against servers that are none of ours.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod parsers;
