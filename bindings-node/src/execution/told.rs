//! A step of a machine as a task of libuv's pool, and what it has come to in as few values as can be: every member of an
//! object that is made here is a call into the engine, and an event loop with many runs pays for each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::execution::{Call, Nanos, Round, Step};
use gallivant_core::json::Value;
use napi::bindgen_prelude::{AsyncTask, BigInt, JsObjectValue, Object, ToNapiValue, TypeName};
use napi::{Env, Task, ValueType, sys};
use napi_derive::napi;

use crate::answer::Answer;
use crate::error::ErrorParts;
use crate::job::{Job, answered};
use crate::waiting::{Patience, Wait};

/// A promise of what a step has come to.
pub(super) type Stepping = AsyncTask<StepJob>;

/// A step for a worker.
pub struct StepJob(Job<Told>);

/// Takes a step on the pool. It waits for nothing.
pub(super) fn step(work: impl FnOnce() -> Result<Told> + Send + 'static) -> Stepping {
    AsyncTask::new(StepJob(Job::at_once(work)))
}

/// Takes a step on the pool as one try of the call `wait`.
pub(super) fn step_of_wait(
    wait: Arc<Wait>,
    patience: Patience,
    work: impl FnOnce() -> Result<Told> + Send + 'static,
) -> Stepping {
    AsyncTask::new(StepJob(Job::new(wait, patience, work)))
}

impl Task for StepJob {
    type Output = Answer<Told>;
    type JsValue = Stepped;

    fn compute(&mut self) -> napi::Result<Answer<Told>> {
        Ok(answered(catch_unwind(AssertUnwindSafe(|| self.0.attempt()))))
    }

    fn resolve(&mut self, _env: Env, answer: Answer<Told>) -> napi::Result<Stepped> {
        Ok(Stepped(answer))
    }
}

/// What a step has come to. Made on the worker, texts and all.
#[derive(Debug)]
pub enum Told {
    /// The host is to do something.
    Call(CallParts),
    /// The call has returned.
    Done {
        /// The outcome, as JSON text.
        outcome: String,
        /// Its amounts of money.
        amounts: Vec<AmountParts>,
        /// Whether an integer may stand in it that no number of JavaScript holds.
        has_long_digits: bool,
    },
    /// The call has failed.
    Failed(ErrorParts),
}

/// What the host is to do.
#[derive(Debug)]
pub struct CallParts {
    /// By which its end is fed back.
    id: i64,
    /// When it counts as failed, in milliseconds since 1970.
    deadline_at: i64,
    /// Whom it is for.
    port: &'static str,
    /// Which method.
    method: &'static str,
    /// The method's input, as JSON text.
    input: String,
    /// Whether an integer may stand in it that no number of JavaScript holds.
    has_long_digits: bool,
}

/// An amount of an outcome.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct AmountParts {
    /// The member that holds it, where that is not the outcome itself.
    pub within: Option<&'static str>,
    /// Its name.
    pub name: &'static str,
    /// It, in nano-dollars; none where it is not known.
    pub nanos: Option<BigInt>,
}

impl Told {
    /// What a step of a call of this method has come to.
    pub(super) fn of(method: &str, step: Step) -> Self {
        match step {
            Step::Call(call) => Told::Call(call.into()),
            Step::Done(Ok(outcome)) => {
                let (amounts, outcome) = (amounts(method, &outcome), outcome.to_json());
                Told::Done { amounts, has_long_digits: has_long_digits(&outcome), outcome }
            }
            Step::Done(Err(error)) => Told::Failed((&error).into()),
        }
    }
}

impl From<Call> for CallParts {
    fn from(call: Call) -> Self {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let input = Value::Object(call.input).to_json();
        CallParts {
            id: whole(call.id),
            deadline_at: whole(call.deadline_at),
            port: call.port.word(),
            method: call.method,
            has_long_digits: has_long_digits(&input),
            input,
        }
    }
}

/// Whether so many digits follow each other as an integer has at least that no number of JavaScript holds. Where they do not,
/// the engine's own parser takes the text.
fn has_long_digits(text: &str) -> bool {
    const LONG: u32 = 16;
    let mut row = 0;
    text.bytes().any(|byte| {
        row = if byte.is_ascii_digit() { row + 1 } else { 0 };
        row == LONG
    })
}

/// How a step's end goes over to JavaScript: an array of a call's id, deadline, port, method and input, and whether the input has
/// long digits; a text, which is an outcome without amounts and long digits; an object of `done` and `amounts`; or one of one
/// member, which is `failed` or what an [`Answer`] has besides its value.
#[derive(Debug)]
pub struct Stepped(Answer<Told>);

impl TypeName for Stepped {
    fn type_name() -> &'static str {
        "Stepped"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ToNapiValue for Stepped {
    unsafe fn to_napi_value(env: sys::napi_env, stepped: Self) -> napi::Result<sys::napi_value> {
        let here = Env::from_raw(env);
        let told = match stepped.0 {
            Answer::Value(told) => told,
            // SAFETY: `env` is the environment that this call was made with, on its own thread.
            Answer::Error(error) => unsafe {
                return Answer::<()>::to_napi_value(env, Answer::Error(error));
            },
            // SAFETY: as above.
            Answer::Again { pause_ms } => unsafe {
                return Answer::<()>::to_napi_value(env, Answer::Again { pause_ms });
            },
            // SAFETY: as above.
            Answer::Aborted => unsafe { return Answer::<()>::to_napi_value(env, Answer::Aborted) },
        };
        let mut object = match told {
            Told::Call(call) => {
                let mut array = here.create_array(6)?;
                array.set(0, call.id)?;
                array.set(1, call.deadline_at)?;
                array.set(2, call.port)?;
                array.set(3, call.method)?;
                array.set(4, call.input)?;
                array.set(5, call.has_long_digits)?;
                // SAFETY: as above, and the array was made in it just now.
                return unsafe { ToNapiValue::to_napi_value(env, array) };
            }
            // SAFETY: as above.
            Told::Done { outcome, amounts, has_long_digits: false } if amounts.is_empty() => unsafe {
                return String::to_napi_value(env, outcome);
            },
            _ => Object::new(&here)?,
        };
        match told {
            Told::Done { outcome, amounts, .. } => {
                object.set_named_property("done", outcome)?;
                object.set_named_property("amounts", amounts)?;
            }
            Told::Failed(error) => object.set_named_property("failed", error)?,
            Told::Call(_) => {}
        }
        // SAFETY: as above, and the object was made in it just now.
        unsafe { Object::to_napi_value(env, object) }
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
