//! What needs no boundary: the pure functions, the limits, what is unresolved, and amounts as integers.

use std::ffi::c_char;
use std::path::Path;

use gallivant_core::execution::{
    EXECUTION_LIMITS, Limit, Nanos, Runtime, UnresolvedOperation, assert_execution_dependency, unresolved,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::publication::functions;
use gallivant_core::{Code, Error};

use super::words::ROUNDS;
use crate::barrier::call;
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{Out, give};
use crate::host::{gallivant_host, host_or_system};
use crate::view::gallivant_str;

/// Calls a pure function by its name, with a JSON object of arguments, and gives its value as JSON text: `checkCursor`, `gapId`,
/// `idempotencyKey`, `cancellationKey`, `runId`, `replayKey`, `backoff`, `intakeReservation`, `money`, `crc32c`, `sanitize`,
/// `validateManifest`, `publicTextCheck`, `executionLive`, `unsubmittedInitialDispatch`, `healthAuthorize`, `checkTransport`,
/// `fittingEvents`.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` that names the argument, or the function where there is none of this name, and those of the
/// function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_function(
    name: *const c_char,
    name_length: usize,
    args_json: *const c_char,
    args_json_length: usize,
    value_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let name = gallivant_str::new(name, name_length).text("name")?;
            let args = gallivant_str::new(args_json, args_json_length).text("args_json")?;
            let out = Out::new(value_json, "value_json")?;
            out.set(give(gallivant_text::new(&functions::call(name, args)?.to_json())));
            Ok(())
        })
    }
}

/// Refuses a runtime in which the layer cannot work: `contract_version` is that of the contract for which the runtime was built, 0
/// for none, and `has_intake` is not 0 where it has the shared intake service.
///
/// Errors: `GALLIVANT_EXECUTION_DEPENDENCY`; the message tells what is missing, and both versions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_assert_dependency(
    contract_version: u64,
    has_intake: i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let contract_version = Some(contract_version).filter(|version| *version != 0);
            assert_execution_dependency(&Runtime { contract_version, has_intake: has_intake != 0 })
        })
    }
}

/// Every limit of a boundary, in order, as a JSON array of `{"name", "default", "min", "max"}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_limits(
    limits_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(limits_json, "limits_json")?;
            let limits = EXECUTION_LIMITS.iter().map(|Limit { name, default, min, max }| {
                let members: [(&str, Value); 4] = [
                    ("name", (*name).into()),
                    ("default", (*default).into()),
                    ("min", (*min).into()),
                    ("max", (*max).into()),
                ];
                Value::Object(members.into_iter().collect())
            });
            out.set(give(gallivant_text::new(&Value::Array(limits.collect()).to_json())));
            Ok(())
        })
    }
}

/// Every operation of a task's root whose acceptance is unknown, as a JSON array of `{"taskId", "provider", "account",
/// "operationId", "runId", "idempotencyKey", "intentAt", "remedy"}`. Reads one file and takes no lock. A root without a ledger has
/// none. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_VERSION`; `GALLIVANT_EXECUTION_PROTOCOL` with reason `ledger`; `GALLIVANT_EXECUTION_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_unresolved(
    root: *const c_char,
    root_length: usize,
    host: *const gallivant_host,
    operations_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let host = host_or_system(host);
            let out = Out::new(operations_json, "operations_json")?;
            let operations = unresolved(Path::new(root), &host)?.into_iter().map(shown);
            out.set(give(gallivant_text::new(&Value::Array(operations.collect()).to_json())));
            Ok(())
        })
    }
}

/// The nano-dollars of an amount of US dollars, which is the text of a JSON number as it stands in inputs, outcomes and files;
/// `round` is what becomes of a rest, one of the GALLIVANT_ROUND constants. No floating-point number is on the way.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `number` for a text that is no JSON number, and for less than 0 or more than
/// 9,000,000,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_nanos(
    amount: *const c_char,
    amount_length: usize,
    round: i32,
    nanos: *mut i64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let amount = gallivant_str::new(amount, amount_length).text("amount")?;
            let round = ROUNDS.input(round)?;
            let out = Out::new(nanos, "nanos")?;
            let parsed = Nanos::parse(amount, round).ok_or_else(|| {
                let message = "an amount is no number from 0 to 9000000000, argument=`amount`";
                Error::new(Code::ExecutionInput, message).with_reason("number")
            })?;
            out.set(parsed.nanos());
            Ok(())
        })
    }
}

fn shown(operation: UnresolvedOperation) -> Value {
    let UnresolvedOperation { owner, operation_id, run_id, idempotency_key, intent_at, remedy } = operation;
    let members: [(&str, Value); 8] = [
        ("taskId", owner.task_id.as_str().into()),
        ("provider", owner.provider.as_str().into()),
        ("account", owner.account.as_str().into()),
        ("operationId", operation_id.as_str().into()),
        ("runId", run_id.as_str().into()),
        ("idempotencyKey", idempotency_key.as_str().into()),
        ("intentAt", intent_at.into()),
        ("remedy", remedy.into()),
    ];
    Value::Object(members.into_iter().collect::<Object>())
}
