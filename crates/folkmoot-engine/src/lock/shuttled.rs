//! The same primitives under shuttle: each of them is a scheduling point.
//!
//! All of shuttle's tasks are on one thread, so a held lock is polled instead of waited for.
//! tokio's channels and notifications are used unchanged: nothing is switched inside them, and
//! their wakers are shuttle's.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        TryLockError, TryLockResult,
        atomic::{self, Ordering},
    },
};

use shuttle::{
    Config, FailurePersistence, Runner, current,
    scheduler::{PctScheduler, RandomScheduler},
    sync::atomic::AtomicBool as Switch,
    thread,
};

/// Runs a scene in as many orders as `FOLKMOOT_SCHEDULES` says: half choose the next task at
/// random, half delay one task for long. Tasks that wait for ever are a deadlock, which panics.
pub(crate) fn in_any_order(scene: impl Fn() + Send + Sync + 'static) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let half = usize::try_from(number("FOLKMOOT_SCHEDULES").unwrap_or(300) / 2).expect("a small number");
    // Seeded, so that a failure can be repeated.
    let seed = number("FOLKMOOT_SEED").unwrap_or(7);
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::Print;
    let scene = std::sync::Arc::new(scene);
    let again = scene.clone();
    Runner::new(PctScheduler::new_from_seed(seed, 3, half), config.clone()).run(move || scene());
    Runner::new(RandomScheduler::new_from_seed(seed, half), config).run(move || again());
}

pub(super) fn is_in_charge() -> bool {
    current::try_get_current_task().is_some()
}

/// Another task may run here.
pub(crate) fn switch() {
    if is_in_charge() && !std::thread::panicking() {
        Switch::new(false).load(Ordering::SeqCst);
    }
}

pub(crate) struct ShuttledGuard<G>(Option<G>);

impl<G> ShuttledGuard<G> {
    pub(super) fn new(guard: G) -> Self {
        Self(Some(guard))
    }

    pub(super) fn look(mut look: impl FnMut() -> TryLockResult<G>) -> Self {
        loop {
            switch();
            match look() {
                Ok(guard) => return Self::new(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Self::new(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => thread::yield_now(),
            }
        }
    }
}

impl<G: Deref> Deref for ShuttledGuard<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        self.0.as_ref().expect("it is held until it is dropped")
    }
}

impl<G: DerefMut> DerefMut for ShuttledGuard<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        self.0.as_mut().expect("it is held until it is dropped")
    }
}

impl<G> Drop for ShuttledGuard<G> {
    fn drop(&mut self) {
        self.0 = None;
        switch();
    }
}

/// The part of an atomic integer that is used.
#[derive(Debug)]
pub(crate) struct AtomicI64(atomic::AtomicI64);

impl AtomicI64 {
    pub(crate) const fn new(value: i64) -> Self {
        Self(atomic::AtomicI64::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> i64 {
        switch();
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: i64, order: Ordering) {
        switch();
        self.0.store(value, order);
    }

    pub(crate) fn fetch_min(&self, value: i64, order: Ordering) -> i64 {
        switch();
        self.0.fetch_min(value, order)
    }
}

impl From<i64> for AtomicI64 {
    fn from(value: i64) -> Self {
        Self::new(value)
    }
}
