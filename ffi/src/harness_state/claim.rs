//! Harness state: taking a seat.

use std::ffi::{CString, c_char};

use gallivant_core::harness_state::{self, Claim};

use super::identity::{claimant, gallivant_harness_state_identity};
use super::options::{self, gallivant_harness_state_options};
use crate::barrier::{answer, call};
use crate::buffer::{Buffer, c_string};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, give};
use crate::host::{gallivant_host, host_or_system};
use crate::view::gallivant_str;

/// Room for every minted token and its zero byte.
pub const GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY: usize = 128;

/// A claim that has landed. Record and floor are on disk and durable, except where it says otherwise. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_harness_state_claim_result_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_claim_result {
    sequence: u64,
    floor_failure: Option<gallivant_error>,
    floor_damage: Option<CString>,
    context_failure: Option<gallivant_error>,
    swept: u32,
}

impl Handle for gallivant_harness_state_claim_result {}

impl From<&Claim> for gallivant_harness_state_claim_result {
    fn from(claim: &Claim) -> Self {
        gallivant_harness_state_claim_result {
            sequence: claim.sequence,
            floor_failure: claim.floor_failure.as_ref().map(gallivant_error::new),
            floor_damage: claim.floor_damage.as_deref().map(c_string),
            context_failure: claim.context_failure.as_ref().map(gallivant_error::new),
            swept: claim.swept,
        }
    }
}

/// Mints a session token, which is unique. Writes it into `buffer` with a zero byte behind it;
/// `GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY` bytes always suffice. `host` may be NULL; `length` may be NULL.
///
/// Errors: `GALLIVANT_INPUT` with reason `buffer` when the token does not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_mint_token(
    host: *const gallivant_host,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let buffer = Buffer::new(buffer, capacity, length)?;
            buffer.set(&harness_state::mint_token(&host_or_system(host)))
        })
    }
}

/// Takes the seat, whatever stands there: live records, unreadable bytes, foreign schemas. Creates the directory where
/// it is missing. Not idempotent: the same token claiming twice gets two sequences. `options` may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_EMPTY_TOKEN`, `_SEQUENCE_EXHAUSTED`, `_BUSY`, `_LOCKING`, `_IO`. Nothing was written,
/// except that after a failed sync of the directory the placeholder may stand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim(
    directory: *const c_char,
    directory_length: usize,
    identity: *const gallivant_harness_state_identity,
    options: *const gallivant_harness_state_options,
    claim: *mut *mut gallivant_harness_state_claim_result,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let claimant = claimant(identity)?;
            let (options, host) = options::options(options)?;
            let out = Out::new(claim, "claim")?;
            out.set(give((&harness_state::claim(directory, &claimant, &options, &host)?).into()));
            Ok(())
        })
    }
}

/// Takes the seat for a session that no wrapper launched, if it is free for one: nothing stands there; the record's token
/// is empty or carries a wrapperless prefix; an ending with an exit; a stale record. Where it is not free, `claim` becomes
/// NULL, with success. Eligibility and claim are one step under the lock. `options` may be NULL.
///
/// Errors: as `gallivant_harness_state_claim`, and `GALLIVANT_HARNESS_STATE_BAD_TOKEN` when the claimer's token carries no
/// wrapperless prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_wrapperless(
    directory: *const c_char,
    directory_length: usize,
    identity: *const gallivant_harness_state_identity,
    options: *const gallivant_harness_state_options,
    claim: *mut *mut gallivant_harness_state_claim_result,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let claimant = claimant(identity)?;
            let (options, host) = options::options(options)?;
            let out = Out::new(claim, "claim")?;
            let landed = harness_state::claim_wrapperless(directory, &claimant, &options, &host)?;
            out.set(landed.as_ref().map_or(std::ptr::null_mut(), |claim| give(claim.into())));
            Ok(())
        })
    }
}

/// The session's ownership sequence, which its writers adopt; 0 where `claim` is NULL, and never otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_result_sequence(
    claim: *const gallivant_harness_state_claim_result,
) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { claim.as_ref() }.map_or(0, |claim| claim.sequence))
}

/// Why the floor could not be raised, lent until the claim is freed; NULL where it was. The claim stands; the record alone
/// carries its sequence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_result_floor_failure(
    claim: *const gallivant_harness_state_claim_result,
) -> *const gallivant_error {
    // SAFETY: null or a handle, by the conventions.
    answer(|| lend(unsafe { claim.as_ref() }.and_then(|claim| claim.floor_failure.as_ref())))
}

/// What was wrong with something that stood in the floor's place and was no number: one line for people, valid until
/// the claim is freed; NULL where nothing was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_result_floor_damage(
    claim: *const gallivant_harness_state_claim_result,
) -> *const c_char {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let damage = unsafe { claim.as_ref() }.and_then(|claim| claim.floor_damage.as_ref());
        damage.map_or(std::ptr::null(), |damage| damage.as_ptr())
    })
}

/// Why the sibling record `harness-context` could not be removed, lent until the claim is freed; NULL where it was, or was
/// not there. The new session may be shown the old one's context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_result_context_failure(
    claim: *const gallivant_harness_state_claim_result,
) -> *const gallivant_error {
    // SAFETY: null or a handle, by the conventions.
    answer(|| lend(unsafe { claim.as_ref() }.and_then(|claim| claim.context_failure.as_ref())))
}

/// How many abandoned staged files the claim removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_result_swept(
    claim: *const gallivant_harness_state_claim_result,
) -> u32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { claim.as_ref() }.map_or(0, |claim| claim.swept))
}

/// Frees the claim's result, which leaves the seat as it is. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_claim_result_free(
    claim: *mut gallivant_harness_state_claim_result,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(claim) });
}

fn lend(error: Option<&gallivant_error>) -> *const gallivant_error {
    error.map_or(std::ptr::null(), std::ptr::from_ref)
}
