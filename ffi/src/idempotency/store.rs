//! Idempotent creates: the store, and asking it what a key means.

use std::ffi::{c_char, c_void};

use gallivant_core::idempotency::{Ask, ClaimView, Fingerprint, IdempotencyStore, StoreOptions};
use gallivant_core::{Host, Result};

use super::begun::{begun, deadline, gallivant_idempotency_begun};
use super::fingerprint::GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES;
use super::name::{gallivant_idempotency_name, parts};
use super::words::CLAIM_STATES;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, array, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, OutSized, sized, unless_default};
use crate::view::{Fixed, Texts, gallivant_bytes, gallivant_str};

/// The claims of all processes that open the same file.
///
/// Threads: any number at once. Free it with `gallivant_idempotency_store_free`; reservations, claims and tickets go on
/// without it.
#[derive(Debug)]
pub struct gallivant_idempotency_store {
    pub(super) store: IdempotencyStore,
}

impl Handle for gallivant_idempotency_store {}

/// How a store behaves. All processes that share a store should open it with the same. Wherever options are asked for, NULL
/// stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_idempotency_store_options {
    /// Set by `GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT`.
    pub struct_size: usize,
    /// Where time, chance, facts about processes and the disk come from; NULL for the real machine.
    pub host: *const gallivant_host,
    /// How long a finished create is replayed, from its completion, in ms: 1 minute to 30 days. Default 24 hours.
    pub window_ms: u64,
    /// After so long without `gallivant_idempotency_reservation_keep_alive` a reservation whose owner lives answers unknown,
    /// in ms: 1 minute or more. Default 1 hour.
    pub max_reservation_ms: u64,
    /// The largest answer that is saved, in bytes: at most 512 MiB. Default 1 MiB.
    pub max_answer_bytes: u64,
    /// How long a call without a deadline of its own waits for another process's transaction, in ms. Default 5 seconds.
    pub busy_ms: u64,
}
sized!(gallivant_idempotency_store_options);

// C: #define GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT \
// C:     { sizeof(gallivant_idempotency_store_options), NULL, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, \
// C:       GALLIVANT_DEFAULT, GALLIVANT_DEFAULT }

/// What one call of a sweep did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_idempotency_swept {
    /// Set by `GALLIVANT_IDEMPOTENCY_SWEPT_INIT`.
    pub struct_size: usize,
    /// How many expired claims are gone.
    pub removed: u64,
    /// 1 where there may be more, so that another call is worth while; 0 where not.
    pub has_more: i32,
}
sized!(gallivant_idempotency_swept);

// C: #define GALLIVANT_IDEMPOTENCY_SWEPT_INIT { sizeof(gallivant_idempotency_swept), 0, 0 }

/// What stands on disk for a name, for whoever only looks. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_idempotency_inspection_free`.
#[derive(Debug)]
pub struct gallivant_idempotency_inspection {
    view: ClaimView,
    resource: Fixed<gallivant_str>,
    _texts: Texts,
}

impl Handle for gallivant_idempotency_inspection {}

/// Opens the store in this file, or makes it where nothing is; its directory has to be there. Once this has returned, the
/// file is durable, and only its owner may read it. `options` may be NULL.
///
/// The file belongs to the SQLite inside this library. A program with a SQLite of its own must not open it: closing one
/// copy's descriptor would drop the other one's locks.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_INPUT` with the option's name as reason; `_STORE_UNAVAILABLE` when it cannot be opened or
/// written; `_STORE_UNSUPPORTED` on a file system whose locks do not exclude or that cannot share memory; `_STORE_CORRUPT` and
/// `_STORE_VERSION`, which leave the file as it is; `_BUSY`. `gallivant_error_file` names the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_open(
    path: *const c_char,
    path_length: usize,
    options: *const gallivant_idempotency_store_options,
    store: *mut *mut gallivant_idempotency_store,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let path = gallivant_str::new(path, path_length).text("path")?;
            let (options, host) = store_options(options)?;
            let out = Out::new(store, "store")?;
            let store = IdempotencyStore::open(path, &options, &host)?;
            out.set(give(gallivant_idempotency_store { store }));
            Ok(())
        })
    }
}

/// Asks what the key means to a create with this body, exactly as it was received, and reserves the key where it is free;
/// `body` may be NULL where its length is 0. Once `GALLIVANT_BEGIN_CREATE` has come back, the reservation is durable. Every
/// other answer writes nothing.
///
/// `deadline_ms` says how long to wait for another process's transaction, in ms; `GALLIVANT_DEFAULT` for the store's option.
/// A create that runs is not waited for: `gallivant_idempotency_ticket_wait` does.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_KEY_REUSED` when the key belongs to another body; `_KEY_INVALID`, `_SCOPE_INVALID`, `_BUSY`;
/// `_STORE_UNAVAILABLE`, `_STORE_CORRUPT`, `_STORE_VERSION`; `_FORKED` in a forked child. Nothing may be made after any of
/// them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_begin(
    store: *const gallivant_idempotency_store,
    name: *const gallivant_idempotency_name,
    body: *const c_void,
    body_length: usize,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let fingerprint = Fingerprint::of(array(body.cast::<u8>(), body_length, "body")?);
            begin(store, name, fingerprint, deadline_ms, begun)
        })
    }
}

