//! A running call of the boundary, as a machine that does no I/O towards the provider (EX-BND-39 to EX-BND-43).
//!
//! The operations of the boundary are written as plain `async` code: the compiler makes the machine of it. There is no
//! runtime and nothing that wakes anybody: a step polls once, and the code is ready again exactly when the call that it
//! waits for has ended. Dropping the machine drops its code wherever it stands, which releases its locks and writes nothing.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::contract::{Method, TransportError};
use super::ledger::lock::AbortToken;
use super::limits::Limits;
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};

/// Unique within the process (EX-BND-39).
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Whom a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A method of the transport.
    Transport,
    /// A method of the process host (EX-SEA-06).
    Process,
}

impl Port {
    /// The word of the protocol.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Port::Transport => "transport",
            Port::Process => "process",
        }
    }
}

/// What the host is to do. Everything that must be durable before it is durable (EX-BND-40).
#[derive(Clone, Debug)]
pub struct Call {
    /// By which its end is fed back.
    pub id: u64,
    /// Whom it is for.
    pub port: Port,
    /// Which method, in its public spelling.
    pub method: &'static str,
    /// The method's input.
    pub input: Object,
    /// When it counts as failed, in milliseconds since 1970 on the boundary's clock.
    pub deadline_at: u64,
    /// Fires when the call is over and the method should end: at the deadline, at an abort, when the machine is dropped.
    pub signal: AbortToken,
}

/// What a step has come to.
#[derive(Debug)]
pub enum Step {
    /// The machine waits for the end of this call.
    Call(Call),
    /// The call of the boundary has returned.
    Done(Result<Value>),
}

/// How the host answers a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The method returned this JSON text.
    Value(String),
    /// The method failed.
    Error(TransportError),
}

/// How a call ended, as the code of an operation sees it.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a text that is not longer than the method's limit.
    Value(String),
    /// With a text that is longer.
    Oversized,
    /// With an error, to be read with whether something was being sent already.
    Error(TransportError),
    /// It had not ended at its deadline.
    Deadline,
    /// The caller gave it up.
    Aborted,
}

/// What an operation asks of its machine.
pub(crate) struct Request {
    pub(crate) port: Port,
    pub(crate) method: &'static str,
    pub(crate) input: Object,
    pub(crate) limit: u64,
}

/// How a call ended, and whether its transport had begun to send.
#[derive(Debug)]
pub(crate) struct CallEnd {
    pub(crate) ended: Ended,
    pub(crate) sending: bool,
}

#[derive(Default)]
struct Slot {
    request: Option<Request>,
    end: Option<CallEnd>,
}

/// Through which the code of an operation makes its calls.
#[derive(Clone, Default)]
pub(crate) struct Line(Arc<Mutex<Slot>>);

impl Line {
    fn slot(&self) -> std::sync::MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a call out and waits for its end.
    pub(crate) async fn call(&self, request: Request) -> CallEnd {
        self.slot().request = Some(request);
        std::future::poll_fn(|_| match self.slot().end.take() {
            Some(end) => Poll::Ready(end),
            None => Poll::Pending,
        })
        .await
    }

    /// Hands a call of the transport out.
    pub(crate) async fn transport(&self, method: Method, input: Object, limit: u64) -> CallEnd {
        self.call(Request { port: Port::Transport, method: method.word(), input, limit }).await
    }
}

type OperationCode = Pin<Box<dyn Future<Output = Result<Value>> + Send>>;

struct Outstanding {
    id: u64,
    deadline_at: u64,
    limit: u64,
    sending: bool,
    signal: AbortToken,
}

/// A running call. It belongs to one thread at a time.
pub struct Machine {
    code: Option<OperationCode>,
    line: Line,
    outstanding: Option<Outstanding>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    generation: u64,
}

impl fmt::Debug for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.outstanding.as_ref().map(|call| call.id);
        out.debug_struct("Machine").field("outstanding", &call).finish_non_exhaustive()
    }
}

