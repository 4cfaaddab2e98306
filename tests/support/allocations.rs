//! How often the calling thread has allocated: the system's allocator, counting.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is the system allocator's own, with the caller's arguments. Counting allocates nothing and cannot
// fail: the cell needs no initialisation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as for this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for this function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as for this function.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How many allocations this thread makes by this.
pub(crate) fn allocations(action: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    action();
    COUNT.get() - before
}
