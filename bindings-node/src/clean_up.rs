//! Threads end with the environment that they work for.
//!
//! A thread that outlived its environment would ring a bell that is gone. Whoever begins one registers its end here,
//! and takes that back once the thread is joined.

use std::ffi::c_void;
use std::sync::Arc;

use gallivant_core::{Code, Error, Result};
use napi::{Env, sys};

use crate::barrier;

/// A thread that can be told to end and be waited for.
pub(crate) trait Thread: Send + Sync + 'static {
    /// Tells it to end, unless it has ended, and joins it.
    fn end(&self);
}

/// Ends a thread when the environment ends. The newest hook runs first, and the thread's bell was made before this one,
/// so that the thread is gone before what it rings is.
#[derive(Debug)]
pub(crate) struct CleanUp<T: Thread> {
    env: sys::napi_env,
    thread: *mut Arc<T>,
}

impl<T: Thread> CleanUp<T> {
    /// Registers the end of a thread with the environment of the present call.
    ///
    /// # Errors
    /// `GALLIVANT_INTERNAL` where the environment takes no hook.
    pub(crate) fn register(env: &Env, thread: &Arc<T>) -> Result<Self> {
        let (env, thread) = (env.raw(), Box::into_raw(Box::new(Arc::clone(thread))));
        // SAFETY: the environment is the one that the present call was made with, on its own thread; the pointer is
        // given up by whoever runs or removes the hook, which is one of the two.
        let status = unsafe { sys::napi_add_env_cleanup_hook(env, Some(clean_up::<T>), thread.cast()) };
        if status != sys::Status::napi_ok {
            // SAFETY: no hook was added that could own the pointer.
            drop(unsafe { Box::from_raw(thread) });
            return Err(Error::new(Code::Internal, "no clean-up hook can be added"));
        }
        Ok(CleanUp { env, thread })
    }

    /// For a thread that is joined already. To be called by a call of JavaScript's.
    pub(crate) fn remove(self) {
        // SAFETY: it was added with this very function and pointer in this environment, which has not run it, because
        // it calls JavaScript still; then nothing but this owns the pointer any more.
        unsafe {
            sys::napi_remove_env_cleanup_hook(self.env, Some(clean_up::<T>), self.thread.cast());
            drop(Box::from_raw(self.thread));
        }
    }
}

unsafe extern "C" fn clean_up<T: Thread>(thread: *mut c_void) {
    // SAFETY: the hook is called at most once, with the pointer that `register` made for this type, and was not removed.
    let thread = unsafe { Box::from_raw(thread.cast::<Arc<T>>()) };
    let _ = barrier::run(|| {
        thread.end();
        Ok(())
    });
}
