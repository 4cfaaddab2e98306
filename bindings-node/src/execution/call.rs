//! One call of a boundary: a machine that JavaScript steps, each step a task of libuv's pool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gallivant_core::execution::{
    AbortToken, Boundary, Call, Called, Machine, Nanos, Reply, Round, Step, TransportError,
};
use gallivant_core::json::Value;
use gallivant_core::{Code, Error, Result, publication};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::boundary::object;
use crate::error::{ErrorParts, closed};
use crate::job::{Promised, promise};
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience};

/// What a step has come to: one of `call`, `done` and `failed`.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct StepParts {
    /// What the host is to do.
    pub call: Option<CallParts>,
    /// The outcome of the call, as JSON text.
    pub done: Option<String>,
    /// The outcome's amounts of money.
    pub amounts: Vec<AmountParts>,
    /// The error of the call.
    pub failed: Option<ErrorParts>,
}

/// What the host is to do.
#[napi(object, object_from_js = false)]
pub struct CallParts {
    /// By which its end is fed back.
    pub id: i64,
    /// Whom it is for.
    pub port: &'static str,
    /// Which method.
    pub method: &'static str,
    /// The method's input, as JSON text.
    pub input: String,
    /// When it counts as failed, in milliseconds since 1970.
    pub deadline_at: i64,
}

/// An amount of an outcome.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct AmountParts {
    /// The member that holds it, where that is not the outcome itself.
    pub within: Option<&'static str>,
    /// Its name.
    pub name: &'static str,
    /// It, in nano-dollars; none where it is not known.
    pub nanos: Option<BigInt>,
}

/// A call that is to be started, runs, or has ended.
#[napi]
pub struct NativeCall {
    course: Arc<Course>,
}

struct Course {
    /// Not the boundary itself: a machine goes with its boundary, and keeps none alive.
    boundary: Arc<Slot<Boundary>>,
    method: String,
    input: String,
    abort: AbortToken,
    stage: Mutex<Stage>,
}

enum Stage {
    New,
    /// One that has ended is kept: it judges what is fed to it later.
    Machine(Box<Machine>),
    /// It was a read.
    Answered,
    Dropped,
}

impl NativeCall {
    pub(super) fn new(boundary: &Arc<Slot<Boundary>>, method: String, input: String) -> Self {
        let (boundary, abort) = (Arc::clone(boundary), AbortToken::new());
        let course = Course { boundary, method, input, abort, stage: Mutex::new(Stage::New) };
        NativeCall { course: Arc::new(course) }
    }

    fn feed(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&mut Machine) -> Result<Step> + Send + 'static,
    ) -> Promised<StepParts> {
        let course = Arc::clone(&self.course);
        promise(wait, Patience::Unlimited, move || {
            let step = course.with_machine(action)?;
            Ok(course.parts(step))
        })
    }
}

#[napi]
impl NativeCall {
    /// One try of starting. Where another holder has the task's lock it is made again.
    #[napi(catch_unwind)]
    pub fn start_async(&self, wait: &NativeWait) -> Promised<StepParts> {
        let course = Arc::clone(&self.course);
        promise(wait, Patience::SlicesSinceBegin, move || course.start())
    }

    /// The method returned this JSON text.
    #[napi(catch_unwind)]
    pub fn reply_async(&self, id: i64, text: String, wait: &NativeWait) -> Promised<StepParts> {
        self.feed(wait, move |machine| machine.reply(number(id), Reply::Value(text)))
    }

    /// The method failed with what this JSON text tells.
    #[napi(catch_unwind)]
    pub fn fail_async(&self, id: i64, error: String, wait: &NativeWait) -> Promised<StepParts> {
        self.feed(wait, move |machine| {
            // A message may hold half a character.
            let told = Value::parse_replacing(&error).map_or(Value::Null, |(told, _)| told);
            machine.reply(number(id), Reply::Error(TransportError::from_value(&told)))
        })
    }

    /// The call has not ended at its deadline.
    #[napi(catch_unwind)]
    pub fn deadline_async(&self, id: i64, wait: &NativeWait) -> Promised<StepParts> {
        self.feed(wait, move |machine| machine.deadline(number(id)))
    }