impl Machine {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        limits: Limits,
        code: impl FnOnce(Line) -> OperationCode,
    ) -> Self {
        let line = Line::default();
        Machine {
            code: Some(code(line.clone())),
            line,
            outstanding: None,
            clock,
            limits,
            generation: crate::storage::counted_generation(),
        }
    }

    /// Begins. Waits for the task's lock here, and nowhere else.
    pub fn start(&mut self) -> Step {
        if self.outstanding.is_some() {
            return Step::Done(Err(not_outstanding()));
        }
        self.advance()
    }

    /// The call with this id has ended. A reply that comes at its deadline or later is dropped unread, and the call counts as
    /// failed.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `reply` where no such call is outstanding; nothing has changed then, and the
    /// outstanding call, if there is one, stays outstanding.
    pub fn reply(&mut self, id: u64, reply: Reply) -> Result<Step> {
        let late = self.outstanding(id)?.deadline_at <= self.clock.wall_ms();
        let limit = self.outstanding(id)?.limit;
        Ok(self.end(match reply {
            _ if late => Ended::Deadline,
            Reply::Value(text) if text.len() as u64 > limit => Ended::Oversized,
            Reply::Value(text) => Ended::Value(text),
            Reply::Error(error) => Ended::Error(error),
        }))
    }

    /// The call with this id has not ended at its deadline.
    ///
    /// # Errors
    /// As [`Machine::reply`].
    pub fn deadline(&mut self, id: u64) -> Result<Step> {
        self.outstanding(id)?;
        Ok(self.end(Ended::Deadline))
    }

    /// The caller has given the call with this id up.
    ///
    /// # Errors
    /// As [`Machine::reply`].
    pub fn abort(&mut self, id: u64) -> Result<Step> {
        self.outstanding(id)?;
        Ok(self.end(Ended::Aborted))
    }

    /// The transport is about to send, or to save something of its own, for the call with this id: from now on it cannot prove
    /// that nothing was sent (EX-TRA-29).
    ///
    /// # Errors
    /// As [`Machine::reply`].
    pub fn sending(&mut self, id: u64) -> Result<()> {
        self.outstanding(id)?.sending = true;
        Ok(())
    }

    /// The id of the outstanding call.
    #[must_use]
    pub fn outstanding_id(&self) -> Option<u64> {
        self.outstanding.as_ref().map(|call| call.id)
    }

    /// The limits in force: a part of every call's common input.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The clock by which its calls are late.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    fn outstanding(&mut self, id: u64) -> Result<&mut Outstanding> {
        if self.generation != crate::storage::fork_generation() {
            return Err(forked());
        }
        self.outstanding.as_mut().filter(|call| call.id == id).ok_or_else(not_outstanding)
    }

    fn end(&mut self, ended: Ended) -> Step {
        if let Some(call) = self.outstanding.take() {
            if matches!(ended, Ended::Deadline | Ended::Aborted) {
                call.signal.abort();
            }
            self.line.slot().end = Some(CallEnd { ended, sending: call.sending });
        }
        self.advance()
    }

    fn advance(&mut self) -> Step {
        if self.generation != crate::storage::fork_generation() {
            return Step::Done(Err(forked()));
        }
        let Some(code) = &mut self.code else { return Step::Done(Err(not_outstanding())) };
        let step = || code.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // What panicked is dropped, and its locks with it (EX-ERR-08, EX-CAN-53).
        let Ok(polled) = catch_unwind(AssertUnwindSafe(step)) else {
            self.code = None;
            return Step::Done(Err(panicked()));
        };
        if let Poll::Ready(outcome) = polled {
            self.code = None;
            return Step::Done(outcome);
        }
        let Some(request) = self.line.slot().request.take() else {
            self.code = None;
            return Step::Done(Err(Error::new(Code::Internal, "an operation waits for nothing")));
        };
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let deadline_at = self.clock.wall_ms().saturating_add(self.limits.deadline_ms);
        let signal = AbortToken::new();
        self.outstanding = Some(Outstanding {
            id,
            deadline_at,
            limit: request.limit,
            sending: false,
            signal: signal.clone(),
        });
        let Request { port, method, input, .. } = request;
        Step::Call(Call { id, port, method, input, deadline_at, signal })
    }
}

/// As a crash: nothing is written, the locks are let go of, and the method that is still running is told to end.
impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(call) = &self.outstanding {
            call.signal.abort();
        }
    }
}

fn panicked() -> Error {
    Error::new(Code::ExecutionIo, "the library has failed; the last durable state stands")
        .with_reason("internal")
}

fn not_outstanding() -> Error {
    Error::new(Code::ExecutionInput, "no such call is outstanding").with_reason("reply")
}

pub(crate) fn forked() -> Error {
    Error::new(Code::ExecutionInput, "the boundary belongs to the parent process")
        .with_reason("forked")
        .with_remedy("open a boundary of its own in the child")
}
