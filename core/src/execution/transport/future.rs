//! Transports whose methods are awaited, and their driver, on any runtime: the host brings the timer.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use super::call::{End, GRACE_MS, TransportCall, failed, no_process_host, reply};
use crate::error::Result;
use crate::execution::contract::{Methods, TransportError};
use crate::execution::machine::{Machine, Step};
use crate::json::Value;

/// A method on its way: its reply as JSON text, or its failure.
pub type ReplyFuture<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<String, TransportError>> + Send + 'a>>;

/// A remote adapter whose methods are awaited: the host program's own code, which reaches the provider.
pub trait AsyncTransport: Send + Sync {
    /// The methods that it has. They are declared here, and not found by calling (EX-TRA-01).
    fn methods(&self) -> Methods;

    /// Begins a method, under the rules of [`Transport::call`](super::Transport::call). The future is dropped when it has not
    /// ended 1,000 ms after `call.signal` has fired.
    fn call<'a>(&'a self, call: &'a TransportCall) -> ReplyFuture<'a>;
}

/// Drives a machine to its end, as [`drive`](super::drive) does, without a thread. `sleep` gives a future that ends after
/// this long; `abort` ends the outstanding call when it ends, and [`std::future::pending`] never does.
///
/// A step of the machine reads and writes files, and the first one may wait for the task's lock up to `lockWaitMs`: a runtime
/// that minds runs this where it may block.
///
/// Dropping the future drops the machine, which equals a crash there.
///
/// # Errors
/// Those of the boundary's call.
pub async fn drive_async<T, S>(
    mut machine: Machine,
    transport: &T,
    sleep: impl Fn(Duration) -> S,
    abort: impl Future<Output = ()>,
) -> Result<Value>
where
    T: AsyncTransport + ?Sized,
    S: Future<Output = ()>,
{
    let mut abort = pin!(abort);
    let mut is_aborted = false;
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
        let left = Duration::from_millis(call.deadline_at_ms.saturating_sub(clock.wall_ms()));
        let end = match catch_unwind(AssertUnwindSafe(|| transport.call(&call))) {
            Err(_) => End::Reply(failed("the method has panicked")),
            Ok(mut method) => {
                let mut deadline = pin!(sleep(left));
                let end = std::future::poll_fn(|context| {
                    if let Poll::Ready(reply) = poll_method(&mut method, context) {
                        return Poll::Ready(End::Reply(reply));
                    }
                    is_aborted = is_aborted || abort.as_mut().poll(context).is_ready();
                    if is_aborted {
                        return Poll::Ready(End::Aborted);
                    }
                    deadline.as_mut().poll(context).map(|()| End::Deadline)
                });
                let end = end.await;
                if !matches!(end, End::Reply(_)) {
                    call.signal.abort();
                    let mut grace = pin!(sleep(Duration::from_millis(GRACE_MS)));
                    std::future::poll_fn(|context| match poll_method(&mut method, context) {
                        Poll::Ready(_) => Poll::Ready(()),
                        Poll::Pending => grace.as_mut().poll(context),
                    })
                    .await;
                }
                end
            }
        };
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

fn poll_method(
    method: &mut ReplyFuture<'_>,
    context: &mut Context<'_>,
) -> Poll<crate::execution::machine::Reply> {
    match catch_unwind(AssertUnwindSafe(|| method.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(outcome)) => Poll::Ready(reply(Ok(outcome))),
        Err(panic) => Poll::Ready(reply(Err(panic))),
    }
}
