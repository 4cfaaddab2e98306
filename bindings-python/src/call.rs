//! Leaving the interpreter for a call of the core, and coming back.
//!
//! Every call of the core runs without the interpreter's lock, and takes no mutex before it has let go of that
//! lock: a thread that held a mutex and waited for the interpreter, and another that held the interpreter and waited
//! for the mutex, would wait for ever.
//!
//! While the core waits for a lock it asks after each pause whether it is to go on. A signal handler that raises
//! (Ctrl-C) and a [`Cancel`] both end the wait. What is asked is kept for each thread, because a call of the core runs
//! on the thread that made it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gallivant_core::clock::{Clock, ClockReading, SystemClock};
use gallivant_core::harness_state::WatchWaker;
use gallivant_core::journal::ReplayWaker;
use gallivant_core::{Code, Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error;

/// How often a waiting thread asks the interpreter for signals: often enough for a person, and too seldom for a
/// short wait to queue for the interpreter's lock at all.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(10);

thread_local! {
    /// What Python raised inside the running call, to be raised when it returns.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// The flags under which this thread runs, innermost last.
    static CANCELS: RefCell<Vec<Arc<Flag>>> = const { RefCell::new(Vec::new()) };
    /// Whether this thread ends something that is to end whatever becomes of the program.
    static UNDISTURBED: Cell<bool> = const { Cell::new(false) };
    static SIGNALS_ASKED_AT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Where the last panic of this thread was, and what it said.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a call of the core without the interpreter.
///
/// # Errors
/// The core's own error as an exception; what a signal handler or a probe raised during the call, whatever the call
/// came to; `GALLIVANT_CANCELLED` where this thread's [`Cancel`] was set before the call began; `GALLIVANT_INTERNAL`
/// for a panic.
pub(crate) fn fallible<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    refuse_cancelled(py)?;
    last(py, work)
}

/// # Errors
/// `GALLIVANT_CANCELLED` where this thread's [`Cancel`] was set.
pub(crate) fn refuse_cancelled(py: Python<'_>) -> PyResult<()> {
    if is_set() {
        let message = "the call was cancelled before it began";
        return Err(error::raise(py, &Error::new(Code::Cancelled, message)));
    }
    Ok(())
}

/// As [`fallible`], for what a block does at its end: one that was cancelled tries it too, and only its wait is ended.
///
/// # Errors
/// As [`fallible`], but for the cancellation before it began.
pub(crate) fn last<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    infallible(py, work)?.map_err(|error| error::raise(py, &error))
}

/// As [`last`], for what has no error of its own: looking, which writes nothing and waits for nobody.
///
/// # Errors
/// What a signal handler or a probe raised during the call; `GALLIVANT_INTERNAL` for a panic.
pub(crate) fn infallible<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // A probe or a signal handler may call the core again, on this very thread: what the outer call has to raise is
    // put aside.
    let outer = RAISED.take();
    let worked = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let raised = RAISED.replace(outer);
    match (raised, worked) {
        (Some(raised), worked) => {
            // What came of it may be a reservation, whose end writes.
            py.detach(|| undisturbed(|| drop(worked)));
            Err(raised)
        }
        (None, Ok(worked)) => Ok(worked),
        (None, Err(panic)) => Err(error::raise(py, &internal(&*panic))),
    }
}

/// Runs what ends something, whose waits neither a signal nor a [`Cancel`] ends: it is to end, and it bounds its own
/// waits. A signal that arrives meanwhile stays pending.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let outer = UNDISTURBED.replace(true);
    let worked = catch_unwind(AssertUnwindSafe(work));
    UNDISTURBED.set(outer);
    worked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A value of the core whose end may write, sync or wait. It is let go of without the interpreter, undisturbed.
#[derive(Debug)]
pub(crate) struct Detached<T: Send>(Option<T>);

impl<T: Send> Detached<T> {
    pub(crate) fn new(value: T) -> Self {
        Detached(Some(value))
    }
}

impl<T: Send> std::ops::Deref for Detached<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("a value that is there until it is dropped")
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        let_go(value);
    }
}

/// Drops a value as [`Detached`] does. A panic stays inside: nobody is there to be told.
pub(crate) fn let_go<T: Send>(value: T) {
    let mut value = Some(value);
    let mut end = || catch_unwind(AssertUnwindSafe(|| undisturbed(|| drop(value.take())))).is_ok();
    // None from an interpreter that is being shut down, which then runs nothing else.
    if Python::try_attach(|py| py.detach(&mut end)).is_none() {
        end();
    }
}

/// Has this raised when the running call returns. Ends its waits.
pub(crate) fn raise_afterwards(raised: PyErr) {
    RAISED.with_borrow_mut(|first| {
        first.get_or_insert(raised);
    });
}

/// A panic is reported by the exception that it becomes, and never on a stream: the library writes on none. The hook
/// is that of this library's own copy of the runtime; no other Rust code of the process is affected.
pub(crate) fn keep_panics_silent() {
    std::panic::set_hook(Box::new(|panic| {
        let _ = PANIC.try_with(|last| last.replace(Some(panic.to_string().replace('\n', " "))));
    }));
}

