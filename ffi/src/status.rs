//! Statuses: what every call that can fail answers.
//!
//! A status says what happened, its kind what a caller does about it. The numbers are those of the project's one table of
//! codes, and the names, without `GALLIVANT_`, are the codes of every other language.

use std::ffi::c_char;

use gallivant_core::{Code, Kind};

use crate::barrier::answer;
use crate::names::{Names, Numbered};

/// It worked. Refusals by the rules of a domain are answers and come with this status too.
pub const GALLIVANT_OK: i32 = 0;
/// An argument is not usable: NULL, not UTF-8, a struct of the wrong size, a number that is no constant.
pub const GALLIVANT_INPUT: i32 = 1;
/// A bug in the library was caught at the boundary.
pub const GALLIVANT_INTERNAL: i32 = 2;
/// One handle was used by two calls at once although its rule forbids it.
pub const GALLIVANT_HANDLE_BUSY: i32 = 3;
/// The caller's own signal ended a wait: `gallivant_harness_state_watch_wake`, `gallivant_replay_wake`.
pub const GALLIVANT_CANCELLED: i32 = 4;
/// An observation said unknown, which only readers may derive.
pub const GALLIVANT_HARNESS_STATE_UNKNOWN_STATE: i32 = 100;
/// A live state from a writer without a pty session.
pub const GALLIVANT_HARNESS_STATE_UNFENCED: i32 = 101;
/// An ask that is no ask.
pub const GALLIVANT_HARNESS_STATE_UNKNOWN_ASK: i32 = 102;
/// An ask although no human is waited for.
pub const GALLIVANT_HARNESS_STATE_ASK_WITHOUT_HUMAN: i32 = 103;
/// An observation spelled the placeholder that only a claim writes.
pub const GALLIVANT_HARNESS_STATE_RESERVED_REASON: i32 = 104;
/// The empty token owns nothing.
pub const GALLIVANT_HARNESS_STATE_EMPTY_TOKEN: i32 = 105;
/// A wrapperless claim by a token without a wrapperless prefix.
pub const GALLIVANT_HARNESS_STATE_BAD_TOKEN: i32 = 106;
/// No sequence above the highest one is left.
pub const GALLIVANT_HARNESS_STATE_SEQUENCE_EXHAUSTED: i32 = 107;
/// The lock was held by somebody else until the wait ended.
pub const GALLIVANT_HARNESS_STATE_BUSY: i32 = 108;
/// Locks do not exclude on this file system.
pub const GALLIVANT_HARNESS_STATE_LOCKING: i32 = 109;
/// The disk, a path or a permission failed.
pub const GALLIVANT_HARNESS_STATE_IO: i32 = 110;
/// A malformed payload or environment, or an object used after a fork.
pub const GALLIVANT_HARNESS_STATE_INPUT: i32 = 111;
/// A malformed argument of the execution layer.
pub const GALLIVANT_EXECUTION_INPUT: i32 = 200;
/// A provider's reply, or a cursor, time or ledger that was saved, breaks the contract.
pub const GALLIVANT_EXECUTION_PROTOCOL: i32 = 201;
/// A file or the transport failed.
pub const GALLIVANT_EXECUTION_IO: i32 = 202;
/// A journal is damaged.
pub const GALLIVANT_EXECUTION_JOURNAL: i32 = 203;
/// A file has a version that this package does not support.
pub const GALLIVANT_EXECUTION_VERSION: i32 = 204;
/// The local output queue or its state is invalid, or cannot be saved.
pub const GALLIVANT_EXECUTION_QUEUE: i32 = 205;
/// There is no such run or operation.
pub const GALLIVANT_EXECUTION_UNKNOWN_RUN: i32 = 206;
/// A runtime without the shared intake service, or a capability of a foreign registry.
pub const GALLIVANT_EXECUTION_DEPENDENCY: i32 = 207;
/// A result is missing, incomplete, too large, foreign, contradictory or not publishable.
pub const GALLIVANT_EXECUTION_RESULT: i32 = 208;
/// A publication step is in progress.
pub const GALLIVANT_EXECUTION_PUBLICATION_BUSY: i32 = 209;
/// It is not proved that the verification sandbox is ready.
pub const GALLIVANT_EXECUTION_VERIFICATION_SANDBOX: i32 = 210;
/// A dispatch was refused before anything of it was sent, which is proved.
pub const GALLIVANT_EXECUTION_DISPATCH_REFUSED: i32 = 211;
/// It is not known whether the provider owns the operation.
pub const GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN: i32 = 212;
/// Another operation of the task has unknown acceptance.
pub const GALLIVANT_EXECUTION_UNRESOLVED: i32 = 213;
/// The current run is live.
pub const GALLIVANT_EXECUTION_ACTIVE: i32 = 214;
/// The input contradicts what the ledger holds.
pub const GALLIVANT_EXECUTION_CONFLICT: i32 = 215;
/// A stop forbids dispatch.
pub const GALLIVANT_EXECUTION_FENCED: i32 = 216;
/// The choice is not supported.
pub const GALLIVANT_EXECUTION_CAPABILITY: i32 = 217;
/// A receipt is missing, foreign, or does not match.
pub const GALLIVANT_EXECUTION_PREPARATION: i32 = 218;
/// The allowance or a limit of turns does not permit the dispatch.
pub const GALLIVANT_EXECUTION_ALLOWANCE: i32 = 219;
/// There is no fresh success of the health check.
pub const GALLIVANT_EXECUTION_HEALTH: i32 = 220;
/// The ledger belongs to another task, provider or account, or there is no session to continue.
pub const GALLIVANT_EXECUTION_OWNERSHIP: i32 = 221;
/// Somebody else held the task's lock until the wait ended.
pub const GALLIVANT_EXECUTION_BUSY: i32 = 222;
/// A call did not end in its time.
pub const GALLIVANT_EXECUTION_DEADLINE: i32 = 223;
/// The key belongs to a create with another body.
pub const GALLIVANT_IDEMPOTENCY_KEY_REUSED: i32 = 300;
/// A key that is no key.
pub const GALLIVANT_IDEMPOTENCY_KEY_INVALID: i32 = 301;
/// An operation or a scope that is none.
pub const GALLIVANT_IDEMPOTENCY_SCOPE_INVALID: i32 = 302;
/// The first create with the key still runs.
pub const GALLIVANT_IDEMPOTENCY_IN_PROGRESS: i32 = 303;
/// A reservation that somebody else has taken over, or that has ended.
pub const GALLIVANT_IDEMPOTENCY_CLAIM_LOST: i32 = 304;
/// An answer above the limit.
pub const GALLIVANT_IDEMPOTENCY_ANSWER_TOO_LARGE: i32 = 305;
/// The store cannot be opened, read or written.
pub const GALLIVANT_IDEMPOTENCY_STORE_UNAVAILABLE: i32 = 306;
/// A file system on which a store cannot exclude.
pub const GALLIVANT_IDEMPOTENCY_STORE_UNSUPPORTED: i32 = 307;
/// Bytes of the store make no sense.
pub const GALLIVANT_IDEMPOTENCY_STORE_CORRUPT: i32 = 308;
/// The store is of another version.
pub const GALLIVANT_IDEMPOTENCY_STORE_VERSION: i32 = 309;
/// Somebody else was writing until the deadline.
pub const GALLIVANT_IDEMPOTENCY_BUSY: i32 = 310;
/// A store that came through a fork.
pub const GALLIVANT_IDEMPOTENCY_FORKED: i32 = 311;
/// A malformed argument or an option out of range.
pub const GALLIVANT_IDEMPOTENCY_INPUT: i32 = 312;

