//! One call of a boundary: a machine that JavaScript steps, each step a task of libuv's pool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gallivant_core::clock::Clock;
use gallivant_core::execution::{AbortToken, Boundary, Called, Machine, Reply, Step, TransportError};
use gallivant_core::json::Value;
use gallivant_core::{Code, Error, Result, publication};
use napi_derive::napi;

use super::boundary::object;
use super::told::{Stepping, Told, step, step_of_wait};
use crate::error::closed;
use crate::job::{Promised, promise};
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience, Wait};

/// A call that is to be started, runs, or has ended. One that has ended can be made another, which spares making an object of
/// the engine for every call.
#[napi]
pub struct NativeCall {
    /// Only JavaScript's own thread takes it.
    course: Mutex<Arc<Course>>,
    /// Not the boundary itself: a machine goes with its boundary, and keeps none alive.
    boundary: Arc<Slot<Boundary>>,
    clock: Arc<dyn Clock>,
    lock_wait: Duration,
}

struct Course {
    boundary: Arc<Slot<Boundary>>,
    method: String,
    abort: AbortToken,
    stage: Mutex<Stage>,
    /// Of the start that was begun last.
    wait: Mutex<Option<Arc<Wait>>>,
}

enum Stage {
    /// With its input, which is let go of once it has begun.
    New(String),
    /// One that has ended is kept: it judges what is fed to it later.
    Machine(Box<Machine>),
    /// It was a read.
    Answered,
    Dropped,
}

impl NativeCall {
    pub(super) fn new(
        boundary: &Arc<Slot<Boundary>>,
        clock: &Arc<dyn Clock>,
        lock_wait: Duration,
        method: String,
        input: String,
    ) -> Self {
        let course = Mutex::new(Arc::new(Course::new(boundary, method, input)));
        NativeCall { course, boundary: Arc::clone(boundary), clock: Arc::clone(clock), lock_wait }
    }

