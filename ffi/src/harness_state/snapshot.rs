//! Harness state: a record as it was found at one moment.

use std::ffi::{CString, c_char};

use gallivant_core::Result;
use gallivant_core::harness_state::{Derived, Moment, Options, Snapshot};
use gallivant_core::process::Liveness;

use super::reader::gallivant_harness_state_reader;
use super::record::{self, gallivant_harness_state_derived, gallivant_harness_state_record};
use crate::barrier::{answer, call};
use crate::buffer::{c_string, gallivant_text};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};
use crate::options::{DEFAULT, OutSized};
use crate::process::{LIVENESS, gallivant_process};
use crate::view::{Fixed, Texts};

// C: /* In the place of a probe's answer: no probe was asked. */
// C: #define GALLIVANT_NO_PROBE (-1)

/// In the place of a probe's answer: no probe was asked.
const NO_PROBE: i32 = -1;

/// What a reader found at one moment. Concluding from it again, with another clock or another probe's answer, reads
/// nothing.
///
/// Threads: one at a time; `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_harness_state_snapshot_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_snapshot {
    snapshot: Snapshot,
    options: Options,
    record: Fixed<gallivant_harness_state_record>,
    damage: Option<CString>,
    _record_texts: Texts,
    derived_texts: Exclusive<Texts>,
}

impl Handle for gallivant_harness_state_snapshot {}

impl gallivant_harness_state_snapshot {
    fn new(snapshot: Snapshot, options: Options) -> Self {
        let mut texts = Texts::default();
        let record = record::record(snapshot.record(), &mut texts);
        let damage = snapshot.damage().as_deref().map(c_string);
        gallivant_harness_state_snapshot {
            snapshot,
            options,
            // SAFETY: the texts stand beside the views and are not touched again.
            record: unsafe { Fixed::new(record) },
            damage,
            _record_texts: texts,
            derived_texts: Exclusive::new(Texts::default()),
        }
    }

    fn at(&self, now_ms: u64) -> Moment {
        let taken_at = self.snapshot.taken_at();
        if now_ms == DEFAULT { taken_at.clone() } else { taken_at.moved_to(now_ms) }
    }
}

/// Reads the record once, to look at it as it stands and to conclude from it later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_reader_snapshot(
    reader: *mut gallivant_harness_state_reader,
    snapshot: *mut *mut gallivant_harness_state_snapshot,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let reader = borrow(reader, "reader")?;
            let _in_use = reader.reading.take("gallivant_harness_state_reader")?;
            let out = Out::new(snapshot, "snapshot")?;
            let options = reader.reader.options().clone();
            out.set(give(gallivant_harness_state_snapshot::new(reader.reader.snapshot(), options)));
            Ok(())
        })
    }
}

/// The record as it stands; its strings are valid until the snapshot is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_record(
    snapshot: *const gallivant_harness_state_snapshot,
    record: *mut gallivant_harness_state_record,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let snapshot = borrow(snapshot, "snapshot")?;
            OutSized::new(record, "record")?.set(*snapshot.record.get());
            Ok(())
        })
    }
}

/// Why there is no record although something stands in its place: one line for people, valid until the snapshot is
/// freed. NULL where nothing is wrong.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_damage(
    snapshot: *const gallivant_harness_state_snapshot,
) -> *const c_char {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let damage = unsafe { snapshot.as_ref() }.and_then(|snapshot| snapshot.damage.as_ref());
        damage.map_or(std::ptr::null(), |damage| damage.as_ptr())
    })
}

/// Whether a probe's answer makes a difference at `now_ms` (see `gallivant_harness_state_snapshot_derive`): 1 if it
/// does, 0 if not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_wants_probe(
    snapshot: *const gallivant_harness_state_snapshot,
    now_ms: u64,
    wants: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let snapshot = borrow(snapshot, "snapshot")?;
            let out = Out::new(wants, "wants")?;
            let at = snapshot.at(now_ms);
            out.set(i32::from(snapshot.snapshot.wants_probe(&snapshot.options, &at)));
            Ok(())
        })
    }
}

