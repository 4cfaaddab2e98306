//! The thread that waits for all replays of an environment: there is one while a replay is open that has waited, however
//! many are, and none otherwise.
//!
//! It reads no file and calls no JavaScript. It sleeps on the replays' descriptors, each of which wakes it once, and rings;
//! JavaScript takes the numbers of those whose descriptor was readable, and lets each of them look on the pool.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gallivant_core::{Code, Error, Result};
use napi::Env;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::replay::NativeReplay;
use crate::answer::Answer;
use crate::barrier;
use crate::bell::{Bell, keep_alive};
use crate::clean_up::{CleanUp, Joined, Thread};
use crate::error::closed;

/// The number of the counter that ends the thread. Replays have smaller ones.
const CLOSING: u64 = u64::MAX;
/// How many descriptors are told at a time. The others are told next.
const MOST_TOLD: usize = 64;

/// A thread that waits. It ends by `close`, and is gone after `join`; the end of the environment does both.
#[napi]
pub struct NativeLookout {
    /// None once it was joined: its descriptors go then, and not when the object is collected.
    lookout: RefCell<Option<Arc<Lookout>>>,
    bell: RefCell<Option<Arc<Bell>>>,
    clean_up: Cell<Option<CleanUp<Lookout>>>,
}

#[napi]
impl NativeLookout {
    /// Begins to wait. The bell rings when a replay should look, and when the thread is over.
    #[napi(catch_unwind)]
    pub fn begin(env: Env, ring: Bell) -> Answer<NativeLookout> {
        Answer::of(|| {
            let bell = Arc::new(ring);
            let ringing = Arc::clone(&bell);
            let ring = move || {
                // It is refused only where the environment is at its end; then nobody listens any more.
                let _ = ringing.call((), ThreadsafeFunctionCallMode::NonBlocking);
            };
            let lookout = Arc::new(Lookout::begin(ring)?);
            let clean_up = CleanUp::register(&env, &lookout).inspect_err(|_| lookout.close())?;
            let (lookout, bell) = (RefCell::new(Some(lookout)), RefCell::new(Some(bell)));
            Ok(NativeLookout { lookout, bell, clean_up: Cell::new(Some(clean_up)) })
        })
    }

    /// Rings once, with this number, as soon as the replay should look.
    #[napi(catch_unwind)]
    pub fn watch(&self, replay: &NativeReplay, number: u32) -> Answer<bool> {
        Answer::of(|| {
            replay.with(|replay| {
                let Some(descriptor) = replay.descriptor() else { return Ok(false) };
                let lookout = self.lookout()?;
                let epoll = &lookout.desk.epoll;
                let (data, flags) =
                    (EventData::new_u64(u64::from(number)), EventFlags::IN | EventFlags::ONESHOT);
                let watched = match epoll::modify(epoll, descriptor, data, flags) {
                    Err(Errno::NOENT) => epoll::add(epoll, descriptor, data, flags),
                    modified => modified,
                };
                watched.map_err(|error| unavailable(error.into()))?;
                Ok(true)
            })
        })
    }

    /// Forgets a replay that is about to be closed.
    #[napi(catch_unwind)]
    pub fn forget(&self, replay: &NativeReplay) -> Answer<bool> {
        Answer::of(|| {
            replay.with(|replay| {
                let lookout = self.lookout()?;
                let epoll = &lookout.desk.epoll;
                // One that never waited was never watched.
                Ok(replay.descriptor().is_some_and(|descriptor| epoll::delete(epoll, descriptor).is_ok()))
            })
        })
    }

