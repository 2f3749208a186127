//! Idempotency keys: a request with the same key is carried out once, however often it is sent.

use std::hash::{BuildHasher, RandomState};

/// A new, unique key. The standard library's random numbers are good enough for that.
pub(crate) fn new_key() -> String {
    let random = RandomState::new();
    format!("cli-{:016x}{:016x}", random.hash_one(1), random.hash_one(2))
}