/// What may be concluded at `now_ms`: `GALLIVANT_DEFAULT` for the instant at which the snapshot was taken, else the
/// wall clock in ms since 1970, as if nobody had set it since and the machine had not slept. With the reader's options and a probe's answer:
/// one of the GALLIVANT_LIVENESS constants, or `GALLIVANT_NO_PROBE`.
///
/// The strings of `derived` are valid until the next `gallivant_harness_state_snapshot_derive` with this snapshot, or
/// until it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_derive(
    snapshot: *mut gallivant_harness_state_snapshot,
    now_ms: u64,
    liveness: i32,
    derived: *mut gallivant_harness_state_derived,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let snapshot = borrow(snapshot, "snapshot")?;
            let mut texts = snapshot.derived_texts.take("gallivant_harness_state_snapshot")?;
            let mut probe = probe_answering(liveness)?;
            let out = OutSized::new(derived, "derived")?;
            let answer = snapshot.snapshot.derive(&snapshot.options, &snapshot.at(now_ms), asked(&mut probe));
            out.set(record::derived(answer.as_ref().map(Derived::lend), &mut texts));
            Ok(())
        })
    }
}

/// Why that may be concluded, with `now_ms` and `liveness` as in `gallivant_harness_state_snapshot_derive`: which rows of the
/// reading table were tried, each by its clause in docs/spec/harness-state.md, and which one decided.
///
/// `json` becomes one JSON object with `state` `reason` `clause` `validUntilMs` `clock` `ageMs` `rows` `record` `damage`, in
/// which the record's token is left out; `lines` some lines for people, whose wording may change. Each may be NULL where it
/// is not wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_explain(
    snapshot: *const gallivant_harness_state_snapshot,
    now_ms: u64,
    liveness: i32,
    json: *mut *mut gallivant_text,
    lines: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let snapshot = borrow(snapshot, "snapshot")?;
            let mut probe = probe_answering(liveness)?;
            let at = snapshot.at(now_ms);
            let explanation = snapshot.snapshot.explain(&snapshot.options, &at, asked(&mut probe));
            // Both are made before either is handed out, so that none is lost where the other fails.
            let texts = [(json, explanation.to_json()), (lines, explanation.to_string())];
            for (place, text) in texts {
                if let Ok(out) = Out::new(place, "text") {
                    out.set(give(gallivant_text::new(&text)));
                }
            }
            Ok(())
        })
    }
}

/// The process that the record names as the harness, for `GALLIVANT_PROBE_PROCESS`; NULL, with success, where it names none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_harness_process(
    snapshot: *const gallivant_harness_state_snapshot,
    process: *mut *mut gallivant_process,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let snapshot = borrow(snapshot, "snapshot")?;
            let out = Out::new(process, "process")?;
            let extension = snapshot.snapshot.record().and_then(|record| record.extension.as_ref());
            let named = extension.and_then(|extension| extension.process_identity());
            out.set(named.map_or(std::ptr::null_mut(), |process| give(gallivant_process::new(process))));
            Ok(())
        })
    }
}

/// Frees the snapshot and ends its strings. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_snapshot_free(
    snapshot: *mut gallivant_harness_state_snapshot,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(snapshot) });
}

/// A probe that answers this, or none where none is asked.
fn probe_answering(liveness: i32) -> Result<Option<impl FnMut() -> Liveness>> {
    let given = if liveness == NO_PROBE { None } else { Some(LIVENESS.input(liveness)?) };
    Ok(given.map(|liveness| move || liveness))
}

fn asked(probe: &mut Option<impl FnMut() -> Liveness>) -> Option<&mut dyn FnMut() -> Liveness> {
    probe.as_mut().map(|probe| probe as &mut dyn FnMut() -> Liveness)
}
