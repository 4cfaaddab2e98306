//! The execution layer: paid work is recorded, never doubled, never lost and never mistaken. The words.
//!
//! A task has a root, and a *boundary* whose calls are the only ones that write its files. A call of it is a *machine*, which
//! hands out what the provider's *transport* is to do and is fed what came of it: by the program itself, step by step, or by
//! `gallivant_execution_drive` over a table of callbacks. Inputs and outcomes are JSON texts, in which numbers keep their
//! digits. The rules are in docs/spec/execution.md, the files are described in docs/format/execution.md.

use std::ffi::c_char;

use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{Joined, Port, ProviderState, Round};

use crate::barrier::answer;
use crate::names::{Names, Numbered};
use crate::view::gallivant_str;

/// The version of the contract between a boundary and its host. (`GALLIVANT_EXECUTION_VERSION` is a status.)
pub const GALLIVANT_EXECUTION_CONTRACT_VERSION: i32 = 1;
/// The most bytes that a provider's page cursor has as JSON text.
pub const GALLIVANT_EXECUTION_CURSOR_BYTES: usize = 4096;

/// The machine waits for the end of a call.
pub const GALLIVANT_STEP_CALL: i32 = 1;
/// The call of the boundary has returned.
pub const GALLIVANT_STEP_DONE: i32 = 2;
/// The call of the boundary has failed.
pub const GALLIVANT_STEP_FAILED: i32 = 3;

/// A method of the transport.
pub const GALLIVANT_PORT_TRANSPORT: i32 = 1;
/// A method of the process host.
pub const GALLIVANT_PORT_PROCESS: i32 = 2;
/// What a publication does with its checkout.
pub const GALLIVANT_PORT_GIT: i32 = 3;
/// A verification in its sandbox.
pub const GALLIVANT_PORT_VERIFICATION: i32 = 4;
/// A push, or a pull request.
pub const GALLIVANT_PORT_PUBLISHER: i32 = 5;
/// What the coordinator's own registry knows.
pub const GALLIVANT_PORT_COORDINATOR: i32 = 6;

/// The provider was not reached, or anything else.
pub const GALLIVANT_FAILURE_IO: i32 = 1;
/// The provider does not accept who asks.
pub const GALLIVANT_FAILURE_AUTH: i32 = 2;
/// The provider asks for patience.
pub const GALLIVANT_FAILURE_RATE: i32 = 3;
/// The provider's answer breaks its own contract.
pub const GALLIVANT_FAILURE_PROTOCOL: i32 = 4;
/// Nothing was sent, which is proved. Believed of `submit` and `continue` only, and only where nothing was being sent.
pub const GALLIVANT_FAILURE_NOT_SENT: i32 = 5;
/// A downloaded artifact of a completed turn is faulty, and will be so each time. Believed of `collect` only.
pub const GALLIVANT_FAILURE_COLLECTION_VALIDATION: i32 = 6;
/// The deadline of the call passed.
pub const GALLIVANT_FAILURE_DEADLINE: i32 = 7;
/// The caller's own signal ended the call.
pub const GALLIVANT_FAILURE_ABORTED: i32 = 8;

/// The next nano-dollar above: reported costs and reservations.
pub const GALLIVANT_ROUND_UP: i32 = 1;
/// The next nano-dollar below: budgets, caps, shares and what remains.
pub const GALLIVANT_ROUND_DOWN: i32 = 2;

/// No refresh was scheduled, so nothing was waited for.
pub const GALLIVANT_JOINED_NOT_SCHEDULED: i32 = 1;
/// The refresh is over: its result is saved, or it was given up. `gallivant_execution_health_store_authorize` tells which.
pub const GALLIVANT_JOINED_OVER: i32 = 2;
/// The refresh is still under way at the end of the wait.
pub const GALLIVANT_JOINED_UNDER_WAY: i32 = 3;

/// Accepted, and not begun.
pub const GALLIVANT_PROVIDER_STATE_QUEUED: i32 = 1;
/// What it runs in is being made.
pub const GALLIVANT_PROVIDER_STATE_PROVISIONING: i32 = 2;
/// It works.
pub const GALLIVANT_PROVIDER_STATE_RUNNING: i32 = 3;
/// It waits for an answer.
pub const GALLIVANT_PROVIDER_STATE_WAITING_FOR_INPUT: i32 = 4;
/// It has ended at the provider, and its result is still to be collected.
pub const GALLIVANT_PROVIDER_STATE_RETRIEVING_RESULTS: i32 = 5;
/// It has ended, and its root turn has succeeded.
pub const GALLIVANT_PROVIDER_STATE_SUCCEEDED: i32 = 6;
/// It has ended, and its root turn has failed.
pub const GALLIVANT_PROVIDER_STATE_FAILED: i32 = 7;
/// A stop was asked for and is not confirmed.
pub const GALLIVANT_PROVIDER_STATE_CANCELLATION_REQUESTED: i32 = 8;
/// It was stopped, which is confirmed.
pub const GALLIVANT_PROVIDER_STATE_CANCELLED: i32 = 9;
/// Nothing is known.
pub const GALLIVANT_PROVIDER_STATE_STATUS_UNKNOWN: i32 = 10;

const STEPS: [(i32, &str); 3] =
    [(GALLIVANT_STEP_CALL, "call"), (GALLIVANT_STEP_DONE, "done"), (GALLIVANT_STEP_FAILED, "failed")];

