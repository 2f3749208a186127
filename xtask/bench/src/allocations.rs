//! Counts the allocations of each thread.
//!
//! It wraps mimalloc, the real binary's allocator, so that the bare server is not slower for its
//! allocator.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
};

use mimalloc::MiMalloc;

thread_local! {
    // Per thread, so that counting needs no sharing.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// How many allocations `f` made on this thread.
pub(crate) fn count(f: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}

#[derive(Debug)]
pub(crate) struct Counting;

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call goes to MiMalloc unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::count;

    #[test]
    fn a_box_is_counted_and_an_addition_is_not() {
        assert_eq!(count(|| drop(black_box(Box::new(1)))), 1);
        assert_eq!(
            count(|| {
                black_box(black_box(1) + 1);
            }),
            0
        );
    }
}
