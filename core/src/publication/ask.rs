//! The calls of a publication: what each port is asked, and how its answer is read. A call that did not end, or whose answer
//! makes no sense, is a reason to come again and never a block (EX-ART-47).

use super::next::Block;
use crate::error::{Code, Error, Result};
use crate::execution::machine::{Ended, Line, Port, Request};
use crate::json::{Object, Value};

/// The longest answer of a port, as that of a transport's smaller methods (EX-TRA-06).
const REPLY_BYTES: u64 = 65_536;
/// How long the checkout may take over one question, in milliseconds: writing as many files as a result holds, twice.
const CHECKOUT_MS: u64 = 300_000;
/// How long a push may take, in milliseconds.
const PUSH_MS: u64 = 300_000;
/// A command's own limit (EX-VER-04), and time to end its tree and to look at the checkout.
const COMMAND_MS: u64 = 150_000;
/// The probe's own limit (EX-VER-28) and that of the view of Git (EX-VER-36), and time to tidy up.
const SANDBOX_MS: u64 = 120_000;

/// Why a publication does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// For good: the block is saved. The detail holds nothing of the result.
    Block(Block, Option<String>),
    /// For now, or refused.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

impl Stop {
    /// A fault of the result that stays.
    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Stop::Block(Block::Validation, Some(detail.into()))
    }
}

/// What a step of a publication gives.
pub(super) type Step<T> = std::result::Result<T, Stop>;

/// How the checkout stands.
pub(super) struct State {
    pub(super) origin: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) head: Option<String>,
    pub(super) clean: bool,
    /// Whether what is not clean is all of it the work of an application that was cut short, which may be repeated.
    pub(super) resumable: bool,
    /// Whether the base is known, and the input head shares history with it.
    pub(super) base_matches: bool,
}

impl State {
    pub(super) fn read(reply: &Value) -> Result<Self> {
        let text = |key: &str| reply.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(State {
            origin: text("origin"),
            branch: text("branch"),
            head: text("head"),
            clean: flag(reply, "clean", Port::Git)?,
            resumable: reply.get("resumable").and_then(Value::as_bool).unwrap_or(false),
            base_matches: flag(reply, "baseMatches", Port::Git)?,
        })
    }
}

/// Asks a port, and gives what it answered, which is an object or null.
///
/// # Errors
/// `EXECUTION_DEADLINE`, `EXECUTION_PROTOCOL` with the reason `shape`, and `EXECUTION_IO`: with the reason `tree` of the checkout,
/// with the kind of the failure as its reason of another port. What the port said of it is not told (EX-ART-45).
pub(super) async fn ask(line: &Line, port: Port, method: &'static str, input: Object) -> Result<Value> {
    let commands = input.get("commands").and_then(Value::as_array).map_or(0, <[Value]>::len) as u64;
    let patience_ms = match (port, method) {
        (Port::Git, _) => Some(CHECKOUT_MS),
        (Port::Verification, _) => Some(SANDBOX_MS + COMMAND_MS * commands),
        (Port::Publisher, "push") => Some(PUSH_MS),
        _ => None,
    };
    let failed = |code, reason, what: &str| {
        let message = format!("{what}, port=`{}` method=`{method}`", port.word());
        Err(Error::new(code, message).with_reason(reason))
    };
    match line.call(Request { port, method, input, limit: REPLY_BYTES, patience_ms }).await.ended {
        Ended::Value(text) => match Value::parse(&text) {
            Ok(value @ (Value::Object(_) | Value::Null)) => Ok(value),
            _ => failed(Code::ExecutionProtocol, "shape", "an answer of a port makes no sense"),
        },
        Ended::Oversized => failed(Code::ExecutionProtocol, "shape", "an answer of a port is too long"),
        Ended::Deadline => failed(Code::ExecutionDeadline, "deadline", "a port did not answer in its time"),
        Ended::Aborted => failed(Code::ExecutionIo, "aborted", "a call was aborted"),
        Ended::Error(_) if port == Port::Git => {
            failed(Code::ExecutionIo, "tree", "the checkout cannot be asked")
        }
        Ended::Error(error) => failed(Code::ExecutionIo, error.cause().1, "a port has failed"),
    }
}

/// As [`ask`], for an answer that may say that the result is not valid, which stays so.
pub(super) async fn judge(line: &Line, port: Port, method: &'static str, input: Object) -> Step<Value> {
    let reply = ask(line, port, method, input).await?;
    match reply.get("invalid") {
        None | Some(Value::Null) => Ok(reply),
        Some(detail) => Err(Stop::invalid(detail.as_str().unwrap_or("unspecified"))),
    }
}

/// A member that is true or false.
///
/// # Errors
/// `EXECUTION_PROTOCOL` with the reason `shape`.
pub(super) fn flag(reply: &Value, key: &str, port: Port) -> Result<bool> {
    reply.get(key).and_then(Value::as_bool).ok_or_else(|| shapeless(key, port))
}

pub(super) fn shapeless(key: &str, port: Port) -> Error {
    let message = format!("an answer lacks a member, port=`{}` member=`{key}`", port.word());
    Error::new(Code::ExecutionProtocol, message).with_reason("shape")
}
