//! A running call of the boundary, as a machine that does no I/O towards the provider (EX-BND-39 to EX-BND-43).
//!
//! The operations of the boundary are written as plain `async` code: the compiler makes the machine of it. There is no
//! runtime and nothing that wakes anybody: a step polls once, and the code is ready again exactly when the call that it
//! waits for has ended. Dropping the machine, or its boundary, drops its code wherever it stands, which releases its locks and
//! writes nothing.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use super::contract::{Method, TransportError};
use super::ledger::lock::AbortToken;
use super::limits::Limits;
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};
use crate::words::words;

/// Unique within the process (EX-BND-39).
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

words! {
    /// Whom a call is for.
    Port {
        /// A method of the transport.
        Transport = "transport",
        /// A method of the process host (EX-SEA-06).
        Process = "process",
        /// What a publication does with its checkout.
        Git = "git",
        /// A verification, in its sandbox.
        Verification = "verification",
        /// A push, or a pull request.
        Publisher = "publisher",
        /// What the coordinator's own registry knows (EX-CAN-48).
        Coordinator = "coordinator",
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
    /// How long it may take, in milliseconds, where the limit `deadlineMs` is not meant.
    pub(crate) patience_ms: Option<u64>,
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
    fn slot(&self) -> MutexGuard<'_, Slot> {
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
        self.call(Request { port: Port::Transport, method: method.word(), input, limit, patience_ms: None })
            .await
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
    running: Arc<Mutex<Running>>,
    line: Line,
    clock: Arc<dyn Clock>,
    limits: Limits,
    generation: u64,
}

/// What goes when the machine is dropped, or its boundary.
struct Running {
    code: Option<OperationCode>,
    outstanding: Option<Outstanding>,
}

/// As a crash: nothing is written, the locks are let go of, and the method that is still running is told to end.
impl Drop for Running {
    fn drop(&mut self) {
        if let Some(call) = &self.outstanding {
            call.signal.abort();
        }
    }
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machines of a boundary. They go with it (EX-BND-36).
pub(crate) struct Machines {
    machines: Mutex<Vec<Weak<Mutex<Running>>>>,
    generation: u64,
}

impl Machines {
    pub(crate) fn new() -> Self {
        Machines { machines: Mutex::default(), generation: crate::storage::counted_generation() }
    }

    pub(crate) fn add(&self, machine: &Machine) {
        if self.generation != crate::storage::fork_generation() {
            return;
        }
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        machines.retain(|machine| machine.strong_count() > 0);
        machines.push(Arc::downgrade(&machine.running));
    }
}

/// Waits for the steps that are being taken. In a child process they are the parent's.
impl Drop for Machines {
    fn drop(&mut self) {
        if self.generation != crate::storage::fork_generation() {
            return;
        }
        let machines = self.machines.get_mut().unwrap_or_else(PoisonError::into_inner);
        for running in machines.iter().filter_map(Weak::upgrade) {
            *lock(&running) = Running { code: None, outstanding: None };
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Machine").field("outstanding", &self.outstanding_id()).finish_non_exhaustive()
    }
}

impl Machine {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        limits: Limits,
        code: impl FnOnce(Line) -> OperationCode,
    ) -> Self {
        let line = Line::default();
        let running = Running { code: Some(code(line.clone())), outstanding: None };
        Machine {
            running: Arc::new(Mutex::new(running)),
            line,
            clock,
            limits,
            generation: crate::storage::counted_generation(),
        }
    }

    /// Begins. Waits for the task's lock here, and nowhere else.
    pub fn start(&mut self) -> Step {
        match self.running() {
            Err(forked) => Step::Done(Err(forked)),
            Ok(running) if running.outstanding.is_some() => Step::Done(Err(not_outstanding())),
            Ok(mut running) => self.advance(&mut running),
        }
    }

    /// The call with this id has ended. A reply that comes at its deadline or later is dropped unread, and the call counts as
    /// failed.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `reply` where no such call is outstanding; nothing has changed then, and the
    /// outstanding call, if there is one, stays outstanding. So too once the boundary was dropped.
    pub fn reply(&mut self, id: u64, reply: Reply) -> Result<Step> {
        let now = self.clock.wall_ms();
        self.end(id, |call| match reply {
            _ if call.deadline_at <= now => Ended::Deadline,
            Reply::Value(text) if text.len() as u64 > call.limit => Ended::Oversized,
            Reply::Value(text) => Ended::Value(text),
            Reply::Error(error) => Ended::Error(error),
        })
    }

    /// The call with this id has not ended at its deadline.
    ///
    /// # Errors
    /// As [`Machine::reply`].
    pub fn deadline(&mut self, id: u64) -> Result<Step> {
        self.end(id, |_| Ended::Deadline)
    }

    /// The caller has given the call with this id up.
    ///
    /// # Errors
    /// As [`Machine::reply`].
    pub fn abort(&mut self, id: u64) -> Result<Step> {
        self.end(id, |_| Ended::Aborted)
    }

    /// The transport is about to send, or to save something of its own, for the call with this id: from now on it cannot prove
    /// that nothing was sent (EX-TRA-29).
    ///
    /// # Errors
    /// As [`Machine::reply`].
    pub fn sending(&mut self, id: u64) -> Result<()> {
        outstanding(&mut *self.running()?, id)?.sending = true;
        Ok(())
    }

    /// The id of the outstanding call.
    #[must_use]
    pub fn outstanding_id(&self) -> Option<u64> {
        self.running().ok()?.outstanding.as_ref().map(|call| call.id)
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

    /// A child process may find the lock taken for ever, by a thread that it does not have.
    fn running(&self) -> Result<MutexGuard<'_, Running>> {
        if self.generation == crate::storage::fork_generation() {
            Ok(lock(&self.running))
        } else {
            Err(forked())
        }
    }

    fn end(&self, id: u64, how: impl FnOnce(&Outstanding) -> Ended) -> Result<Step> {
        let mut running = self.running()?;
        let call = outstanding(&mut running, id)?;
        let ended = how(call);
        if matches!(ended, Ended::Deadline | Ended::Aborted) {
            call.signal.abort();
        }
        self.line.slot().end = Some(CallEnd { ended, sending: call.sending });
        running.outstanding = None;
        Ok(self.advance(&mut running))
    }

    fn advance(&self, running: &mut Running) -> Step {
        let Some(code) = &mut running.code else { return Step::Done(Err(not_outstanding())) };
        let step = || code.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // What panicked is dropped, and its locks with it (EX-ERR-08, EX-CAN-53).
        let Ok(polled) = catch_unwind(AssertUnwindSafe(step)) else {
            running.code = None;
            return Step::Done(Err(panicked()));
        };
        if let Poll::Ready(outcome) = polled {
            running.code = None;
            return Step::Done(outcome);
        }
        let Some(request) = self.line.slot().request.take() else {
            running.code = None;
            return Step::Done(Err(Error::new(Code::Internal, "an operation waits for nothing")));
        };
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let patience_ms = request.patience_ms.unwrap_or(self.limits.deadline_ms);
        let deadline_at = self.clock.wall_ms().saturating_add(patience_ms);
        let signal = AbortToken::new();
        running.outstanding = Some(Outstanding {
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

fn outstanding(running: &mut Running, id: u64) -> Result<&mut Outstanding> {
    running.outstanding.as_mut().filter(|call| call.id == id).ok_or_else(not_outstanding)
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
