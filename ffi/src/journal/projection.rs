//! The public lines of a run, made from its journal: `job.log`, `job.idx` and `log-meta.json`.
//!
//! Whoever projects holds the lock that guards the run, as for the journal. Readers hold none.

use std::ffi::c_char;

use gallivant_core::Result;
use gallivant_core::journal::{Projected, Projection};

use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{OutSized, sized};
use crate::view::gallivant_str;

/// Writes one run's lines.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_projection_free`.
#[derive(Debug)]
pub struct gallivant_projection {
    projection: Exclusive<Projection>,
}

impl Handle for gallivant_projection {}

const NAME: &str = "gallivant_projection";

/// What a projection holds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_projected {
    /// Set by `GALLIVANT_PROJECTED_INIT`.
    pub struct_size: usize,
    /// The oldest number that it has an entry for; above 1 where older ones were trimmed.
    pub first: u64,
    /// The number of the entry that comes next.
    pub next: u64,
    /// Bytes of `job.log`.
    pub bytes: u64,
}
sized!(gallivant_projected);

// C: #define GALLIVANT_PROJECTED_INIT { sizeof(gallivant_projected), 0, 0, 0 }

/// Opens the projection in a run's directory, which exists. Nothing is read or written. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_projection_open(
    directory: *const c_char,
    directory_length: usize,
    host: *const gallivant_host,
    projection: *mut *mut gallivant_projection,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let host = host_or_system(host);
            let out = Out::new(projection, "projection")?;
            let projection = Exclusive::new(Projection::open(directory, &host)?);
            out.set(give(gallivant_projection { projection }));
            Ok(())
        })
    }
}

/// Writes a line for each record of the journal that is acknowledged and has none yet, durably. Where nothing is new, nothing
/// is written. `projected` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for a journal or a `log-meta.json` that cannot be believed;
/// `GALLIVANT_EXECUTION_IO`. What was projected before stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_projection_catch_up(
    projection: *mut gallivant_projection,
    projected: *mut gallivant_projected,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || write(projection, projected, Projection::catch_up)) }
}

/// Drops whole old lines so that at most `keep_bytes` of `job.log` stay. The journal is not touched; rows keep their ids, and
/// whoever asks for one that is gone sees a gap. `projected` may be NULL.
///
/// Errors: as `gallivant_projection_catch_up`. After an error the projection may hold less than it should, and the next catching
/// up writes that again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_projection_trim(
    projection: *mut gallivant_projection,
    keep_bytes: u64,
    projected: *mut gallivant_projected,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || write(projection, projected, |projection| projection.trim(keep_bytes))) }
}

/// Frees the projection. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_projection_free(projection: *mut gallivant_projection) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(projection) });
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn write(
    projection: *mut gallivant_projection,
    projected: *mut gallivant_projected,
    act: impl FnOnce(&mut Projection) -> Result<Projected>,
) -> Result<()> {
    // SAFETY: the same contract.
    let (mut projection, out) = unsafe {
        let projection = borrow(projection, "projection")?.projection.take(NAME)?;
        (projection, OutSized::optional(projected, "projected")?)
    };
    let Projected { first, next, bytes } = act(&mut projection)?;
    if let Some(out) = out {
        out.set(gallivant_projected { struct_size: 0, first, next, bytes });
    }
    Ok(())
}
