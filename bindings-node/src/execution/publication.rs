//! The ports of a publication that this machine answers, for JavaScript.
//!
//! An answer may take minutes: commands run, a remote is pushed to. Each one has a thread of its own, so that neither JavaScript's
//! thread nor a worker of libuv's pool waits. It can be told to end, and is joined when it is over, at the latest when its
//! environment ends.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gallivant_core::execution::AbortToken;
use gallivant_core::publication::LocalPorts;
use gallivant_core::{Code, Error, Host, Result};
use napi::Env;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

use super::boundary::{NativeExecution, object};
use crate::answer::Answer;
use crate::barrier;
use crate::bell::Bell;
use crate::clean_up::{CleanUp, Joined, Thread};
use crate::waiting::{Patience, Wait};

/// A checkout, this system's sandbox, and a push by the program `git`, for one publication.
#[napi]
pub struct NativePublicationPorts {
    ports: Arc<LocalPorts>,
    host: Host,
    /// Ends the command that runs.
    token: AbortToken,
}

#[napi]
impl NativePublicationPorts {
    /// Makes the ports that the input of `reconcileExecutionResult` describes, with `checkout` and `scratch` in it. Reads nothing
    /// yet.
    #[napi(catch_unwind)]
    pub fn open(boundary: &NativeExecution, input: String) -> Answer<NativePublicationPorts> {
        Answer::of(|| {
            let token = AbortToken::new();
            let input = object("input", &input)?;
            let ports = LocalPorts::from_object(&*boundary.boundary()?, &input, token.clone())?;
            Ok(NativePublicationPorts { ports: Arc::new(ports), host: boundary.host(), token })
        })
    }

    /// Begins to answer a call of a machine. The bell rings once, when the answer is there.
    #[napi(catch_unwind)]
    pub fn begin(
        &self,
        env: Env,
        port: String,
        method: String,
        input: String,
        bell: Bell,
    ) -> Answer<NativeErrand> {
        Answer::of(|| {
            let input = object("input", &input)?;
            let ports = Arc::clone(&self.ports);
            let work = move || {
                let reply = ports.answer(&port, &method, &input);
                let reply = reply.map_err(|failure| Error::new(Code::ExecutionIo, failure.message))?;
                Ok(reply.to_json())
            };
            NativeErrand::begin(&env, &self.host, self.token.clone(), work, bell)
        })
    }
}

/// An answer that is being made. Its bell keeps the environment's loop alive.
#[napi]
pub struct NativeErrand {
    errand: Arc<Errand>,
    bell: RefCell<Option<Arc<Bell>>>,
    clean_up: Cell<Option<CleanUp<Errand>>>,
}

#[napi]
impl NativeErrand {
    /// Tells it to end: programs that run for it are killed. The bell rings all the same.
    #[napi(catch_unwind)]
    pub fn give_up(&self) {
        self.errand.give_up();
    }

    /// Joins the thread, whose bell has rung, and gives the answer as JSON text.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Answer<String> {
        Answer::of(|| {
            self.errand.join();
            self.bell.take();
            if let Some(clean_up) = self.clean_up.take() {
                clean_up.remove();
            }
            let told = self.errand.told().take();
            told.unwrap_or_else(|| Err(Error::new(Code::Internal, "an errand was taken twice")))
        })
    }
}

impl NativeErrand {
    fn begin(
        env: &Env,
        host: &Host,
        token: AbortToken,
        work: impl FnOnce() -> Result<String> + Send + 'static,
        bell: Bell,
    ) -> Result<Self> {
        let bell = Arc::new(bell);
        let ringing = Arc::clone(&bell);
        let ring = move || {
            // It is refused only where the environment is at its end; then nobody listens any more.
            let _ = ringing.call((), ThreadsafeFunctionCallMode::NonBlocking);
        };
        let errand = Errand::begin(host, token, work, ring)?;
        let native = NativeErrand { errand, bell: RefCell::new(Some(bell)), clean_up: Cell::new(None) };
        native.clean_up.set(Some(CleanUp::register(env, &native.errand)?));
        Ok(native)
    }
}

/// JavaScript keeps one that runs, so this is the end of the environment, or of one that could not be registered there.
impl Drop for NativeErrand {
    fn drop(&mut self) {
        self.errand.give_up();
    }
}

/// The thread, and what it has come to.
struct Errand {
    /// By it the core asks, between the steps of a program of Git, whether it is to go on. It has no end of its own.
    wait: Arc<Wait>,
    token: AbortToken,
    told: Mutex<Option<Result<String>>>,
    thread: Joined,
}

impl Errand {
    fn begin(
        host: &Host,
        token: AbortToken,
        work: impl FnOnce() -> Result<String> + Send + 'static,
        ring: impl Fn() + Send + 'static,
    ) -> Result<Arc<Self>> {
        let wait = Arc::new(Wait::begin(&host.clock, Duration::MAX));
        let (told, thread) = (Mutex::new(None), Joined::default());
        let errand = Arc::new(Errand { wait, token, told, thread });
        let running = Arc::clone(&errand);
        let begun = errand.thread.begin("gallivant-publish", move || {
            running.run(work);
            ring();
        });
        begun.map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            let message = format!("no thread can be had for a publication, os_error=`{errno}`");
            Error::new(Code::ExecutionIo, message).with_source(error)
        })?;
        Ok(errand)
    }

    fn run(&self, work: impl FnOnce() -> Result<String>) {
        let result = self.wait.run(Patience::OneTry, || barrier::run(work));
        let given_up = || Err(Error::new(Code::ExecutionIo, "the answer was given up before it was begun"));
        *self.told() = Some(result.unwrap_or_else(given_up));
    }

    fn told(&self) -> MutexGuard<'_, Option<Result<String>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Not once it is joined: the token is that of the whole publication, whose later answers it would end.
    fn give_up(&self) {
        if self.thread.is_there() {
            self.token.abort();
            self.wait.abort();
        }
    }

    fn join(&self) {
        self.thread.join();
    }
}

impl Thread for Errand {
    fn end(&self) {
        self.give_up();
        self.join();
    }
}

impl fmt::Debug for Errand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Errand").field("wait", &self.wait).finish_non_exhaustive()
    }
}
