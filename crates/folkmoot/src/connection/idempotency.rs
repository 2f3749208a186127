//! Keys under which a request is carried out once, however often it is sent.

use std::hash::{BuildHasher, RandomState};

/// A key that nobody has used. The standard library's own source of random numbers is enough to be
/// unique.
pub(crate) fn new_key() -> String {
    let random = RandomState::new();
    format!("cli-{:016x}{:016x}", random.hash_one(1), random.hash_one(2))
}
