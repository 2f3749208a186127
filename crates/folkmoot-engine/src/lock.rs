//! Locks that ignore poisoning: their data is consistent after every statement.
//!
//! In this crate's tests they are also scheduling points: under shuttle another task may run before
//! a lock is taken and after it is released.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockResult};

#[cfg(test)]
pub(crate) mod shuttled;

#[cfg(test)]
pub(crate) use shuttled::{AtomicI64, ShuttledGuard as LockGuard};
#[cfg(not(test))]
pub(crate) use std::sync::atomic::AtomicI64;

/// The guard of a lock: std's, or in tests one that also lets another task run.
#[cfg(not(test))]
pub(crate) type LockGuard<G> = G;

/// Locks, also after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> LockGuard<MutexGuard<'_, T>> {
    take(|| mutex.lock(), || mutex.try_lock())
}

/// Locks for reading, also after a panic.
pub(crate) fn read<T>(lock: &RwLock<T>) -> LockGuard<RwLockReadGuard<'_, T>> {
    take(|| lock.read(), || lock.try_read())
}

/// Locks for writing, also after a panic.
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
