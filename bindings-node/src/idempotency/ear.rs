//! The thread that hears of creates that end. There is one for each store while somebody waits for a create, however
//! many do, and none otherwise.
//!
//! It calls no JavaScript and looks at no claim. It rings, and JavaScript lets each who waits look.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::idempotency::IdempotencyStore;
use gallivant_core::storage::Waker;
use gallivant_core::{Code, Error, Result};
use napi::Env;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

use crate::barrier;
use crate::bell::Bell;
use crate::clean_up::{CleanUp, Joined, Thread};

/// A thread that listens. Its bell keeps the environment's loop alive, because somebody waits. It ends by `close`, and is gone after `join`; the end of the environment does both.
#[napi]
pub struct NativeEar {
    ear: Arc<Ear>,
    bell: RefCell<Option<Arc<Bell>>>,
    clean_up: Cell<Option<CleanUp<Ear>>>,
}

#[napi]
impl NativeEar {
    /// Answers whether the bell will ring for a create that ends, and lets it ring again. To be asked by the bell's
    /// function before anybody looks.
    #[napi(catch_unwind)]
    pub fn hears(&self) -> bool {
        self.ear.desk.has_rung.store(false, Ordering::SeqCst);
        self.ear.desk.hears.load(Ordering::SeqCst)
    }

    /// Whether the thread has come to its end and can be joined.
    #[napi(catch_unwind)]
    pub fn is_over(&self) -> bool {
        self.ear.desk.is_over.load(Ordering::SeqCst)
    }

    /// Tells the thread to end; the bell rings when it is over.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.ear.close();
    }

    /// Joins the thread, which is over, and lets go of everything.
    #[napi(catch_unwind)]
    pub fn join(&self) {
        self.ear.join();
        self.bell.take();
        if let Some(clean_up) = self.clean_up.take() {
            clean_up.remove();
        }
    }
}

impl NativeEar {
    pub(super) fn begin(env: &Env, store: &IdempotencyStore, bell: Bell) -> Result<Self> {
        let bell = Arc::new(bell);
        let ringing = Arc::clone(&bell);
        let ring = move || {
            // It is refused only where the environment is at its end; then nobody listens any more.
            let _ = ringing.call((), ThreadsafeFunctionCallMode::NonBlocking);
        };
        let ear = Arc::new(Ear::begin(store.clone(), ring)?);
        let native = NativeEar { ear, bell: RefCell::new(Some(bell)), clean_up: Cell::new(None) };
        native.clean_up.set(Some(CleanUp::register(env, &native.ear)?));
        Ok(native)
    }
}

/// JavaScript keeps one that listens, so this is the end of the environment, or of one that could not be registered
/// there.
impl Drop for NativeEar {
    fn drop(&mut self) {
        self.ear.close();
    }
}

#[derive(Debug)]
struct Ear {
    desk: Arc<Desk>,
    thread: Joined,
}

/// What thread and JavaScript have between them.
struct Desk {
    hears: AtomicBool,
    is_over: AtomicBool,
    is_closing: AtomicBool,
    /// Rung, and nobody has come yet: so that rings do not pile up before a busy loop.
    has_rung: AtomicBool,
    waker: Mutex<Option<Waker>>,
    /// May be called by the thread alone.
    ring: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Ear {
    fn begin(store: IdempotencyStore, ring: impl Fn() + Send + 'static) -> Result<Self> {
        let desk = Arc::new(Desk {
            hears: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            has_rung: AtomicBool::new(false),
            waker: Mutex::new(None),
            ring: Mutex::new(Some(Box::new(ring))),
        });
        let listening = Arc::clone(&desk);
        let thread = Joined::default();
        thread.begin("gallivant-creates", move || listening.listen(&store)).map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            let message = format!("no thread can be had to wait for a create, os_error=`{errno}`");
            Error::new(Code::IdempotencyStoreUnavailable, message).with_source(error)
        })?;
        Ok(Ear { desk, thread })
    }

    fn close(&self) {
        self.desk.is_closing.store(true, Ordering::SeqCst);
        if let Some(waker) = &*self.desk.waker() {
            waker.wake();
        }
    }

    fn join(&self) {
        self.thread.join();
    }
}

impl Thread for Ear {
    fn end(&self) {
        self.close();
        self.join();
    }
}

impl Desk {
    fn waker(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread. Where the system does not tell, or no longer, it is over at once, and those who wait look from time
    /// to time.
    fn listen(&self, store: &IdempotencyStore) {
        let _ = barrier::run(|| {
            let Some(mut notifier) = store.borrow_notifier() else { return Ok(()) };
            *self.waker() = Some(notifier.waker());
            self.hears.store(true, Ordering::SeqCst);
            // Whatever has ended until now was not told of.
            self.ring();
            while !self.is_closing.load(Ordering::SeqCst) {
                let mut has_heard = false;
                let heard = notifier.wait(None).and_then(|()| notifier.drain(&mut |_| has_heard = true));
                if heard.is_err() {
                    return Ok(());
                }
                if has_heard {
                    self.ring();
                }
            }
            // Nobody wakes it from here on, so that the next who waits by it is not woken by this.
            *self.waker() = None;
            if notifier.drain(&mut |_| {}).is_ok() {
                notifier.was_woken();
                store.return_notifier(notifier);
            }
            Ok(())
        });
        self.hears.store(false, Ordering::SeqCst);
        *self.waker() = None;
        self.is_over.store(true, Ordering::SeqCst);
        // Said in any case, because it is the last.
        if let Some(ring) = self.ring.lock().unwrap_or_else(PoisonError::into_inner).take() {
            ring();
        }
    }

    fn ring(&self) {
        if self.has_rung.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Some(ring) = &*self.ring.lock().unwrap_or_else(PoisonError::into_inner) {
            ring();
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hears = self.hears.load(Ordering::SeqCst);
        out.debug_struct("Desk").field("hears", &hears).finish_non_exhaustive()
    }
}
