//! The cost of a phase's gate check when gates are off.

use std::{hint::black_box, time::Instant};

use folkmoot_core::gate::GateConfig;

#[derive(Debug)]
pub(crate) struct Cost {
    pub(crate) nanoseconds: f64,
    pub(crate) allocations: u64,
}

pub(crate) fn measure() -> Cost {
    let off = GateConfig::default();
    time(|| {
        black_box(black_box(&off).check(black_box("proposal")));
    })
}

fn time(check: impl Fn()) -> Cost {
    const CALLS: u32 = 10_000;
    const ROUNDS: u32 = 200;
    let allocations = crate::allocations::count(&check);
    // The fastest round was not interrupted.
    let nanoseconds = (0..ROUNDS)
        .map(|_| {
            let since = Instant::now();
            for _ in 0..CALLS {
                check();
            }
            since.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min);
    Cost { nanoseconds, allocations }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_seen_and_time_passes() {
        let cost = time(|| drop(black_box(Box::new(7))));
        assert_eq!(cost.allocations, 1);
        assert!(cost.nanoseconds > 0.0);
    }
}
