//! A watch for JavaScript: an object that rings, and is then asked what there is.
//!
//! The thread calls no JavaScript. It rings: the engine calls the function that was handed over, with nothing, on
//! JavaScript's own thread, and that function takes what was told by an ordinary call.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::Result;
use gallivant_core::harness_state::{Change, Derived, Watch, WatchOptions, WatchProbe};
use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

use super::fleet::{BoundParts, fleet_probe};
use super::follower::{AskedProbe, Desk, Follower, Told};
use super::parts::RecordParts;
use super::reader::{ProbeParts, liveness, own_probe};
use super::sheet::{LeftOutParts, Sheet, SheetParts};
use crate::answer::Answer;
use crate::bell::{Bell, keep_alive};
use crate::clean_up::{CleanUp, Thread};
use crate::error::ErrorParts;
use crate::host::NativeHost;
use crate::options::{OptionParts, options, unsigned};

/// What is watched, and how it is noticed and told; an interval that is left out has the core's default.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct WatchParts {
    /// The agent's directory, the record's own path, or a fleet's root.
    pub path: String,
    /// A probe that needs no JavaScript.
    pub probe: ProbeParts,
    /// Whether the probe is a function: questions are told then, and answered by `answer`.
    pub asks: bool,
    /// Milliseconds.
    pub poll_interval_ms: Option<BigInt>,
    /// Milliseconds.
    pub probe_interval_ms: Option<BigInt>,
    /// Milliseconds.
    pub settle_ms: Option<BigInt>,
}

/// What changed.
#[napi(object, object_from_js = false)]
pub struct ChangeParts {
    /// The seats of which something else is to be concluded.
    pub seats: SheetParts,
    /// What a walk did not look at.
    pub left_out: LeftOutParts,
    /// How changes are noticed.
    pub noticing: &'static str,
}

/// A question to a probe that is a function.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct AskedParts {
    /// The question's number, for the answer.
    pub number: u32,
    /// The record whose session is asked for.
    pub record: RecordParts,
}

/// One thing that was told: exactly one member tells it.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct ToldParts {
    /// A change that was wanted.
    pub change: Option<ChangeParts>,
    /// A question.
    pub asked: Option<AskedParts>,
    /// The watch has come to its end by this.
    pub error: Option<ErrorParts>,
    /// The thread is over and can be joined.
    pub is_over: bool,
}

/// An open watch. It ends by `close`, and is gone after `join`; the end of the environment does both.
#[napi]
pub struct NativeWatch {
    follower: Arc<Follower>,
    bell: RefCell<Option<Arc<Bell>>>,
    clean_up: Cell<Option<CleanUp<Follower>>>,
}

#[napi]
impl NativeWatch {
    /// Watches one agent's record.
    #[napi(catch_unwind)]
    pub fn record(
        env: Env,
        host: &NativeHost,
        parts: WatchParts,
        set: OptionParts,
        ring: Bell,
    ) -> Answer<NativeWatch> {
        Answer::of(|| {
            let (watch, options, host) = (watch_options(&parts)?, options(&set)?, host.host.clone());
            let desk = Arc::new(Desk::default());
            let probe = if parts.asks {
                let budget = options.probe_budget;
                WatchProbe::Own(Arc::new(AskedProbe { desk: Arc::clone(&desk), budget }))
            } else if parts.probe.lease {
                WatchProbe::Lease
            } else {
                own_probe(parts.probe, &host)?.map_or(WatchProbe::None, WatchProbe::Own)
            };
            let open = move || Watch::record(parts.path, probe, &watch, &options, &host);
            NativeWatch::begin(env, desk, ring, open)
        })
    }

    /// Watches every record below a directory.
    #[napi(catch_unwind)]
    pub fn fleet(
        env: Env,
        host: &NativeHost,
        parts: WatchParts,
        bounds: BoundParts,
        set: OptionParts,
        ring: Bell,
    ) -> Answer<NativeWatch> {
        Answer::of(|| {
            let (watch, options, host) = (watch_options(&parts)?, options(&set)?, host.host.clone());
            let probe = fleet_probe(parts.probe.lease);
            let open = move || Watch::fleet(parts.path, &bounds.into(), probe, &watch, &options, &host);
            NativeWatch::begin(env, Arc::new(Desk::default()), ring, open)
        })
    }

