//! Harness state: reading one agent's record. No lock is taken and nothing is created.

use std::ffi::c_char;

use gallivant_core::Host;
use gallivant_core::harness_state::{LeaseProbe, ReadBuffer, Reader};

use super::options::{self, gallivant_harness_state_options};
use super::probe::{self, gallivant_harness_state_probe};
use super::record::{self, gallivant_harness_state_derived};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};
use crate::options::OutSized;
use crate::view::{Texts, gallivant_str};

/// Reads one agent's record.
///
/// Threads: one at a time; `GALLIVANT_HANDLE_BUSY` otherwise. Open one reader for each thread. Free it with
/// `gallivant_harness_state_reader_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_reader {
    pub(crate) reader: Reader,
    host: Host,
    lease: LeaseProbe,
    /// Taken by every call that uses the reader.
    pub(crate) reading: Exclusive<Reading>,
}

/// What one read leaves to the next.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    buffer: ReadBuffer,
    texts: Texts,
}

impl Handle for gallivant_harness_state_reader {}

/// Opens a reader on an agent's directory or on the record's own path, which need not exist yet. Touches no file.
/// `options` may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_reader_open(
    path: *const c_char,
    path_length: usize,
    options: *const gallivant_harness_state_options,
    reader: *mut *mut gallivant_harness_state_reader,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let path = gallivant_str::new(path, path_length).text("path")?;
            let (options, host) = options::options(options)?;
            let out = Out::new(reader, "reader")?;
            let reader = Reader::try_open(path, &options, &host)?;
            out.set(give(gallivant_harness_state_reader {
                lease: LeaseProbe::new(&reader),
                reader,
                host,
                reading: Exclusive::default(),
            }));
            Ok(())
        })
    }
}

/// Reads the record and says what may be concluded now. What cannot be read is an answer, unknown, and no error.
///
/// `probe` may be NULL: then a live record is believed until it is stale. The strings of `derived` are valid until the
/// next `gallivant_harness_state_reader_read` with this reader, or until the reader is freed.
///
/// After the first time it costs four system calls (open, stat, read, close), and memory only where the record has
/// changed. A probe that is asked costs its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_reader_read(
    reader: *mut gallivant_harness_state_reader,
    probe: *const gallivant_harness_state_probe,
    derived: *mut gallivant_harness_state_derived,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let reader = borrow(reader, "reader")?;
            let mut reading = reader.reading.take("gallivant_harness_state_reader")?;
            let probe = probe::given(probe, &reader.host)?;
            let out = OutSized::new(derived, "derived")?;
            let Reading { buffer, texts } = &mut *reading;
            let probe = probe.as_ref().map(|probe| probe.probe(&reader.lease));
            let answer = reader.reader.read_into(probe, buffer);
            out.set(record::derived(answer, texts));
            Ok(())
        })
    }
}

/// Frees the reader, and ends the strings of its last answer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_reader_free(reader: *mut gallivant_harness_state_reader) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(reader) });
}
