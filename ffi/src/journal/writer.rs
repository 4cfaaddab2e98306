//! The journal of a run: taking events in.
//!
//! A journal takes no lock. Whoever calls holds the lock that guards the run for as long as the call lasts. What another
//! process did between two calls is noticed and read again.

use std::ffi::c_char;

use gallivant_core::journal::{Appended, Event, How, Journal, Owner, Position};
use gallivant_core::{Code, Error, Result};

use super::words::PLACES;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give, null_pointer};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, OutSized, sized, too_long};
use crate::redaction::gallivant_redactor;
use crate::view::gallivant_str;

/// The journal of one run, as its one writer has it.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_journal_free`.
#[derive(Debug)]
pub struct gallivant_journal {
    journal: Exclusive<Journal>,
}

impl Handle for gallivant_journal {}

const NAME: &str = "gallivant_journal";

/// Whose journal it is. All of it is compared exactly, and none of it is redacted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_journal_owner {
    /// Set by `GALLIVANT_JOURNAL_OWNER_INIT`.
    pub struct_size: usize,
    /// The task.
    pub task_id: gallivant_str,
    /// The run, which has a directory of its own.
    pub run_id: gallivant_str,
    /// The provider, by its public name.
    pub provider: gallivant_str,
    /// The provider's job; no string where it has none.
    pub provider_job_id: gallivant_str,
    /// The provider's root turn; no string where there is none.
    pub turn_id: gallivant_str,
}
sized!(gallivant_journal_owner);

// C: #define GALLIVANT_JOURNAL_OWNER_INIT \
// C:     { sizeof(gallivant_journal_owner), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

/// A place in a journal.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct gallivant_journal_position {
    /// Bytes of `events.jsonl` before it.
    pub offset: u64,
    /// The number of the last record before it; 0 where there is none.
    pub sequence: u64,
}

/// Where one event of a page stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct gallivant_journal_placed {
    /// Its number in the journal, which never changes.
    pub sequence: u64,
    /// What that number holds: GALLIVANT_PLACED.
    pub how: i32,
}

/// What an append has come to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_journal_appended {
    /// Set by `GALLIVANT_JOURNAL_APPENDED_INIT`.
    pub struct_size: usize,
    /// How many events the page had.
    pub count: usize,
    /// For how many of them there is a new record.
    pub recorded: usize,
    /// For how many there is a new gap, because their records would have been too long.
    pub oversized: usize,
    /// How many were there already.
    pub known: usize,
    /// The end of the journal, all of it acknowledged.
    pub end: gallivant_journal_position,
}
sized!(gallivant_journal_appended);

// C: #define GALLIVANT_JOURNAL_APPENDED_INIT { sizeof(gallivant_journal_appended), 0, 0, 0, 0, { 0, 0 } }

/// What a recovery found and did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_journal_recovered {
    /// Set by `GALLIVANT_JOURNAL_RECOVERED_INIT`.
    pub struct_size: usize,
    /// How many records of a pending batch were there and are acknowledged now.
    pub kept: u64,
    /// 1 where a gap took the place of the first one that was not; 0 where not.
    pub gap: i32,
    /// The end of the journal.
    pub end: gallivant_journal_position,
}
sized!(gallivant_journal_recovered);

// C: #define GALLIVANT_JOURNAL_RECOVERED_INIT { sizeof(gallivant_journal_recovered), 0, 0, { 0, 0 } }

/// Opens the journal in a run's directory, which exists. Nothing of it is read or written. Ids, types and data of events are
/// redacted by `redactor`, which may be freed, before any byte of them is written. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_open(
    directory: *const c_char,
    directory_length: usize,
    owner: *const gallivant_journal_owner,
    redactor: *const gallivant_redactor,
    host: *const gallivant_host,
    journal: *mut *mut gallivant_journal,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let owner = self::owner(owner)?;
            let redactor = borrow(redactor, "redactor")?;
            let host = host_or_system(host);
            let out = Out::new(journal, "journal")?;
            let journal = Journal::open(directory, owner, &host, &redactor.redactor)?;
            out.set(give(gallivant_journal { journal: Exclusive::new(journal) }));
            Ok(())
        })
    }
}

