//! Harness state: every record below a directory, in one call and into memory of the caller.

use std::ffi::c_char;

use gallivant_core::harness_state::{
    DerivedRef, EntryRef, Fleet, FleetOptions, FleetSheet, FleetSummary, LeftOut, gather_fleet,
};
use gallivant_core::{Host, Result};

use super::options::{self, gallivant_harness_state_options};
use super::probe::{self, gallivant_harness_state_probe};
use super::record::{self, gallivant_harness_state_derived};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::options::{self as sizes, DEFAULT, Elements, OutSized, sized};
use crate::view::{Room, gallivant_optional_u64, gallivant_str};

/// Every record below a directory, read again and again. What stands unchanged is asked for by `stat` alone.
///
/// Threads: any number at once; one reads at a time, and the others wait for it. Free it with
/// `gallivant_harness_state_fleet_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_fleet {
    fleet: Fleet,
    host: Host,
}

impl Handle for gallivant_harness_state_fleet {}

/// How far a fleet is looked for. Wherever bounds are asked for, NULL stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_fleet_options {
    /// Set by `GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT`.
    pub struct_size: usize,
    /// How many levels of directories below the root are entered; 0 looks at the root alone. Default 8, at most 128.
    pub max_depth: u64,
    /// How many records are read, at least 1. Default 100,000.
    pub max_records: u64,
    /// How many directories are entered, whether they hold a record or not, at least 1. Default 200,000.
    pub max_directories: u64,
    /// How many threads walk a tree of which nothing is known yet, the calling one among them. Default 1, at most 64. They
    /// call nothing of the program's, and the others have ended once the call returns. A watch has no use for them.
    pub threads: u64,
}
sized!(gallivant_harness_state_fleet_options);

// C: #define GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT \
// C:     { sizeof(gallivant_harness_state_fleet_options), GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, \
// C:       GALLIVANT_DEFAULT }

/// One agent of a fleet, and what may be concluded of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_seat {
    /// Set by `GALLIVANT_HARNESS_STATE_SEAT_INIT`, and by the library in an array that it fills.
    pub struct_size: usize,
    /// The agent's directory by its path below the root; `.` for the root itself, and for a watched record.
    pub path: gallivant_str,
    /// What may be concluded. It is the last member, so that it may grow.
    pub derived: gallivant_harness_state_derived,
}
sized!(gallivant_harness_state_seat);

// C: #define GALLIVANT_HARNESS_STATE_SEAT_INIT \
// C:     { sizeof(gallivant_harness_state_seat), { NULL, 0 }, GALLIVANT_HARNESS_STATE_DERIVED_INIT }

/// Memory of the caller into which a fleet is read. It may be used again for the next read, and is the caller's to free.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_fleet_buffer {
    /// Set by `GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT`.
    pub struct_size: usize,
    /// How large one seat is for this program. Set by the macro.
    pub seat_size: usize,
    /// An array of so many seats, whatever they hold; NULL for none.
    pub seats: *mut gallivant_harness_state_seat,
    /// How many seats there is room for.
    pub capacity: usize,
    /// Room for the texts of the seats; NULL for none.
    pub texts: *mut c_char,
    /// How many bytes.
    pub texts_capacity: usize,
}
sized!(gallivant_harness_state_fleet_buffer);

// C: #define GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT \
// C:     { sizeof(gallivant_harness_state_fleet_buffer), sizeof(gallivant_harness_state_seat), NULL, 0, NULL, 0 }

/// What a walk did not look at. Nothing of it hides anything else.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_left_out {
    /// Directories below the last level that is entered.
    pub too_deep: u64,
    /// Directories that were known and not entered when the number of records or of directories was reached.
    pub too_many: u64,
    /// Directories that could not be listed or searched. Where the record in one can be read, it is.
    pub unreadable: u64,
    /// Directories whose names are not UTF-8.
    pub unnameable: u64,
    /// The first of the unreadable directories and why, in one line for people; no string where there is none.
    pub example: gallivant_str,
}

