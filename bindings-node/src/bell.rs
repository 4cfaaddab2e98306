//! What a thread rings, so that JavaScript comes and looks.
//!
//! The engine calls the function that was handed over, with nothing, on JavaScript's own thread. A thread calls no
//! JavaScript in any other way.

use napi::bindgen_prelude::Unknown;
use napi::threadsafe_function::ThreadsafeFunction;
use napi::{Env, Status, sys};

/// What rings. While it is referenced it keeps the environment's loop alive.
pub(crate) type Bell = ThreadsafeFunction<(), Unknown<'static>, (), Status, false>;

/// Lets a bell keep the loop of the present call's environment alive, or not.
pub(crate) fn keep_alive(env: &Env, bell: &Bell, keeps: bool) {
    let (env, bell) = (env.raw(), bell.raw());
    // SAFETY: the environment is the one that the present call was made with, on its own thread, and it made the
    // function, which is released only when `bell` is dropped.
    let _ = unsafe {
        match keeps {
            true => sys::napi_ref_threadsafe_function(env, bell),
            false => sys::napi_unref_threadsafe_function(env, bell),
        }
    };
}