pub(super) const PORTS: Numbered<Port> = Numbered {
    what: "port",
    rows: &[
        (GALLIVANT_PORT_TRANSPORT, Port::Transport),
        (GALLIVANT_PORT_PROCESS, Port::Process),
        (GALLIVANT_PORT_GIT, Port::Git),
        (GALLIVANT_PORT_VERIFICATION, Port::Verification),
        (GALLIVANT_PORT_PUBLISHER, Port::Publisher),
        (GALLIVANT_PORT_COORDINATOR, Port::Coordinator),
    ],
};

pub(super) const FAILURES: Numbered<ErrorKind> = Numbered {
    what: "kind",
    rows: &[
        (GALLIVANT_FAILURE_IO, ErrorKind::Io),
        (GALLIVANT_FAILURE_AUTH, ErrorKind::Auth),
        (GALLIVANT_FAILURE_RATE, ErrorKind::Rate),
        (GALLIVANT_FAILURE_PROTOCOL, ErrorKind::Protocol),
        (GALLIVANT_FAILURE_NOT_SENT, ErrorKind::NotSent),
        (GALLIVANT_FAILURE_COLLECTION_VALIDATION, ErrorKind::CollectionValidation),
        (GALLIVANT_FAILURE_DEADLINE, ErrorKind::Deadline),
        (GALLIVANT_FAILURE_ABORTED, ErrorKind::Aborted),
    ],
};

pub(super) const ROUNDS: Numbered<Round> =
    Numbered { what: "round", rows: &[(GALLIVANT_ROUND_UP, Round::Up), (GALLIVANT_ROUND_DOWN, Round::Down)] };

const ROUND_WORDS: [(i32, &str); 2] = [(GALLIVANT_ROUND_UP, "up"), (GALLIVANT_ROUND_DOWN, "down")];

pub(super) const JOINED: Numbered<Joined> = Numbered {
    what: "joined",
    rows: &[
        (GALLIVANT_JOINED_NOT_SCHEDULED, Joined::NotScheduled),
        (GALLIVANT_JOINED_OVER, Joined::Over),
        (GALLIVANT_JOINED_UNDER_WAY, Joined::UnderWay),
    ],
};

const PROVIDER_STATE: Numbered<ProviderState> = Numbered {
    what: "state",
    rows: &[
        (GALLIVANT_PROVIDER_STATE_QUEUED, ProviderState::Queued),
        (GALLIVANT_PROVIDER_STATE_PROVISIONING, ProviderState::Provisioning),
        (GALLIVANT_PROVIDER_STATE_RUNNING, ProviderState::Running),
        (GALLIVANT_PROVIDER_STATE_WAITING_FOR_INPUT, ProviderState::WaitingForInput),
        (GALLIVANT_PROVIDER_STATE_RETRIEVING_RESULTS, ProviderState::RetrievingResults),
        (GALLIVANT_PROVIDER_STATE_SUCCEEDED, ProviderState::Succeeded),
        (GALLIVANT_PROVIDER_STATE_FAILED, ProviderState::Failed),
        (GALLIVANT_PROVIDER_STATE_CANCELLATION_REQUESTED, ProviderState::CancellationRequested),
        (GALLIVANT_PROVIDER_STATE_CANCELLED, ProviderState::Cancelled),
        (GALLIVANT_PROVIDER_STATE_STATUS_UNKNOWN, ProviderState::StatusUnknown),
    ],
};

/// The word for a GALLIVANT_STEP constant, such as `done`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_step_name(step: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(step, STEPS.into_iter()))
}

/// The word for a GALLIVANT_PORT constant, such as `transport`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_port_name(port: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(port, PORTS.rows.iter().map(|(number, row)| (*number, row.word()))))
}

/// The word for a GALLIVANT_FAILURE constant, such as `not-sent`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_failure_name(kind: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(kind, FAILURES.rows.iter().map(|(number, row)| (*number, row.word()))))
}

/// The constant for a word; 0 for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_failure_from_name(name: *const c_char, name_length: usize) -> i32 {
    answer(|| {
        // SAFETY: by the conventions.
        let kind = unsafe { word(name, name_length) }.and_then(ErrorKind::from_word);
        kind.map_or(0, |kind| FAILURES.number(kind))
    })
}

/// The word for a GALLIVANT_ROUND constant, such as `up`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_round_name(round: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(round, ROUND_WORDS.into_iter()))
}

/// The word for a GALLIVANT_JOINED constant, such as `over`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_joined_name(joined: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(joined, JOINED.rows.iter().map(|(number, row)| (*number, row.word()))))
}

/// The word for a GALLIVANT_PROVIDER_STATE constant, such as `running`, as it stands in files and replies; `invalid` for any
/// other number. The constants count from 1 in the specification's order.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_provider_state_name(state: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(state, PROVIDER_STATE.rows.iter().map(|(number, row)| (*number, row.word()))))
}

/// The constant for a word; 0 for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_provider_state_from_name(name: *const c_char, name_length: usize) -> i32 {
    answer(|| {
        // SAFETY: by the conventions.
        let state = unsafe { word(name, name_length) }.and_then(ProviderState::from_word);
        state.map_or(0, |state| PROVIDER_STATE.number(state))
    })
}

/// A word that came in; none where there is none.
///
/// # Safety
/// As [`gallivant_str::text`].
unsafe fn word<'a>(name: *const c_char, name_length: usize) -> Option<&'a str> {
    // SAFETY: the same contract.
    unsafe { gallivant_str::new(name, name_length).text("name") }.ok()
}