/// Appends the events of a page that are not in the journal yet, each once, in the page's order.
///
/// `events` is the text of a JSON array. An event is an object with the members `id` (a string: the provider's event id, a gap
/// id or a byte id), `provenance` (`provider`, `local` or `boundary`), `type` (a string) and `data` (any value); and, where
/// they are known, `providerSequence` (an integer from 0) and `timestamp` (ms since 1970). Numbers keep all their digits. A gap
/// has `reason`, one of the words of GALLIVANT_GAP_REASON, in the place of `type` and `data`.
///
/// Once it has returned, every event of the page is readable or a gap stands for it, durably, and a repetition of the page adds
/// nothing. A batch that a crash left pending is recovered first.
///
/// `placed` has room for `capacity` events and gets one for each event of the page, in its order; it may be NULL where
/// `capacity` is 0, and then nothing is told of the single events. `appended` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `shape` or `event` for what is no page, and without one for an event that no
/// record can hold; `GALLIVANT_INPUT` with reason `buffer` where there is some room for `placed` and not enough. Nothing was
/// written then. `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for a journal that is damaged: all its files are as they were.
/// `GALLIVANT_EXECUTION_IO`: repeating the page appends what is missing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_append(
    journal: *mut gallivant_journal,
    events: *const c_char,
    events_length: usize,
    placed: *mut gallivant_journal_placed,
    capacity: usize,
    appended: *mut gallivant_journal_appended,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut journal = borrow(journal, "journal")?.journal.take(NAME)?;
            let events = gallivant_str::new(events, events_length).text("events")?;
            let places = Places::new(placed, capacity)?;
            let out = OutSized::optional(appended, "appended")?;
            let page = Event::page_from_json(events)?;
            places.check(page.len())?;
            let done = journal.append(&page)?;
            places.set(&done);
            if let Some(out) = out {
                out.set(self::appended(&done));
            }
            Ok(())
        })
    }
}

/// Judges what stands on disk and finishes a batch that was left pending. Once it has returned nothing is pending. Where nothing
/// was, it writes nothing. Every append does this first. `recovered` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for a journal that is damaged: every file is as it was.
/// `GALLIVANT_EXECUTION_IO`: another recovery goes on where this one stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_recover(
    journal: *mut gallivant_journal,
    recovered: *mut gallivant_journal_recovered,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut journal = borrow(journal, "journal")?.journal.take(NAME)?;
            let out = OutSized::optional(recovered, "recovered")?;
            let done = journal.recover()?;
            if let Some(out) = out {
                out.set(gallivant_journal_recovered {
                    struct_size: 0,
                    kept: done.kept,
                    gap: i32::from(done.gap),
                    end: done.end.into(),
                });
            }
            Ok(())
        })
    }
}

/// Frees the journal and closes its files. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_free(journal: *mut gallivant_journal) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(journal) });
}

/// # Safety
/// `pointer` is null or points to an owner whose members point to what they say.
unsafe fn owner(pointer: *const gallivant_journal_owner) -> Result<Owner> {
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "owner")?;
        Ok(Owner {
            task_id: given.task_id.text("task_id")?.to_owned(),
            run_id: given.run_id.text("run_id")?.to_owned(),
            provider: given.provider.text("provider")?.to_owned(),
            job_id: given.provider_job_id.optional("provider_job_id")?.map(str::to_owned),
            turn_id: given.turn_id.optional("turn_id")?.map(str::to_owned),
        })
    }
}

fn appended(done: &Appended) -> gallivant_journal_appended {
    let count = |how: How| done.placed.iter().filter(|placed| placed.how == how).count();
    gallivant_journal_appended {
        struct_size: 0,
        count: done.placed.len(),
        recorded: count(How::Recorded),
        oversized: count(How::Oversized),
        known: count(How::Known),
        end: done.end.into(),
    }
}

impl From<Position> for gallivant_journal_position {
    fn from(position: Position) -> Self {
        gallivant_journal_position { offset: position.offset, sequence: position.sequence }
    }
}

/// An array of the caller in which it is told where each event stands.
struct Places {
    first: *mut gallivant_journal_placed,
    capacity: usize,
}

impl Places {
    /// # Safety
    /// `first` is null or points to room for `capacity` of them, until the call returns.
    unsafe fn new(first: *mut gallivant_journal_placed, capacity: usize) -> Result<Self> {
        if first.is_null() && capacity > 0 {
            return Err(null_pointer("placed"));
        }
        let bytes = capacity.checked_mul(size_of::<gallivant_journal_placed>());
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(too_long("capacity", capacity));
        }
        Ok(Places { first, capacity })
    }

    fn check(&self, needed: usize) -> Result<()> {
        if self.capacity == 0 || needed <= self.capacity {
            return Ok(());
        }
        let capacity = self.capacity;
        let message = format!("the buffer is too small, capacity=`{capacity}` needed=`{needed}`");
        Err(Error::new(Code::Input, message).with_reason("buffer"))
    }

    fn set(self, done: &Appended) {
        for (at, placed) in done.placed.iter().enumerate().take(self.capacity) {
            let placed =
                gallivant_journal_placed { sequence: placed.sequence, how: PLACES.number(placed.how) };
            // SAFETY: by the contract of `new` there is room for `capacity` of them.
            unsafe { self.first.add(at).write(placed) };
        }
    }
}