/// What a read of a fleet says besides its seats.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_fleet_summary {
    /// Set by `GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT`.
    pub struct_size: usize,
    /// How many records there are.
    pub count: usize,
    /// How many of them are in the buffer: the first ones, each whole.
    pub filled: usize,
    /// How many bytes the texts of all of them take, the example of `left_out` included.
    pub texts_needed: usize,
    /// The instant at which the first of all the answers changes by time alone, wall clock in ms since 1970; absent where
    /// time alone changes none. Of those too that are not in the buffer.
    pub valid_until_ms: gallivant_optional_u64,
    /// What was not looked at.
    pub left_out: gallivant_harness_state_left_out,
}
sized!(gallivant_harness_state_fleet_summary);

// C: #define GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT \
// C:     { sizeof(gallivant_harness_state_fleet_summary), 0, 0, 0, { 0, 0 }, { 0, 0, 0, 0, { NULL, 0 } } }

/// Opens a fleet below a directory, which need not exist yet. Touches no file. `bounds` and `options` may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_fleet_open(
    root: *const c_char,
    root_length: usize,
    bounds: *const gallivant_harness_state_fleet_options,
    options: *const gallivant_harness_state_options,
    fleet: *mut *mut gallivant_harness_state_fleet,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let bounds = self::bounds(bounds)?;
            let (options, host) = options::options(options)?;
            let out = Out::new(fleet, "fleet")?;
            let fleet = Fleet::open(root, &bounds, &options, &host)?;
            out.set(give(gallivant_harness_state_fleet { fleet, host }));
            Ok(())
        })
    }
}

/// Reads every record below the root, in the order of their paths, into `buffer`, which may hold any number of them or none.
/// A record that cannot be read is a seat that is unknown; a root that does not exist has none.
///
/// `summary` says how many there are and how much room they take. While `filled` is less than `count`, or `texts_needed` more
/// than the buffer's, something did not fit: grow the buffer and call again, which asks the disk by `stat` only. Nothing is
/// ever cut off inside a seat. Strings point into the buffer's texts and end in a zero byte; nothing is allocated for a
/// record that stands unchanged.
///
/// `probe` may be NULL, or be of the kind `GALLIVANT_PROBE_LEASE`, which asks the lease of each seat: some ten system calls
/// for each live record. `buffer` may be NULL where only the summary is wanted.
///
/// In a forked child the first read walks the whole tree again. In a fleet of more than 1,024 agents a record below an
/// agent's own directory, where no directory was before, is found by the eighth read at the latest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_fleet_read(
    fleet: *mut gallivant_harness_state_fleet,
    probe: *const gallivant_harness_state_probe,
    buffer: *const gallivant_harness_state_fleet_buffer,
    summary: *mut gallivant_harness_state_fleet_summary,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let fleet = borrow(fleet, "fleet")?;
            let probe = probe::of_fleet(probe, &fleet.host)?;
            let mut buffer = Filling::of(buffer)?;
            let out = OutSized::new(summary, "summary")?;
            let found = fleet.fleet.for_each(probe, |entry| buffer.add(entry.path, &entry.derived));
            out.set(buffer.summary(&found));
            Ok(())
        })
    }
}

/// Reads every record below a directory once and keeps nothing: for a program that reads and ends, or looks so seldom that
/// most has changed. All arguments are as with `gallivant_harness_state_fleet_open` and `gallivant_harness_state_fleet_read`,
/// and so is what it answers; but a call with a larger buffer reads the disk again, and may find more. Memory grows in blocks
/// of some hundred records.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_fleet_read_once(
    root: *const c_char,
    root_length: usize,
    bounds: *const gallivant_harness_state_fleet_options,
    options: *const gallivant_harness_state_options,
    probe: *const gallivant_harness_state_probe,
    buffer: *const gallivant_harness_state_fleet_buffer,
    summary: *mut gallivant_harness_state_fleet_summary,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let bounds = self::bounds(bounds)?;
            let (options, host) = options::options(options)?;
            let probe = probe::of_fleet(probe, &host)?;
            let mut buffer = Filling::of(buffer)?;
            let out = OutSized::new(summary, "summary")?;
            let add = |part: &mut FleetSheet, entry: EntryRef<'_>| part.push(&entry);
            let found = gather_fleet(root, &bounds, probe, &options, &host, add, |part| {
                part.iter().for_each(|(path, derived)| buffer.add(path, &derived));
            })?;
            out.set(buffer.summary(&found));
            Ok(())
        })
    }
}