    /// Wants one more change.
    #[napi(catch_unwind)]
    pub fn want(&self) {
        self.follower.want();
    }

    /// The next of what was told; null where there is nothing.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Answer<Option<ToldParts>> {
        Answer::of(|| Ok(self.follower.take().map(ToldParts::from)))
    }

    /// What the probe has answered to the question of this number.
    #[napi(catch_unwind)]
    pub fn answer(&self, number: u32, answer: String) -> Answer<bool> {
        Answer::of(|| {
            self.follower.answer(number, liveness(&answer)?);
            Ok(true)
        })
    }

    /// Lets the watch keep the environment's loop alive, or not.
    #[napi(catch_unwind)]
    pub fn keep_alive(&self, env: Env, keeps: bool) {
        if let Some(bell) = &*self.bell.borrow() {
            keep_alive(&env, bell, keeps);
        }
    }

    /// Tells the thread to end; it says when it is over.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.follower.close();
    }

    /// Joins the thread, which has said that it is over, and lets go of everything.
    #[napi(catch_unwind)]
    pub fn join(&self) {
        self.follower.join();
        self.bell.take();
        if let Some(clean_up) = self.clean_up.take() {
            clean_up.remove();
        }
    }
}

impl NativeWatch {
    fn begin(
        env: Env,
        desk: Arc<Desk>,
        bell: Bell,
        open: impl FnOnce() -> Result<Watch> + Send + 'static,
    ) -> Result<Self> {
        let bell = Arc::new(bell);
        let ringing = Arc::clone(&bell);
        let ring = move || {
            // It is refused only where the environment is at its end; then nobody listens any more.
            let _ = ringing.call((), ThreadsafeFunctionCallMode::NonBlocking);
        };
        let follower = Arc::new(Follower::begin(desk, ring, open)?);
        let watch = NativeWatch { follower, bell: RefCell::new(Some(bell)), clean_up: Cell::new(None) };
        watch.clean_up.set(Some(CleanUp::register(&env, &watch.follower)?));
        Ok(watch)
    }
}

impl Thread for Follower {
    fn end(&self) {
        self.close();
        self.join();
    }
}

/// JavaScript keeps an open watch, so this is the end of the environment, or of a watch that could not be registered
/// there.
impl Drop for NativeWatch {
    fn drop(&mut self) {
        self.follower.close();
    }
}

impl From<Told> for ToldParts {
    fn from(told: Told) -> Self {
        let mut parts = ToldParts::default();
        match told {
            Told::Change(change) => parts.change = Some(change.into()),
            Told::Asked { number, record } => {
                parts.asked = Some(AskedParts { number, record: RecordParts::from(&*record) });
            }
            Told::Failed(error) => parts.error = Some(ErrorParts::from(&error)),
            Told::Over => parts.is_over = true,
        }
        parts
    }
}

impl From<Change> for ChangeParts {
    fn from(change: Change) -> Self {
        let mut sheet = Sheet::default();
        for seat in &change.seats {
            sheet.push(&seat.path, seat.derived.as_ref().map(Derived::lend));
        }
        ChangeParts {
            seats: sheet.into(),
            left_out: change.left_out.into(),
            noticing: change.noticing.word(),
        }
    }
}

fn watch_options(parts: &WatchParts) -> Result<WatchOptions> {
    let defaults = WatchOptions::default();
    let length = |name, given: &Option<BigInt>, default| -> Result<Duration> {
        Ok(match given {
            Some(given) => Duration::from_millis(unsigned(name, given)?),
            None => default,
        })
    };
    Ok(WatchOptions {
        poll_interval: length("pollIntervalMs", &parts.poll_interval_ms, defaults.poll_interval)?,
        probe_interval: length("probeIntervalMs", &parts.probe_interval_ms, defaults.probe_interval)?,
        settle: length("settleMs", &parts.settle_ms, defaults.settle)?,
    })
}
