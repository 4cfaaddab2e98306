//! Testing: a host with a manual clock, fixed chance, and a disk that fails where a test says.
//!
//! For the tests of programs that use the library: to see what a reader shows when a record goes stale, and what a crash
//! between any two operations on the disk leaves behind.

use std::ffi::c_char;

use gallivant_core::testing::{TestHost, TestHostOptions};

use crate::barrier::call;
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{Out, array, borrow, give};
use crate::host::gallivant_host;
use crate::options::{self, sized};
use crate::view::{gallivant_optional_u64, gallivant_str};

/// What a testing host is made of.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_testing_host_options {
    /// Set by `GALLIVANT_TESTING_HOST_OPTIONS_INIT`.
    pub struct_size: usize,
    /// Where the wall clock stands, in ms since 1970, until it is set; absent for the machine's own clock.
    pub wall_ms: gallivant_optional_u64,
    /// The random values to give, in turn, and then counting up from the last; NULL for the machine's own.
    pub random: *const u64,
    /// How many.
    pub random_count: usize,
    /// A list of faults as JSON, such as `[{"on": "rename", "nth": 1, "do": "error", "errno": "EIO"}]` or
    /// `[{"at": 7, "do": "crash"}]`, where a crash kills this very process; no string for no faults.
    pub faults_json: gallivant_str,
    /// Another name of the machine; no string for its own. Processes under different names prove nothing of each other.
    pub machine: gallivant_str,
    /// Another identity of the boot; no string for its own. Another boot proves the death of a process.
    pub boot: gallivant_str,
}
sized!(gallivant_testing_host_options);

// C: #define GALLIVANT_TESTING_HOST_OPTIONS_INIT \
// C:     { sizeof(gallivant_testing_host_options), { 0, 0 }, NULL, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

/// Makes a host over the real disk and the real process table. `options` may be NULL: then it only counts operations.
///
/// Errors: `GALLIVANT_INPUT` when the list of faults cannot be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_testing_host_new(
    options: *const gallivant_testing_host_options,
    host: *mut *mut gallivant_host,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(host, "host")?;
            let options = if options.is_null() { None } else { Some(options::input(options, "options")?) };
            let made = match options {
                None => TestHostOptions::default(),
                Some(options) => TestHostOptions {
                    wall_ms: options.wall_ms.get(),
                    random: array(options.random, options.random_count, "random")?.to_vec(),
                    faults_json: options.faults_json.optional("faults_json")?,
                    machine: options.machine.optional("machine")?,
                    boot: options.boot.optional("boot")?,
                },
            };
            out.set(give(gallivant_host { test: TestHost::new(made)? }));
            Ok(())
        })
    }
}

/// Puts the wall clock there, in ms since 1970, as an operator or a time server does. The clocks by which a record with the
/// extension object is judged go on, so that it grows no older: what is to grow old is let by
/// `gallivant_testing_host_advance_ms`. Does nothing where the clock is the machine's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_testing_host_set_wall_ms(
    host: *const gallivant_host,
    wall_ms: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            borrow(host, "host")?.test.set_wall_ms(wall_ms);
            Ok(())
        })
    }
}

/// Lets this many ms pass on all clocks, or, where `ms` is negative, sets the wall clock back. Does nothing where the
/// clock is the machine's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_testing_host_advance_ms(
    host: *const gallivant_host,
    ms: i64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            borrow(host, "host")?.test.advance_ms(ms);
            Ok(())
        })
    }
}

/// Puts all clocks by which something is stamped and judged there: the wall clock to `wall_ms`, in ms since 1970, the machine
/// having slept for `slept_ms` in all. Does nothing where the clock is the machine's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_testing_host_stand_at(
    host: *const gallivant_host,
    wall_ms: u64,
    slept_ms: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            borrow(host, "host")?.test.stand_at(wall_ms, slept_ms);
            Ok(())
        })
    }
}

/// Replaces the faults by this list, as in `faults_json` of the options. Operations keep their numbers.
///
/// Errors: `GALLIVANT_INPUT` when the list cannot be used; the faults are then as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_testing_host_set_faults(
    host: *const gallivant_host,
    faults_json: *const c_char,
    faults_json_length: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let faults = gallivant_str::new(faults_json, faults_json_length).text("faults_json")?;
            borrow(host, "host")?.test.set_faults(faults)
        })
    }
}

/// The storage operations so far, a line each, such as `3 /agents/a: rename .x.tmp-1 -> x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_testing_host_operations(
    host: *const gallivant_host,
    operations: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let host = borrow(host, "host")?;
            let out = Out::new(operations, "operations")?;
            let lines: String = host.test.operations().iter().map(|line| format!("{line}\n")).collect();
            out.set(give(gallivant_text::new(&lines)));
            Ok(())
        })
    }
}
