//! Threads end with the environment that they work for.
//!
//! A thread that outlived its environment would ring a bell that is gone. Whoever begins one registers its end here,
//! and takes that back once the thread is joined.

use std::ffi::c_void;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use gallivant_core::{Code, Error, Result};
use napi::{Env, sys};

use crate::barrier;

/// A thread that can be told to end and be waited for.
pub(crate) trait Thread: Send + Sync + 'static {
    /// Tells it to end, unless it has ended, and joins it.
    fn end(&self);
}

/// The handle of such a thread, which is joined once, by whoever comes first.
#[derive(Debug, Default)]
pub(crate) struct Joined(Mutex<Option<JoinHandle<()>>>);

impl Joined {
    /// Begins a thread of this name. Whatever it does is behind the barrier: it ends without a panic.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn begin(&self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        *self.handle() = Some(thread);
        Ok(())
    }

    /// Whether a thread was begun that is not joined.
    pub(crate) fn is_there(&self) -> bool {
        self.handle().is_some()
    }

    /// Waits for the thread's end. It is for those who have told it to end, or were told that it is over.
    pub(crate) fn join(&self) {
        let thread = self.handle().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn handle(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
