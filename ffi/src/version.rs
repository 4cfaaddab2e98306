//! Versions: what the program was compiled with and what it runs with.
//!
//! `GALLIVANT_VERSION` and its three parts stand above, as the header's; the functions tell the library's.

use std::ffi::c_char;

use crate::barrier::answer;

/// The version as a string that ends in a zero byte; one number for all packages of the project.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The version of the library that runs, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_version() -> *const c_char {
    answer(|| VERSION.as_ptr().cast())
}

/// The version of the library that runs, as major * 1000000 + minor * 1000 + patch; comparable with
/// `GALLIVANT_VERSION_NUMBER`.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_version_number() -> u32 {
    answer(|| {
        let parts = VERSION.trim_end_matches('\0').split(['.', '-']).take(3);
        parts.fold(0, |number, part| number * 1000 + part.parse().unwrap_or(0))
    })
}

/// The version of the binary interface, which is the number in the soname. A program runs with every library that
/// answers the `GALLIVANT_ABI_VERSION` it was compiled with and is not older than its header.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_abi_version() -> u32 {
    answer(|| env!("CARGO_PKG_VERSION_MAJOR").parse().unwrap_or(0))
}