    fn course(&self) -> Arc<Course> {
        Arc::clone(&self.course.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn feed(
        &self,
        id: i64,
        is_sending: bool,
        end: impl FnOnce(&mut Machine, u64) -> Result<Step> + Send + 'static,
    ) -> Stepping {
        let course = self.course();
        step(move || {
            let id = number(id);
            let step = course.with_machine(|machine| {
                if is_sending {
                    machine.sending(id)?;
                }
                end(machine, id)
            })?;
            Ok(Told::of(&course.method, step))
        })
    }
}

#[napi]
impl NativeCall {
    /// Makes another call of one that has ended.
    #[napi(catch_unwind)]
    pub fn renew(&self, method: String, input: String) {
        let course = Arc::new(Course::new(&self.boundary, method, input));
        *self.course.lock().unwrap_or_else(PoisonError::into_inner) = course;
    }

    /// One try of starting. Where another holder has the task's lock it is made `again`, within the wait that has begun with
    /// the first.
    #[napi(catch_unwind)]
    pub fn start_async(&self, again: bool) -> Stepping {
        let course = self.course();
        let wait = course.waited(again, || Wait::begin(&self.clock, self.lock_wait));
        step_of_wait(wait, Patience::SlicesSinceBegin, move || course.start())
    }

    /// Ends the wait of a start. Answers true when nothing has been or will be written by it; else the try that runs says it.
    #[napi(catch_unwind)]
    pub fn abort_wait(&self) -> bool {
        let wait = self.course().wait.lock().unwrap_or_else(PoisonError::into_inner).clone();
        wait.is_none_or(|wait| wait.abort())
    }

    /// The method returned this JSON text; where `is_sending`, its transport had begun to send.
    #[napi(catch_unwind)]
    pub fn reply_async(&self, id: i64, text: String, is_sending: bool) -> Stepping {
        self.feed(id, is_sending, move |machine, id| machine.reply(id, Reply::Value(text)))
    }

    /// The method failed with what this JSON text tells.
    #[napi(catch_unwind)]
    pub fn fail_async(&self, id: i64, error: String, is_sending: bool) -> Stepping {
        self.feed(id, is_sending, move |machine, id| {
            // A message may hold half a character.
            let told = Value::parse_replacing(&error).map_or(Value::Null, |(told, _)| told);
            machine.reply(id, Reply::Error(TransportError::from_value(&told)))
        })
    }

    /// The call has not ended at its deadline.
    #[napi(catch_unwind)]
    pub fn deadline_async(&self, id: i64, is_sending: bool) -> Stepping {
        self.feed(id, is_sending, |machine, id| machine.deadline(id))
    }

    /// The caller has given the call up.
    #[napi(catch_unwind)]
    pub fn abort_async(&self, id: i64, is_sending: bool) -> Stepping {
        self.feed(id, is_sending, |machine, id| machine.abort(id))
    }

    /// The transport is about to send.
    #[napi(catch_unwind)]
    pub fn sending_async(&self, id: i64, wait: &NativeWait) -> Promised<bool> {
        let course = self.course();
        promise(wait, Patience::Unlimited, move || {
            course.with_machine(|machine| machine.sending(number(id)))?;
            Ok(true)
        })
    }

    /// Fires the caller's token. The outstanding call is ended by `abort_async`.
    #[napi(catch_unwind)]
    pub fn give_up(&self) {
        self.course().abort.abort();
    }

    /// Drops the machine after the step that is being taken: as a crash there.
    #[napi(catch_unwind)]
    pub fn drop_async(&self, wait: &NativeWait) -> Promised<bool> {
        let course = self.course();
        promise(wait, Patience::Unlimited, move || {
            let dropped = std::mem::replace(&mut *course.stage(), Stage::Dropped);
            Ok(!matches!(dropped, Stage::Dropped))
        })
    }
}

impl Course {
    fn new(boundary: &Arc<Slot<Boundary>>, method: String, input: String) -> Self {
        let (boundary, abort) = (Arc::clone(boundary), AbortToken::new());
        let stage = Mutex::new(Stage::New(input));
        Course { boundary, method, abort, stage, wait: Mutex::new(None) }
    }

    /// The wait of a start: a new one, or `again` the one that has begun.
    fn waited(&self, again: bool, begin: impl FnOnce() -> Wait) -> Arc<Wait> {
        let mut wait = self.wait.lock().unwrap_or_else(PoisonError::into_inner);
        if !again {
            *wait = None;
        }
        Arc::clone(wait.get_or_insert_with(|| Arc::new(begin())))
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<Told> {
        let mut stage = self.stage();
        let Stage::New(input) = &*stage else { return Err(not_outstanding()) };
        let boundary = self.boundary.get()?;
        let called = object("input", input)
            .and_then(|input| publication::call(&boundary, &self.method, input, self.abort.clone()));
        let (next, step) = match called {
            Ok(Called::Answer(answer)) => (Stage::Answered, Step::Done(Ok(answer))),
            Ok(Called::Machine(mut machine)) => {
                let step = machine.start();
                if matches!(&step, Step::Done(Err(error)) if self.is_cut(error)) {
                    return Err(Error::new(Code::Cancelled, "the try is over"));
                }
                (Stage::Machine(machine), step)
            }
            Err(error) => (Stage::Answered, Step::Done(Err(error))),
        };
        *stage = next;
        Ok(Told::of(&self.method, step))
    }

    /// Whether the wait for a lock has ended with this try, by its slice or because it was given up. Nothing was written then.
    fn is_cut(&self, error: &Error) -> bool {
        let is_given_up = || {
            self.wait
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .as_ref()
                .is_some_and(|wait| wait.is_aborted())
        };
        error.code() == Code::ExecutionBusy
            && error.reason() == Some("aborted")
            && (!self.abort.is_aborted() || is_given_up())
    }

    fn with_machine<T>(&self, action: impl FnOnce(&mut Machine) -> Result<T>) -> Result<T> {
        match &mut *self.stage() {
            Stage::Machine(machine) => action(machine),
            Stage::New(_) | Stage::Answered => Err(not_outstanding()),
            Stage::Dropped => Err(closed("Machine")),
        }
    }
}

/// An id that is none is that of no call.
fn number(id: i64) -> u64 {
    u64::try_from(id).unwrap_or_default()
}

fn not_outstanding() -> Error {
    Error::new(Code::ExecutionInput, "no such call is outstanding").with_reason("reply")
}