/// The caller's argument is wrong; the same call fails again.
pub const GALLIVANT_KIND_INPUT: i32 = 1;
/// The rules forbid it in the present state of the disk.
pub const GALLIVANT_KIND_REFUSED: i32 = 2;
/// Somebody else is at work; the same call may pass later.
pub const GALLIVANT_KIND_BUSY: i32 = 3;
/// What happened is not known yet and has to be found out first.
pub const GALLIVANT_KIND_UNRESOLVED: i32 = 4;
/// Bytes on disk make no sense; nothing was written over them.
pub const GALLIVANT_KIND_CORRUPT: i32 = 5;
/// Bytes on disk belong to another version.
pub const GALLIVANT_KIND_INCOMPATIBLE: i32 = 6;
/// The machine cannot do it now: disk, permission, file system.
pub const GALLIVANT_KIND_UNAVAILABLE: i32 = 7;
/// A bug in the library.
pub const GALLIVANT_KIND_INTERNAL: i32 = 8;

const KINDS: Numbered<Kind> = Numbered {
    what: "kind",
    rows: &[
        (GALLIVANT_KIND_INPUT, Kind::Input),
        (GALLIVANT_KIND_REFUSED, Kind::Refused),
        (GALLIVANT_KIND_BUSY, Kind::Busy),
        (GALLIVANT_KIND_UNRESOLVED, Kind::Unresolved),
        (GALLIVANT_KIND_CORRUPT, Kind::Corrupt),
        (GALLIVANT_KIND_INCOMPATIBLE, Kind::Incompatible),
        (GALLIVANT_KIND_UNAVAILABLE, Kind::Unavailable),
        (GALLIVANT_KIND_INTERNAL, Kind::Internal),
    ],
};

/// The number of a kind.
pub(crate) fn kind_number(kind: Kind) -> i32 {
    KINDS.number(kind)
}

/// The stable name of a status, such as `HARNESS_STATE_BUSY`; `OK` for success, `invalid` for a number that is no
/// status of this library.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_status_name(status: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(status, with_ok("OK", Code::name)))
}

/// The word of the specification for a status, such as `busy`: the name without its domain, in lower case with
/// hyphens; `ok` for success.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_status_word(status: i32) -> *const c_char {
    static WORDS: Names = Names::new();
    answer(|| WORDS.get(status, with_ok("ok".to_owned(), Code::word)))
}

/// What a caller does about a status: one of the GALLIVANT_KIND constants; 0 for success and for no status.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_status_kind(status: i32) -> i32 {
    answer(|| {
        let code = Code::ALL.iter().find(|code| code.number() == status);
        code.map_or(0, |code| kind_number(code.kind()))
    })
}

/// One sentence about a status that an operator can act on; empty for success.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_status_remedy(status: i32) -> *const c_char {
    static REMEDIES: Names = Names::new();
    answer(|| REMEDIES.get(status, with_ok("", Code::remedy)))
}

/// The whole documentation page of a status, in Markdown: what it means, what is true on disk now, what to do;
/// empty for success.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_status_page(status: i32) -> *const c_char {
    static PAGES: Names = Names::new();
    answer(|| PAGES.get(status, with_ok("", Code::page)))
}

/// The word for a GALLIVANT_KIND constant, such as `busy`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_kind_name(kind: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(kind, KINDS.rows.iter().map(|(number, kind)| (*number, kind.name()))))
}

fn with_ok<W>(ok: W, of: fn(Code) -> W) -> impl Iterator<Item = (i32, W)> {
    let codes = Code::ALL.iter().map(move |code| (code.number(), of(*code)));
    std::iter::once((GALLIVANT_OK, ok)).chain(codes)
}