/// Forgets what was found, so that the next read walks the whole tree again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_fleet_forget(
    fleet: *mut gallivant_harness_state_fleet,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            borrow(fleet, "fleet")?.fleet.forget();
            Ok(())
        })
    }
}

/// Frees the fleet. What was read into buffers stays. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_fleet_free(fleet: *mut gallivant_harness_state_fleet) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(fleet) });
}

/// The bounds behind an argument that may be null.
///
/// # Safety
/// `pointer` is null or points to bounds.
pub(super) unsafe fn bounds(pointer: *const gallivant_harness_state_fleet_options) -> Result<FleetOptions> {
    let default = FleetOptions::default();
    if pointer.is_null() {
        return Ok(default);
    }
    // SAFETY: the same contract.
    let given = unsafe { sizes::input(pointer, "bounds") }?;
    let number = |given: u64, default: usize| match given {
        DEFAULT => default,
        given => usize::try_from(given).unwrap_or(usize::MAX),
    };
    Ok(FleetOptions {
        max_depth: match given.max_depth {
            DEFAULT => default.max_depth,
            given => u32::try_from(given).unwrap_or(u32::MAX),
        },
        max_records: number(given.max_records, default.max_records),
        max_directories: number(given.max_directories, default.max_directories),
        threads: number(given.threads, default.threads),
    })
}

/// What was left out, with its example in that room where it fits.
pub(super) fn left_out(left_out: &LeftOut, room: &mut Room) -> gallivant_harness_state_left_out {
    let example = left_out.example.as_deref().and_then(|example| room.hold([Some(example)]));
    gallivant_harness_state_left_out {
        too_deep: left_out.too_deep,
        too_many: left_out.too_many,
        unreadable: left_out.unreadable,
        unnameable: left_out.unnameable,
        example: example.map_or(gallivant_str::NONE, |[example]| example),
    }
}

/// A buffer of the caller that is being filled.
struct Filling {
    seats: Elements<gallivant_harness_state_seat>,
    filled: usize,
    /// Whether every seat so far has found its place.
    fits: bool,
    texts: Room,
}

impl Filling {
    /// Checks a buffer that may be null.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer`, `struct-size` or `length`.
    ///
    /// # Safety
    /// `pointer` is null or points to a buffer whose members point to what they say until the call returns.
    unsafe fn of(pointer: *const gallivant_harness_state_fleet_buffer) -> Result<Self> {
        if pointer.is_null() {
            // SAFETY: no byte of it may be written.
            let texts = unsafe { Room::new(std::ptr::null_mut(), 0) };
            return Ok(Filling { seats: Elements::none(), filled: 0, fits: true, texts });
        }
        // SAFETY: by this function's contract.
        unsafe {
            let given = sizes::input(pointer, "buffer")?;
            let names = ["seats", "seat_size", "capacity"];
            Ok(Filling {
                seats: Elements::new(given.seats, given.seat_size, given.capacity, names)?,
                filled: 0,
                fits: true,
                texts: Room::given(given.texts, "texts", given.texts_capacity, "texts_capacity")?,
            })
        }
    }

    /// Adds a seat if there is room for all of it and everything before has found its place.
    fn add(&mut self, path: &str, derived: &DerivedRef<'_>) {
        let [reason, exit, harness, incarnation] = record::texts_of(derived);
        let held = self.texts.hold([Some(path), reason, exit, harness, incarnation]);
        self.fits &= held.is_some() && self.filled < self.seats.capacity();
        let (true, Some([path, texts @ ..])) = (self.fits, held) else { return };
        let derived = record::derived_with(derived, texts);
        let seat = gallivant_harness_state_seat { struct_size: 0, path, derived };
        self.filled += usize::from(self.seats.set(self.filled, seat));
    }

    /// What is said besides the seats, once all have been added.
    fn summary(&mut self, found: &FleetSummary) -> gallivant_harness_state_fleet_summary {
        let left_out = left_out(&found.left_out, &mut self.texts);
        gallivant_harness_state_fleet_summary {
            struct_size: 0,
            count: found.entries,
            filled: self.filled,
            texts_needed: self.texts.needed(),
            valid_until_ms: found.valid_until_ms.into(),
            left_out,
        }
    }
}