/// As `gallivant_idempotency_store_begin`, with the fingerprint of the body: `GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES` bytes, by
/// `gallivant_idempotency_fingerprint_bytes` or by any other means that takes SHA-256.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_begin_fingerprinted(
    store: *const gallivant_idempotency_store,
    name: *const gallivant_idempotency_name,
    fingerprint: *const u8,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let bytes: *const [u8; GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES] = fingerprint.cast();
            let fingerprint = Fingerprint::from_bytes(*borrow(bytes, "fingerprint")?);
            begin(store, name, fingerprint, deadline_ms, begun)
        })
    }
}

/// What stands on disk for a name; NULL, with success, where nothing does, or what does has expired. Writes nothing, and
/// waits for nobody.
///
/// Errors: those of the name and of the store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_inspect(
    store: *const gallivant_idempotency_store,
    name: *const gallivant_idempotency_name,
    inspection: *mut *mut gallivant_idempotency_inspection,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = borrow(store, "store")?;
            let name = parts(name)?;
            let out = Out::new(inspection, "inspection")?;
            let found = store.store.inspect(name.operation, &name.scope, name.key)?;
            out.set(found.map_or(std::ptr::null_mut(), |view| give(view.into())));
            Ok(())
        })
    }
}

/// How far the create is: GALLIVANT_CLAIM_STATE; 0 where `inspection` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_inspection_state(
    inspection: *const gallivant_idempotency_inspection,
) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { inspection.as_ref() }.map_or(0, |found| CLAIM_STATES.number(found.view.state)))
}

/// The id of the thing that was made, valid until the inspection is freed; no string before it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_inspection_resource(
    inspection: *const gallivant_idempotency_inspection,
) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { inspection.as_ref() }.map_or(gallivant_str::NONE, |found| *found.resource.get()))
}

/// The saved answer, valid until the inspection is freed; no bytes where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_inspection_answer(
    inspection: *const gallivant_idempotency_inspection,
) -> gallivant_bytes {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let saved = unsafe { inspection.as_ref() }.and_then(|found| found.view.answer.as_deref());
        gallivant_bytes::new(saved)
    })
}

/// Frees the inspection and ends its strings and bytes. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_inspection_free(
    inspection: *mut gallivant_idempotency_inspection,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(inspection) });
}

/// Removes finished claims that have expired: a bounded number a call, so that no create waits long behind it. Call it again
/// while there are more, and now and then. `swept` may be NULL.
///
/// Errors: those of the store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_sweep(
    store: *const gallivant_idempotency_store,
    swept: *mut gallivant_idempotency_swept,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = borrow(store, "store")?;
            let out = OutSized::optional(swept, "swept")?;
            let done = store.store.sweep()?;
            if let Some(out) = out {
                out.set(gallivant_idempotency_swept {
                    struct_size: 0,
                    removed: done.removed,
                    has_more: i32::from(done.has_more),
                });
            }
            Ok(())
        })
    }
}

/// Whether keyed creates are available now, for a server that advertises them: `GALLIVANT_OK` if so, else what a create would
/// be refused with. Takes the store's write lock for a moment and writes nothing. A store that is only busy is available.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_capability(
    store: *const gallivant_idempotency_store,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || borrow(store, "store")?.store.capability()) }
}

/// Looks whether the machine has slept since the last look, which every judgement does too: for two minutes from now no owner
/// is taken over for its age. Worth calling by whoever is told of a wake-up. Touches no disk. Does nothing where `store` is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_notice_sleep(store: *const gallivant_idempotency_store) {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        if let Some(store) = unsafe { store.as_ref() } {
            store.store.notice_sleep();
        }
    });
}

/// Frees the store. NULL is allowed. The file is closed with the last handle that needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_free(store: *mut gallivant_idempotency_store) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(store) });
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn begin(
    store: *const gallivant_idempotency_store,
    name: *const gallivant_idempotency_name,
    fingerprint: Fingerprint,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
) -> Result<()> {
    // SAFETY: the same contract.
    let (store, name, out) =
        unsafe { (borrow(store, "store")?, parts(name)?, OutSized::new(begun, "begun")?) };
    let ask = Ask {
        operation: name.operation,
        scope: &name.scope,
        key: name.key,
        fingerprint,
        deadline: deadline(deadline_ms),
    };
    out.set(self::begun(store.store.ask(&ask)?));
    Ok(())
}

/// The options behind an argument that may be null, and the host to use them with.
///
/// # Safety
/// `pointer` is null or points to options whose members point to what they say.
unsafe fn store_options(pointer: *const gallivant_idempotency_store_options) -> Result<(StoreOptions, Host)> {
    let default = StoreOptions::default();
    if pointer.is_null() {
        return Ok((default, Host::system()));
    }
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "options")?;
        let made = StoreOptions {
            window: deadline(given.window_ms).unwrap_or(default.window),
            max_reservation: deadline(given.max_reservation_ms).unwrap_or(default.max_reservation),
            max_answer_bytes: unless_default(given.max_answer_bytes)
                .map_or(default.max_answer_bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            busy: deadline(given.busy_ms).unwrap_or(default.busy),
        };
        Ok((made, host_or_system(given.host)))
    }
}

impl From<ClaimView> for gallivant_idempotency_inspection {
    fn from(view: ClaimView) -> Self {
        let mut texts = Texts::default();
        let [resource] = texts.hold([view.resource.as_deref()]);
        // SAFETY: the texts stand beside the view and are not touched again.
        gallivant_idempotency_inspection { view, resource: unsafe { Fixed::new(resource) }, _texts: texts }
    }
}
