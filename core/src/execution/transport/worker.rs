//! A method that blocks, on a thread beside the driver's, so that one that never returns can be left alone (EX-TRA-05).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::blocking::Transport;
use super::call::{End, GRACE_MS, TransportCall, failed, reply};
use crate::clock::Clock;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::Reply;

/// Between two looks at the clock and at the caller's token. A reply ends the wait at once.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Runs the methods of one transport, one after the other. Its thread is started by the first method that needs one, and
/// ends with the worker, or with the method that it was left alone in.
pub(super) struct Worker<T: ?Sized> {
    transport: Arc<T>,
    line: Option<Line>,
}

struct Line {
    calls: Sender<TransportCall>,
    replies: Receiver<Reply>,
}

impl<T: Transport + ?Sized + 'static> Worker<T> {
    pub(super) fn new(transport: &Arc<T>) -> Self {
        Worker { transport: Arc::clone(transport), line: None }
    }

    /// Runs a method to its end, its deadline, or the caller's abort. At the latter two its signal has fired, and it has had
    /// its time to end.
    pub(super) fn run(&mut self, call: TransportCall, clock: &dyn Clock, abort: &AbortToken) -> End {
        if self.transport.keeps_deadlines() {
            let reply = run(&*self.transport, &call);
            return if abort.is_aborted() { End::Aborted } else { End::Reply(reply) };
        }
        let Some(line) = self.line.take().or_else(|| start(&self.transport)) else {
            return End::Reply(failed("no thread can be started for the method"));
        };
        let (deadline_at_ms, signal) = (call.deadline_at_ms, call.signal.clone());
        // Also where the wall clock goes back, the call has its time and no more.
        let last = clock
            .awake()
            .saturating_add(Duration::from_millis(deadline_at_ms.saturating_sub(clock.wall_ms())));
        if line.calls.send(call).is_err() {
            return End::Reply(failed("the method's thread has ended"));
        }
        let mut pause = SHORTEST_PAUSE;
        let end = loop {
            match line.replies.recv_timeout(pause) {
                Ok(reply) => {
                    self.line = Some(line);
                    return End::Reply(reply);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return End::Reply(failed("the method's thread has ended"));
                }
                Err(RecvTimeoutError::Timeout) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
            // The signal has fired already where the boundary was dropped meanwhile.
            if abort.is_aborted() || signal.is_aborted() || clock.is_cancelled() {
                break End::Aborted;
            }
            if clock.wall_ms() >= deadline_at_ms || clock.awake() >= last {
                break End::Deadline;
            }
        };
        signal.abort();
        if has_ended(&line, clock) {
            self.line = Some(line);
        }
        end
    }
}

/// Waits for a method whose signal has fired. What it replies is not looked at.
fn has_ended(line: &Line, clock: &dyn Clock) -> bool {
    let last = clock.awake().saturating_add(Duration::from_millis(GRACE_MS));
    while clock.awake() < last {
        match line.replies.recv_timeout(LONGEST_PAUSE) {
            Ok(_) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    false
}

fn start<T: Transport + ?Sized + 'static>(transport: &Arc<T>) -> Option<Line> {
    let (calls, asked) = channel::<TransportCall>();
    let (told, replies) = channel();
    let transport = Arc::clone(transport);
    let work = move || {
        for call in asked {
            if told.send(run(&*transport, &call)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("gallivant-transport".to_owned()).spawn(work).ok()?;
    Some(Line { calls, replies })
}

fn run<T: Transport + ?Sized>(transport: &T, call: &TransportCall) -> Reply {
    reply(catch_unwind(AssertUnwindSafe(|| transport.call(call))))
}