    /// The numbers of the replays that should look.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<u32> {
        self.lookout().map(|lookout| std::mem::take(&mut *lookout.desk.told())).unwrap_or_default()
    }

    /// Whether the thread has come to its end and can be joined.
    #[napi(catch_unwind)]
    pub fn is_over(&self) -> bool {
        self.lookout().map_or(true, |lookout| lookout.desk.is_over.load(Ordering::SeqCst))
    }

    /// Lets it keep the environment's loop alive, or not.
    #[napi(catch_unwind)]
    pub fn keep_alive(&self, env: Env, keeps: bool) {
        if let Some(bell) = &*self.bell.borrow() {
            keep_alive(&env, bell, keeps);
        }
    }

    /// Tells the thread to end; the bell rings when it is over.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        if let Ok(lookout) = self.lookout() {
            lookout.close();
        }
    }

    /// Joins the thread, which is over, and lets go of everything.
    #[napi(catch_unwind)]
    pub fn join(&self) {
        if let Some(lookout) = self.lookout.take() {
            lookout.join();
        }
        self.bell.take();
        if let Some(clean_up) = self.clean_up.take() {
            clean_up.remove();
        }
    }
}

impl NativeLookout {
    fn lookout(&self) -> Result<Arc<Lookout>> {
        self.lookout.borrow().clone().ok_or_else(|| closed("Lookout"))
    }
}

/// JavaScript keeps one that waits, so this is the end of the environment.
impl Drop for NativeLookout {
    fn drop(&mut self) {
        self.close();
    }
}

#[derive(Debug)]
struct Lookout {
    desk: Arc<Desk>,
    thread: Joined,
}

/// What thread and JavaScript have between them.
struct Desk {
    epoll: OwnedFd,
    /// What makes the thread end.
    counter: OwnedFd,
    /// Who should look. While it is not empty the bell has rung, and nobody has come yet.
    told: Mutex<Vec<u32>>,
    is_over: AtomicBool,
    /// May be called by the thread alone.
    ring: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Lookout {
    fn begin(ring: impl Fn() + Send + 'static) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC);
        let counter = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let of_system = |error: Errno| unavailable(error.into());
        let (epoll, counter) = (epoll.map_err(of_system)?, counter.map_err(of_system)?);
        epoll::add(&epoll, counter.as_fd(), EventData::new_u64(CLOSING), EventFlags::IN)
            .map_err(of_system)?;
        let desk = Arc::new(Desk {
            epoll,
            counter,
            told: Mutex::new(Vec::new()),
            is_over: AtomicBool::new(false),
            ring: Mutex::new(Some(Box::new(ring))),
        });
        let waiting = Arc::clone(&desk);
        let thread = Joined::default();
        thread.begin("gallivant-replay", move || waiting.wait()).map_err(unavailable)?;
        Ok(Lookout { desk, thread })
    }

    fn close(&self) {
        // A counter that is full is readable already.
        let _ = rustix::io::write(&self.desk.counter, &1_u64.to_ne_bytes());
    }

    fn join(&self) {
        self.thread.join();
    }
}

impl Thread for Lookout {
    fn end(&self) {
        self.close();
        self.join();
    }
}

impl Desk {
    fn told(&self) -> MutexGuard<'_, Vec<u32>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn wait(&self) {
        let _ = barrier::run(|| {
            let mut events = Vec::<epoll::Event>::with_capacity(MOST_TOLD);
            loop {
                match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(unavailable(error.into())),
                }
                let numbers = events.drain(..).map(|event| event.data.u64());
                let (mut is_closing, mut told) = (false, self.told());
                let is_first = told.is_empty();
                told.extend(numbers.filter_map(|number| {
                    is_closing |= number == CLOSING;
                    u32::try_from(number).ok()
                }));
                let rings = is_first && !told.is_empty();
                drop(told);
                if is_closing {
                    return Ok(());
                }
                if rings && let Some(ring) = &*self.ring.lock().unwrap_or_else(PoisonError::into_inner) {
                    ring();
                }
            }
        });
        self.is_over.store(true, Ordering::SeqCst);
        // Said in any case, because it is the last.
        if let Some(ring) = self.ring.lock().unwrap_or_else(PoisonError::into_inner).take() {
            ring();
        }
    }
}

fn unavailable(error: std::io::Error) -> Error {
    Error::new(Code::ExecutionIo, "a replay cannot wait").with_source(error)
}

impl fmt::Debug for Desk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Desk")
            .field("told", &self.told)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
