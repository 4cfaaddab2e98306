//! Harness state: being told of changes of one record or of a fleet, as soon as they are there.
//!
//! There is no thread. A watch sleeps in the caller's own wait, or in an event loop that polls its descriptor.

use std::ffi::c_char;
use std::os::fd::AsRawFd;
use std::time::Duration;

use gallivant_core::harness_state::{Change, Noticing, Watch, WatchOptions, WatchProbe, WatchWaker};
use gallivant_core::{Code, Error, Result};

use super::fleet::{
    bounds as bounds_of, gallivant_harness_state_fleet_options, gallivant_harness_state_left_out,
    gallivant_harness_state_seat, left_out,
};
use super::options::{self, gallivant_harness_state_options};
use super::probe::{self, gallivant_harness_state_probe};
use super::record::{NOTHING_OBSERVED, derived_with, texts_of};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};
use crate::options::{self as sizes, DEFAULT, OutSized, sized};
use crate::view::{Fixed, Room, gallivant_str};

/// The system notifies; nothing is looked at while nothing changes.
pub const GALLIVANT_NOTICING_NOTIFIED: i32 = 1;
/// By looking at an interval, because the platform or a file system does not notify.
pub const GALLIVANT_NOTICING_POLLED_UNSUPPORTED: i32 = 2;
/// By looking at an interval, because a limit of the system is reached (Linux: `fs.inotify.max_user_watches` and
/// `max_user_instances`). What is watched already is still notified.
pub const GALLIVANT_NOTICING_POLLED_LIMIT: i32 = 3;

/// Tells what changes of one record or of a fleet.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise; only `gallivant_harness_state_watch_wake` may be called by any
/// thread at any time. Free it with `gallivant_harness_state_watch_free`, which closes all that it opened.
#[derive(Debug)]
pub struct gallivant_harness_state_watch {
    waker: WatchWaker,
    watched: Exclusive<Watched>,
}

impl Handle for gallivant_harness_state_watch {}

#[derive(Debug)]
struct Watched {
    watch: Watch,
    told: Told,
}

/// How a watch notices and tells. Wherever it is asked for, NULL stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_watch_options {
    /// Set by `GALLIVANT_HARNESS_STATE_WATCH_OPTIONS_INIT`.
    pub struct_size: usize,
    /// How often it looks where the system does not notify, in ms. Default 1 s, at least 10 ms.
    pub poll_interval_ms: u64,
    /// How often a probe is asked whose answer nothing announces, in ms. Default 1 s, at least 10 ms.
    pub probe_interval_ms: u64,
    /// How long it waits after the first sign of a change for more of them, so that a burst is told once, in ms. Default
    /// 5 ms.
    pub settle_ms: u64,
}
sized!(gallivant_harness_state_watch_options);

// C: #define GALLIVANT_HARNESS_STATE_WATCH_OPTIONS_INIT \
// C:     { sizeof(gallivant_harness_state_watch_options), GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT }

/// What has changed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_change {
    /// Set by `GALLIVANT_HARNESS_STATE_CHANGE_INIT`.
    pub struct_size: usize,
    /// 1 where something is told; 0 where nothing is yet, and all else is then 0 and none.
    pub told: i32,
    /// How changes are noticed at the moment: GALLIVANT_NOTICING.
    pub noticing: i32,
    /// How many seats there are of which something else is to be concluded than was told last:
    /// `gallivant_harness_state_watch_seat` lends them. It may be 0 where only the rest has changed.
    pub count: usize,
    /// What a fleet's walk did not look at, as it is now.
    pub left_out: gallivant_harness_state_left_out,
}
sized!(gallivant_harness_state_change);

// C: #define GALLIVANT_HARNESS_STATE_CHANGE_INIT \
// C:     { sizeof(gallivant_harness_state_change), 0, 0, 0, { 0, 0, 0, 0, { NULL, 0 } } }

/// Watches one agent's record, by its directory or by the record's own path, which need not exist yet. `probe`, `watching`
/// and `options` may be NULL.
///
/// With a probe it also tells of the session's death. The system announces the release of a lease
/// (`GALLIVANT_PROBE_LEASE`); any other probe is asked at each sign of a change and once in an interval. A callback and its
/// `user_data` are used until the watch is freed, on whichever thread calls it.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path; `GALLIVANT_HARNESS_STATE_IO` where no
/// descriptor to wait on can be had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_record(
    path: *const c_char,
    path_length: usize,
    probe: *const gallivant_harness_state_probe,
    watching: *const gallivant_harness_state_watch_options,
    options: *const gallivant_harness_state_options,
    watch: *mut *mut gallivant_harness_state_watch,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let path = gallivant_str::new(path, path_length).text("path")?;
            let (options, host) = options::options(options)?;
            let probe = probe::given(probe, &host)?.map_or(WatchProbe::None, probe::Given::into_watch);
            let watching = self::watching(watching)?;
            let out = Out::new(watch, "watch")?;
            out.set(give(Watch::record(path, probe, &watching, &options, &host)?.into()));
            Ok(())
        })
    }
}

