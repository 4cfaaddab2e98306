//! Transports whose methods block, and their driver.

use std::sync::Arc;

use super::call::{End, TransportCall, no_process_host};
use super::worker::Worker;
use crate::error::Result;
use crate::execution::contract::{Methods, TransportError};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::{Machine, Step};
use crate::json::Value;

/// A remote adapter whose methods block: the host program's own code, which reaches the provider.
pub trait Transport: Send + Sync {
    /// The methods that it has. They are declared here, and not found by calling (EX-TRA-01).
    fn methods(&self) -> Methods;

    /// Runs a method, and gives its reply as JSON text: an object, or `null` where the method may answer so.
    ///
    /// It starts no timer, no scheduler and no loop of its own (EX-TRA-07), and ends soon after `call.signal` has fired. What
    /// it replies then is not read.
    ///
    /// # Errors
    /// The failure. `not-sent` only before anything was sent or recorded (EX-TRA-28).
    fn call(&self, call: &TransportCall) -> std::result::Result<String, TransportError>;

    /// Whether every method returns by itself at `call.deadline_at_ms`. It is then called on the driver's own thread, and the
    /// caller's token does not reach it before it returns. Otherwise each method runs on a thread beside the driver's, which
    /// is left alone when the method does not end (EX-TRA-05).
    fn keeps_deadlines(&self) -> bool {
        false
    }
}

/// Drives a machine to its end, and gives the outcome of its call. `abort` ends the outstanding call (EX-TRA-04); the wait
/// for the task's lock has the token that the machine was made with, which may be the same.
///
/// A method that has not ended 1,000 ms after its deadline, or after the abort, is left alone; one that panics has failed
/// with `io`.
///
/// # Errors
/// Those of the boundary's call; `EXECUTION_INPUT` with the reason `reply` where the boundary was dropped meanwhile, which
/// equals a crash.
///
/// # Examples
///
/// Work is submitted once, however often it is asked for:
///
/// ```
/// use std::sync::Arc;
///
/// use gallivant_core::Host;
/// use gallivant_core::execution::{AbortToken, Boundary, ExecutionOptions, NoFaults, drive};
/// use gallivant_core::json::Value;
/// use gallivant_core::testing::{MEMORY_CAPABILITY, MemoryTransport};
///
/// # fn main() -> gallivant_core::Result<()> {
/// # let root = std::env::temp_dir().join(format!("gallivant-doc-{:x}", Host::system().random.next_u64()));
/// let host = Host::system();
/// let object = |text: &str| match Value::parse(text) {
///     Ok(Value::Object(object)) => object,
///     _ => unreachable!("it is an object"),
/// };
/// let options = object(&format!(
///     r#"{{"taskId": "task", "provider": "memory", "account": "me", "budgetUsd": 8, "health": "external",
///          "capabilities": {MEMORY_CAPABILITY},
///          "transport": {{"methods": ["prepare", "submit", "inspect", "continue", "collect", "cancel", "lookup"]}}}}"#
/// ));
/// let boundary = Boundary::new(ExecutionOptions::from_object(&root, &options, Arc::new(NoFaults))?, &host)?;
/// let transport = Arc::new(MemoryTransport::new(&host));
/// let input = object(r#"{"operationId": "op-1", "prompt": "do it", "reservationUsd": 0.5}"#);
///
/// let abort = AbortToken::new();
/// let done = drive(boundary.submit(input.clone(), abort.clone()), &transport, &abort)?;
/// assert_eq!(done.get("acceptance").and_then(Value::as_str), Some("accepted"));
///
/// let again = drive(boundary.submit(input, abort.clone()), &transport, &abort)?;
/// assert_eq!(again.get("reused").and_then(Value::as_bool), Some(true));
/// assert_eq!(transport.creates(), 1);
/// # std::fs::remove_dir_all(root).ok();
/// # Ok(())
/// # }
/// ```
pub fn drive<T: Transport + ?Sized + 'static>(
    mut machine: Machine,
    transport: &Arc<T>,
    abort: &AbortToken,
) -> Result<Value> {
    let mut worker = Worker::new(transport);
    let (clock, limits) = (machine.clock(), *machine.limits());
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(outcome) => return outcome,
            Step::Call(call) => call,
        };
        let id = call.id;
        let Some(call) = TransportCall::of(call, limits) else {
            step = machine.reply(id, no_process_host())?;
            continue;
        };
        let end = worker.run(call.clone(), &*clock, abort);
        if call.is_sending() {
            machine.sending(id)?;
        }
        step = match end {
            End::Reply(reply) => machine.reply(id, reply)?,
            End::Deadline => machine.deadline(id)?,
            End::Aborted => machine.abort(id)?,
        };
    }
}
