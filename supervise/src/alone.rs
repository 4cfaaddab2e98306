//! What the standard library would bring, where the program is built without it: memory from the C library, and an end at once
//! for a panic, which has no message.
//!
//! The standard library would be nine tenths of the program, and a quarter of what it does before its first line: it brings the
//! reading of debug information along, and a library for unwinding that the loader has to find.

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

// Else the standard library would name it. Linked in, it leans on the compiler's own.
#[cfg_attr(not(target_feature = "crt-static"), link(name = "c"))]
#[cfg_attr(target_feature = "crt-static", link(name = "c", kind = "static", modifiers = "-bundle"))]
#[cfg_attr(target_feature = "crt-static", link(name = "gcc_eh", kind = "static", modifiers = "-bundle"))]
#[cfg_attr(target_feature = "crt-static", link(name = "gcc", kind = "static", modifiers = "-bundle"))]
unsafe extern "C" {}

/// `malloc`.
struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

/// `malloc` aligns so far; nothing of this program asks for more.
const ALIGNED: usize = 2 * size_of::<usize>();

// SAFETY: the C library's functions keep what the trait asks for; what they do not align is refused.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGNED {
            return core::ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        unsafe { libc::malloc(layout.size()).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller hands over what `alloc` gave.
        unsafe { libc::free(memory.cast()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGNED {
            return core::ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        unsafe { libc::calloc(1, layout.size()).cast() }
    }

    unsafe fn realloc(&self, memory: *mut u8, _: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller hands over what `alloc` gave.
        unsafe { libc::realloc(memory.cast(), size).cast() }
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: takes no argument.
    unsafe { libc::abort() }
}

// The library of collections is built once for all programs, for those too whose panics unwind, and names what would do that. In
// this one a panic ends the program before.
// SAFETY: there is no other symbol of this name in the program.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> ! {
    // SAFETY: takes no argument.
    unsafe { libc::abort() }
}

// SAFETY: as above. Linked statically, the C library brings one.
#[cfg(not(target_feature = "crt-static"))]
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    // SAFETY: takes no argument.
    unsafe { libc::abort() }
}
