//! Chance that can be repeated: splitmix64.

use std::hash::{BuildHasher, RandomState};

#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// `FOLKMOOT_SEED` repeats what chance did. The seed is shown where a test fails.
    pub(super) fn seeded(what: &str) -> Self {
        let seed = super::number("FOLKMOOT_SEED", RandomState::new().hash_one(what));
        println!("{what}: FOLKMOOT_SEED={seed}");
        Self(seed)
    }

    /// Another one, which goes its own way.
    pub(super) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