/// Watches every record below a directory, which need not exist yet. `bounds`, `watching` and `options` may be NULL; `probe`
/// may be NULL or of the kind `GALLIVANT_PROBE_LEASE`. Takes a kernel watch for each directory below the root: a root should
/// hold agents and not their workspaces.
///
/// Errors: as `gallivant_harness_state_watch_record`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_fleet(
    root: *const c_char,
    root_length: usize,
    bounds: *const gallivant_harness_state_fleet_options,
    probe: *const gallivant_harness_state_probe,
    watching: *const gallivant_harness_state_watch_options,
    options: *const gallivant_harness_state_options,
    watch: *mut *mut gallivant_harness_state_watch,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let bounds = bounds_of(bounds)?;
            let (options, host) = options::options(options)?;
            let probe = probe::of_fleet(probe, &host)?;
            let watching = self::watching(watching)?;
            let out = Out::new(watch, "watch")?;
            out.set(give(Watch::fleet(root, &bounds, probe, &watching, &options, &host)?.into()));
            Ok(())
        })
    }
}

/// Waits for the next change, for at most `timeout_ms` (`GALLIVANT_FOREVER`: without end); nothing is told when the time is
/// over. The first call tells what is there now, a fleet without records too. Signals do not end the wait.
///
/// The seats of `change`, and its strings, are valid until the next `gallivant_harness_state_watch_next` or
/// `gallivant_harness_state_watch_poll` with this watch, or until it is freed.
///
/// Errors: `GALLIVANT_CANCELLED` after `gallivant_harness_state_watch_wake`; `GALLIVANT_HARNESS_STATE_INPUT` with reason
/// `forked` in a forked child; `GALLIVANT_HARNESS_STATE_IO` where the system cannot wait. Nothing that changed is lost by an
/// error: the next call tells it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_next(
    watch: *mut gallivant_harness_state_watch,
    timeout_ms: u64,
    change: *mut gallivant_harness_state_change,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let timeout = sizes::timeout(timeout_ms);
            tell(watch, change, |watch| watch.next(timeout))
        })
    }
}

/// What has changed, without waiting: for event loops, when the descriptor is readable. Where nothing is told yet the
/// descriptor is not readable any more, until it is time again. Otherwise as `gallivant_harness_state_watch_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_poll(
    watch: *mut gallivant_harness_state_watch,
    change: *mut gallivant_harness_state_change,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || tell(watch, change, Watch::poll)) }
}

/// One seat of the change that was told last, counted from 0 in the order of the paths. Where nothing stands there any more,
/// nothing was observed.
///
/// Errors: `GALLIVANT_INPUT` with reason `index` from `count` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_seat(
    watch: *mut gallivant_harness_state_watch,
    index: usize,
    seat: *mut gallivant_harness_state_seat,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let watched = borrow(watch, "watch")?.watched.take(NAME)?;
            let out = OutSized::new(seat, "seat")?;
            let seats = watched.told.seats.get();
            let seat = seats.get(index).ok_or_else(|| {
                let message = format!("no such seat, index=`{index}` count=`{}`", seats.len());
                Error::new(Code::Input, message).with_reason("index")
            })?;
            out.set(*seat);
            Ok(())
        })
    }
}

/// A descriptor for `poll`, `select`, `epoll` and event loops that becomes readable when
/// `gallivant_harness_state_watch_poll` should be called: a change, an answer that time alone changes, a probe that is due, a
/// clock that was set, a wake. Call it once before the first wait. The descriptor is the watch's own: only poll it.
///
/// -1 where there is none: on platforms without such descriptors, where only `gallivant_harness_state_watch_next` waits; in a
/// forked child; while another call uses the watch; and where `watch` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_descriptor(
    watch: *const gallivant_harness_state_watch,
) -> i32 {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let watched = unsafe { watch.as_ref() }.and_then(|watch| watch.watched.take(NAME).ok());
        let descriptor = watched.as_ref().and_then(|watched| watched.watch.descriptor());
        descriptor.map_or(NO_DESCRIPTOR, |descriptor| descriptor.as_raw_fd())
    })
}

/// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. From any thread. Does nothing where `watch` is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_wake(watch: *const gallivant_harness_state_watch) {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        if let Some(watch) = unsafe { watch.as_ref() } {
            watch.waker.wake();
        }
    });
}

/// Frees the watch, closes its descriptors and ends the strings of its last change. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_watch_free(watch: *mut gallivant_harness_state_watch) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(watch) });
}

const NAME: &str = "gallivant_harness_state_watch";

const NO_DESCRIPTOR: i32 = -1;

impl From<Watch> for gallivant_harness_state_watch {
    fn from(watch: Watch) -> Self {
        let waker = watch.waker();
        gallivant_harness_state_watch {
            waker,
            watched: Exclusive::new(Watched { watch, told: Told::default() }),
        }
    }
}

/// What was told last: views, and the memory behind them. Both are replaced together.
#[derive(Debug)]
struct Told {
    seats: Fixed<Vec<gallivant_harness_state_seat>>,
    left_out: Fixed<gallivant_harness_state_left_out>,
    _texts: Vec<u8>,
}

impl Default for Told {
    fn default() -> Self {
        Told::new(&Change { seats: Vec::new(), left_out: Default::default(), noticing: Noticing::Notified })
    }
}

impl Told {
    fn new(change: &Change) -> Self {
        // SAFETY: no byte of it may be written.
        let mut counting = unsafe { Room::new(std::ptr::null_mut(), 0) };
        views(change, &mut counting);
        let mut texts = vec![0; counting.needed()];
        // SAFETY: the vector is as long as was counted, and stands beside the views without being touched again.
        unsafe {
            let mut room = Room::new(texts.as_mut_ptr().cast(), texts.len());
            let (seats, left_out) = views(change, &mut room);
            Told { seats: Fixed::new(seats), left_out: Fixed::new(left_out), _texts: texts }
        }
    }
}

/// The change with its strings in that room. A string for which there is none is none.
fn views(
    change: &Change,
    room: &mut Room,
) -> (Vec<gallivant_harness_state_seat>, gallivant_harness_state_left_out) {
    let seats = change.seats.iter().map(|seat| {
        let derived = seat.derived.as_ref().map(|derived| derived.lend());
        let [reason, exit, harness, incarnation] = derived.as_ref().map_or([None; 4], texts_of);
        let held = room.hold([Some(&*seat.path), reason, exit, harness, incarnation]);
        let [path, reason, exit, harness, incarnation] = held.unwrap_or([gallivant_str::NONE; 5]);
        let views = [reason, exit, harness, incarnation];
        gallivant_harness_state_seat {
            struct_size: 0,
            path,
            derived: derived.map_or(NOTHING_OBSERVED, |derived| derived_with(&derived, views)),
        }
    });
    let seats = seats.collect();
    (seats, left_out(&change.left_out, room))
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn tell(
    watch: *mut gallivant_harness_state_watch,
    change: *mut gallivant_harness_state_change,
    ask: impl FnOnce(&mut Watch) -> Result<Option<Change>>,
) -> Result<()> {
    // SAFETY: the same contract.
    let (mut watched, out) = unsafe {
        let watched = borrow(watch, "watch")?.watched.take(NAME)?;
        (watched, OutSized::new(change, "change")?)
    };
    let told = ask(&mut watched.watch)?;
    let noticing = told.as_ref().map_or(0, |change| match change.noticing {
        Noticing::Notified => GALLIVANT_NOTICING_NOTIFIED,
        Noticing::PolledLimit => GALLIVANT_NOTICING_POLLED_LIMIT,
        _ => GALLIVANT_NOTICING_POLLED_UNSUPPORTED,
    });
    watched.told = told.as_ref().map_or_else(Told::default, Told::new);
    out.set(gallivant_harness_state_change {
        struct_size: 0,
        told: i32::from(told.is_some()),
        noticing,
        count: watched.told.seats.get().len(),
        left_out: *watched.told.left_out.get(),
    });
    Ok(())
}

/// How to watch, behind an argument that may be null.
///
/// # Safety
/// `pointer` is null or points to options.
unsafe fn watching(pointer: *const gallivant_harness_state_watch_options) -> Result<WatchOptions> {
    let default = WatchOptions::default();
    if pointer.is_null() {
        return Ok(default);
    }
    // SAFETY: the same contract.
    let given = unsafe { sizes::input(pointer, "watching") }?;
    let time = |ms: u64, default| if ms == DEFAULT { default } else { Duration::from_millis(ms) };
    Ok(WatchOptions {
        poll_interval: time(given.poll_interval_ms, default.poll_interval),
        probe_interval: time(given.probe_interval_ms, default.probe_interval),
        settle: time(given.settle_ms, default.settle),
    })
}
