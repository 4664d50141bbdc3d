//! What a call costs, counted in bytes it asks of the allocator: the same on every machine, unlike
//! time, and too much of either shows in it.

#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending has nothing left to count with.
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get().wrapping_add(bytes)));
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps to the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System`, see `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size.saturating_sub(layout.size()));
        // SAFETY: the pointer came from `System`, see `alloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// Fails when a call asks for more than so many bytes for each byte of its input.
pub(crate) fn within<T>(input: usize, per_byte: usize, call: impl FnOnce() -> T) -> T {
    /// Tables that are read once, messages, and the like.
    const FIXED: usize = 32 << 20;
    let before = ALLOCATED.get();
    let result = call();
    let allocated = ALLOCATED.get().wrapping_sub(before);
    assert!(
        allocated <= FIXED + input * per_byte,
        "{allocated} bytes allocated for an input of {input}"
    );
    result
}
