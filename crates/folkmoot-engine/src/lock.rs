//! Locks that outlive a panic: what they guard is whole after every statement.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, also where somebody panicked who had it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
