//! What every native call answers: an object with exactly one member, which says what came of it.
//!
//! `{ value }`, `{ error }`, and from a call that waits for a lock also `{ againMs }` (call again after a pause of so
//! many milliseconds) and `{ aborted: true }` (the caller's signal ended it, and nothing was written).

use gallivant_core::{Error, Result};
use napi::bindgen_prelude::{JsObjectValue, Object, ToNapiValue, TypeName};
use napi::{Env, ValueType, sys};

use crate::barrier;
use crate::error::ErrorParts;

/// The outcome of a call.
#[derive(Debug)]
pub enum Answer<T> {
    /// It has succeeded.
    Value(T),
    /// It has failed.
    Error(ErrorParts),
    /// A lock is held by somebody else; nothing was written.
    Again {
        /// How long to pause before the next call, in milliseconds.
        pause_ms: u32,
    },
    /// The caller's signal ended it; nothing was written.
    Aborted,
}

impl<T> Answer<T> {
    /// Runs `action` behind the barrier.
    pub(crate) fn of(action: impl FnOnce() -> Result<T>) -> Self {
        match barrier::run(action) {
            Ok(value) => Answer::Value(value),
            Err(error) => Answer::failed(&error),
        }
    }

    pub(crate) fn failed(error: &Error) -> Self {
        Answer::Error(error.into())
    }
}

impl<T> TypeName for Answer<T> {
    fn type_name() -> &'static str {
        "Answer"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl<T: ToNapiValue> ToNapiValue for Answer<T> {
    unsafe fn to_napi_value(env: sys::napi_env, answer: Self) -> napi::Result<sys::napi_value> {
        let mut object = Object::new(&Env::from_raw(env))?;
        match answer {
            Answer::Value(value) => object.set_named_property("value", value)?,
            Answer::Error(error) => object.set_named_property("error", error)?,
            Answer::Again { pause_ms } => object.set_named_property("againMs", pause_ms)?,
            Answer::Aborted => object.set_named_property("aborted", true)?,
        }
        // SAFETY: `env` is the environment that this call was made with, on its own thread, and the object was made
        // in it just now.
        unsafe { Object::to_napi_value(env, object) }
    }
}
