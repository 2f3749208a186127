//! Model calls in durable runs, simulated: crashed wherever they can be, and played again from their journal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod call;
mod cancel;
mod moot;