fn internal(panic: &(dyn Any + Send)) -> Error {
    let said = || panic.downcast_ref::<&str>().map_or("a panic", |said| *said).to_owned();
    let what = PANIC.take().unwrap_or_else(said);
    Error::new(Code::Internal, format!("a bug was caught at the boundary, panic=`{what}`"))
}

/// Whether a [`Cancel`] under which this thread runs was set.
pub(crate) fn is_set() -> bool {
    CANCELS.with_borrow(|cancels| cancels.iter().any(|cancel| cancel.is_set()))
}

/// Whether a `Cancel` under which this thread runs was set; None where it runs under none.
#[pyfunction]
pub(crate) fn cancel_state() -> Option<bool> {
    CANCELS.with_borrow(|cancels| (!cancels.is_empty()).then(|| cancels.iter().any(|cancel| cancel.is_set())))
}

/// Ends a wait that sleeps on a descriptor.
#[derive(Clone, Debug)]
pub(crate) enum Bell {
    Watch(WatchWaker),
    Replay(ReplayWaker),
}

impl Bell {
    pub(crate) fn ring(&self) {
        match self {
            Bell::Watch(waker) => waker.wake(),
            Bell::Replay(waker) => waker.wake(),
        }
    }
}

/// Has every [`Cancel`] under which this thread runs ring a bell, for as long as the answer lives: a wait that sleeps on a
/// descriptor asks nobody whether it is to go on.
pub(crate) fn ringing(bell: &Bell) -> Ringing {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (id, cancels) = (NEXT.fetch_add(1, Ordering::Relaxed), CANCELS.with_borrow(Vec::clone));
    for cancel in &cancels {
        cancel.bells().insert(id, bell.clone());
    }
    Ringing { id, cancels }
}

/// See [`ringing`].
#[derive(Debug)]
pub(crate) struct Ringing {
    id: u64,
    cancels: Vec<Arc<Flag>>,
}

impl Drop for Ringing {
    fn drop(&mut self) {
        for cancel in &self.cancels {
            cancel.bells().remove(&self.id);
        }
    }
}

/// What a [`Cancel`] sets, and whom it wakes then.
#[derive(Debug, Default)]
pub(crate) struct Flag {
    is_set: AtomicBool,
    bells: Mutex<BTreeMap<u64, Bell>>,
}

impl Flag {
    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.bells().values().for_each(Bell::ring);
    }

    /// Nobody waits for the interpreter while holding this, so that it may be taken without letting go of it.
    fn bells(&self) -> MutexGuard<'_, BTreeMap<u64, Bell>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Another clock, whose pauses let signal handlers run.
#[derive(Debug)]
pub(crate) struct InterruptibleClock(pub(crate) Arc<dyn Clock>);

impl InterruptibleClock {
    /// Only the main thread runs signal handlers; on any other this finds nothing.
    fn ask_for_signals(&self) {
        if UNDISTURBED.get() {
            return;
        }
        // Not the clock behind this one, which a test may move: how often to ask is about this machine.
        let now = SystemClock.awake();
        if now.saturating_sub(SIGNALS_ASKED_AT.get()) < SIGNAL_INTERVAL {
            return;
        }
        SIGNALS_ASKED_AT.set(now);
        // None from an interpreter that is being shut down.
        if let Some(Err(raised)) = Python::try_attach(|py| py.check_signals()) {
            raise_afterwards(raised);
        }
    }
}

impl Clock for InterruptibleClock {
    fn wall_ms(&self) -> u64 {
        self.0.wall_ms()
    }

    fn boot(&self) -> Duration {
        self.0.boot()
    }

    fn awake(&self) -> Duration {
        self.0.awake()
    }

    fn now(&self) -> ClockReading {
        self.0.now()
    }

    fn sleep(&self, length: Duration) {
        self.0.sleep(length);
        self.ask_for_signals();
    }

    /// Asks for signals too: a wait that sleeps on a descriptor does not pause by this clock.
    fn is_cancelled(&self) -> bool {
        if UNDISTURBED.get() {
            return false;
        }
        self.ask_for_signals();
        RAISED.with_borrow(Option::is_some) || is_set() || self.0.is_cancelled()
    }
}

/// Ends waits from another thread.
///
/// `cancel.run(function, ...)` runs a function; once `cancel.set()` was called, from any thread, a call of this
/// library inside it that waits for a lock ends within 0.1 s with `CancelledError` and nothing written, and one that
/// would write is refused in the same way when it begins. So does a watch that waits for a change, and it loses none. A
/// call that is past its wait finishes.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    flag: Arc<Flag>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Cancel::default()
    }

    /// Ends the waits under this flag, now and from now on. Never blocks and cannot be undone.
    fn set(&self) {
        self.flag.set();
    }

    /// Whether it was set.
    #[getter]
    fn is_set(&self) -> bool {
        self.flag.is_set()
    }

    /// Calls `function` with the arguments and answers its result; its waits end when the flag is set.
    #[pyo3(signature = (
        function: "collections.abc.Callable[..., object]", /, *args: "object", **kwargs: "object"
    ) -> "typing.Any")]
    fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        CANCELS.with_borrow_mut(|cancels| cancels.push(Arc::clone(&self.flag)));
        let result = function.call(args, kwargs);
        CANCELS.with_borrow_mut(Vec::pop);
        result
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.Cancel is_set={}>", if self.is_set() { "True" } else { "False" })
    }
}
