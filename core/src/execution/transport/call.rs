//! What a method of a transport is given: its input and the common part of every call (EX-TRA-03, EX-TRA-29).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::execution::contract::{Method, TransportError};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::limits::Limits;
use crate::execution::machine::{Call, Reply};
use crate::json::{Object, Value};

/// A method whose signal has fired is waited for so long, in milliseconds, and then left alone (EX-TRA-05).
pub const GRACE_MS: u64 = 1_000;

/// One call of a method. Cloning it gives the same call. The `Debug` form leaves the input out, which may hold prompts,
/// answers and grants.
#[derive(Clone)]
pub struct TransportCall {
    /// Which method.
    pub method: Method,
    /// Its input, with exactly the members of the contract, byte for byte (EX-TRA-12 to EX-TRA-24, EX-TRA-32).
    pub input: Object,
    /// When the call counts as failed, in milliseconds since 1970 on the boundary's clock.
    pub deadline_at_ms: u64,
    /// The limits in force.
    pub limits: Limits,
    /// Fires at the deadline, when the caller gives the call up, and when the machine is dropped. The method should end then.
    pub signal: AbortToken,
    is_sending: Arc<AtomicBool>,
}

impl TransportCall {
    /// A call whose signal has not fired.
    #[must_use]
    pub fn new(method: Method, input: Object, deadline_at_ms: u64, limits: Limits) -> Self {
        let (signal, is_sending) = (AbortToken::new(), Arc::default());
        TransportCall { method, input, deadline_at_ms, limits, signal, is_sending }
    }

    /// What a machine asks of a transport; none where it asks somebody else.
    pub(super) fn of(call: Call, limits: Limits) -> Option<Self> {
        if call.port != crate::execution::machine::Port::Transport {
            return None;
        }
        let method = Method::from_word(call.method)?;
        let signal = call.signal;
        Some(TransportCall { signal, ..TransportCall::new(method, call.input, call.deadline_at, limits) })
    }

    /// A member of the input that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.input.get(name).and_then(Value::as_str)
    }

    /// To be called just before the first request to the provider, or the first record of the transport's own: from now on
    /// `not-sent` is not believed of this call (EX-TRA-29).
    pub fn sending(&self) {
        self.is_sending.store(true, Ordering::Release);
    }

    /// Whether [`TransportCall::sending`] was called.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.is_sending.load(Ordering::Acquire)
    }
}

impl fmt::Debug for TransportCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("TransportCall");
        shown
            .field("method", &self.method)
            .field("deadline_at_ms", &self.deadline_at_ms)
            .finish_non_exhaustive()
    }
}

/// How a driver's wait for a method has ended.
#[derive(Debug)]
pub(super) enum End {
    Reply(Reply),
    Deadline,
    Aborted,
}

/// A method that panics has failed, and nothing else has (EX-TRA-34).
pub(super) fn reply(outcome: std::thread::Result<Result<String, TransportError>>) -> Reply {
    match outcome {
        Ok(Ok(text)) => Reply::Value(text),
        Ok(Err(error)) => Reply::Error(error),
        Err(_) => failed("the method has panicked"),
    }
}

pub(super) fn failed(message: &str) -> Reply {
    Reply::Error(TransportError::of(crate::execution::contract::ErrorKind::Io, message))
}

/// What a transport's driver answers where the machine asks the process host.
pub(super) fn no_process_host() -> Reply {
    failed("a driver of a transport has no process host")
}
