//! Locks that outlive a panic: what they guard is whole after every statement.
//!
//! In this crate's own tests they are also the moments at which somebody else may run: where
//! shuttle says who runs, before each is taken and after each is let go.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockResult};

#[cfg(test)]
pub(crate) mod shuttled;

#[cfg(test)]
pub(crate) use shuttled::{AtomicI64, ShuttledGuard as LockGuard};
#[cfg(not(test))]
pub(crate) use std::sync::atomic::AtomicI64;

/// The guard of a lock: the one of std, but in tests one that also lets another task run.
#[cfg(not(test))]
pub(crate) type LockGuard<G> = G;

/// The lock, also where somebody panicked who had it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> LockGuard<MutexGuard<'_, T>> {
    take(|| mutex.lock(), || mutex.try_lock())
}

/// To read what is locked, also where somebody panicked who changed it.
pub(crate) fn read<T>(lock: &RwLock<T>) -> LockGuard<RwLockReadGuard<'_, T>> {
    take(|| lock.read(), || lock.try_read())
}

/// To change what is locked, also where somebody panicked who changed it.
pub(crate) fn write<T>(lock: &RwLock<T>) -> LockGuard<RwLockWriteGuard<'_, T>> {
    take(|| lock.write(), || lock.try_write())
}

#[cfg(not(test))]
fn take<G>(wait: impl FnOnce() -> LockResult<G>, _look: impl FnMut() -> TryLockResult<G>) -> G {
    wait().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
fn take<G: std::ops::Deref>(
    wait: impl FnOnce() -> LockResult<G>,
    look: impl FnMut() -> TryLockResult<G>,
) -> LockGuard<G> {
    match shuttled::is_in_charge() {
        true => LockGuard::look(look),
        false => LockGuard::new(wait().unwrap_or_else(PoisonError::into_inner)),
    }
}
