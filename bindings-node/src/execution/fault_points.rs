//! Scripted fault points for JavaScript: a crash ends the process, a pause holds the worker until it is told to go on.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gallivant_core::Result;
use gallivant_core::testing::{FaultAction, FaultPoints};
use napi::Env;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

use crate::bell::{Bell, keep_alive};

/// How the process ends at a crash (EX-SEA-13).
const CRASHED: i32 = 86;

/// A call that is held at a point.
#[napi(object, object_from_js = false)]
pub struct PauseParts {
    /// By which it is told to go on.
    pub number: i64,
    /// The point.
    pub point: String,
}

/// The calls that are held.
#[napi]
pub struct NativePauses {
    desk: Arc<Desk>,
}

#[derive(Default)]
struct Desk(Mutex<Pauses>);

#[derive(Default)]
struct Pauses {
    last: i64,
    told: Vec<PauseParts>,
    held: Vec<(i64, Sender<()>)>,
    /// Nobody can tell a call to go on any more.
    is_over: bool,
}

/// A script of fault points. The bell rings for each pause, and keeps no environment alive.
pub(crate) fn script(env: &Env, json: &str, bell: Bell) -> Result<(FaultPoints, NativePauses)> {
    keep_alive(env, &bell, false);
    let desk = Arc::new(Desk::default());
    let holding = Arc::clone(&desk);
    let faults = FaultPoints::parse(json, move |point, action| match action {
        // SAFETY: it ends the process at once and runs nothing of it any more.
        FaultAction::Crash => unsafe { libc::_exit(CRASHED) },
        FaultAction::Pause => holding.hold(point, &bell),
        FaultAction::Fail => {}
    })?;
    Ok((faults, NativePauses { desk }))
}

impl Desk {
    fn pauses(&self) -> MutexGuard<'_, Pauses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is told to go on, or until nobody can tell so any more.
    fn hold(&self, point: &str, bell: &Bell) {
        let (release, released) = channel();
        {
            let mut pauses = self.pauses();
            if pauses.is_over {
                return;
            }
            pauses.last += 1;
            let number = pauses.last;
            pauses.told.push(PauseParts { number, point: point.to_owned() });
            pauses.held.push((number, release));
        }
        // It is refused only where the environment is at its end; then nobody listens any more.
        let _ = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
        let _ = released.recv();
    }
}

#[napi]
impl NativePauses {
    /// The pauses that were not taken yet.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<PauseParts> {
        std::mem::take(&mut self.desk.pauses().told)
    }

    /// Lets a call go on. Answers whether it was held.
    #[napi(catch_unwind)]
    pub fn release(&self, number: i64) -> bool {
        let mut pauses = self.desk.pauses();
        let Some(at) = pauses.held.iter().position(|(held, _)| *held == number) else { return false };
        let (_, release) = pauses.held.swap_remove(at);
        release.send(()).is_ok()
    }
}

/// Whoever is still held goes on.
impl Drop for NativePauses {
    fn drop(&mut self) {
        let mut pauses = self.desk.pauses();
        pauses.is_over = true;
        pauses.held.clear();
    }
}