    /// The caller has given the call up.
    #[napi(catch_unwind)]
    pub fn abort_async(&self, id: i64, wait: &NativeWait) -> Promised<StepParts> {
        self.feed(wait, move |machine| machine.abort(number(id)))
    }

    /// The transport is about to send.
    #[napi(catch_unwind)]
    pub fn sending_async(&self, id: i64, wait: &NativeWait) -> Promised<bool> {
        let course = Arc::clone(&self.course);
        promise(wait, Patience::Unlimited, move || {
            course.with_machine(|machine| machine.sending(number(id)))?;
            Ok(true)
        })
    }

    /// Fires the caller's token. The outstanding call is ended by `abort_async`.
    #[napi(catch_unwind)]
    pub fn give_up(&self) {
        self.course.abort.abort();
    }

    /// Drops the machine after the step that is being taken: as a crash there.
    #[napi(catch_unwind)]
    pub fn drop_async(&self, wait: &NativeWait) -> Promised<bool> {
        let course = Arc::clone(&self.course);
        promise(wait, Patience::Unlimited, move || {
            let dropped = std::mem::replace(&mut *course.stage(), Stage::Dropped);
            Ok(!matches!(dropped, Stage::Dropped))
        })
    }
}

impl Course {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<StepParts> {
        let mut stage = self.stage();
        if !matches!(*stage, Stage::New) {
            return Err(not_outstanding());
        }
        let boundary = self.boundary.get()?;
        let called = object("input", &self.input)
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
        Ok(self.parts(step))
    }

    /// Whether the wait for a lock has ended with this try, and not by the caller or by its length. Nothing was written then.
    fn is_cut(&self, error: &Error) -> bool {
        error.code() == Code::ExecutionBusy && error.reason() == Some("aborted") && !self.abort.is_aborted()
    }

    fn with_machine<T>(&self, action: impl FnOnce(&mut Machine) -> Result<T>) -> Result<T> {
        match &mut *self.stage() {
            Stage::Machine(machine) => action(machine),
            Stage::New | Stage::Answered => Err(not_outstanding()),
            Stage::Dropped => Err(closed("Machine")),
        }
    }

    fn parts(&self, step: Step) -> StepParts {
        let none = StepParts { call: None, done: None, amounts: Vec::new(), failed: None };
        match step {
            Step::Call(call) => StepParts { call: Some(call.into()), ..none },
            Step::Done(Ok(outcome)) => {
                let amounts = amounts(&self.method, &outcome);
                StepParts { done: Some(outcome.to_json()), amounts, ..none }
            }
            Step::Done(Err(error)) => StepParts { failed: Some((&error).into()), ..none },
        }
    }
}

impl From<Call> for CallParts {
    fn from(call: Call) -> Self {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        CallParts {
            id: whole(call.id),
            port: call.port.word(),
            method: call.method,
            input: Value::Object(call.input).to_json(),
            deadline_at: whole(call.deadline_at),
        }
    }
}

/// Where the outcome of a method holds amounts.
const OF_RUN: &[(Option<&str>, &str)] = &[(Some("execution"), "costUsd")];
const OF_PROJECTION: &[(Option<&str>, &str)] = &[(None, "costUsd"), OF_RUN[0]];
const OF_OUTCOME: &[(Option<&str>, &str)] = &[(None, "cost")];

fn amounts(method: &str, outcome: &Value) -> Vec<AmountParts> {
    let places = match method {
        "submit" | "continue" | "recoverResponse" | "adopt" | "settleAbsent" => OF_RUN,
        "inspect" | "collect" => OF_PROJECTION,
        "outcome" => OF_OUTCOME,
        _ => &[],
    };
    let amount = |&(within, name): &(Option<&'static str>, &'static str)| {
        let holder = within.map_or(Some(outcome), |within| outcome.get(within))?;
        let nanos = Nanos::from_value(holder.get(name)?, Round::Up);
        Some(AmountParts { within, name, nanos: nanos.map(|nanos| nanos.nanos().into()) })
    };
    places.iter().filter_map(amount).collect()
}

/// An id that is none is that of no call.
fn number(id: i64) -> u64 {
    u64::try_from(id).unwrap_or_default()
}

fn not_outstanding() -> Error {
    Error::new(Code::ExecutionInput, "no such call is outstanding").with_reason("reply")
}
