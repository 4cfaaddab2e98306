//! The barrier: no panic leaves the library, and none is printed.
//!
//! Every exported function runs its whole body inside [`call`] or [`answer`], which both go through [`barrier`].
//! A test reads the sources and finds any export that does not.
//!
//! A panic is a bug in the library. Its message is kept for the caller; on stderr it would be read by a harness
//! as the output of its hook, so inside the barrier the panic hook keeps silent. The hook that was installed
//! before goes on serving every panic outside.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use gallivant_core::{Code, Error, Result};

use crate::error::gallivant_error;
use crate::status::GALLIVANT_OK;

thread_local! {
    /// How many barriers this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the last panic inside a barrier began.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of an export that answers a status. `error` receives the detail of a failure where it is not
/// null; a success leaves it alone.
///
/// # Safety
/// `error` is null or may be written to.
pub(crate) unsafe fn call(error: *mut *mut gallivant_error, body: impl FnOnce() -> Result<()>) -> i32 {
    let Err(failure) = barrier(body).and_then(|result| result) else { return GALLIVANT_OK };
    let status = failure.code().number();
    if !error.is_null() {
        // Making the detail may panic for want of memory, like the body.
        let detail = barrier(|| Box::into_raw(Box::new(gallivant_error::new(&failure))));
        // SAFETY: not null, and the caller's to write by this function's contract.
        unsafe { error.write(detail.unwrap_or(std::ptr::null_mut())) };
    }
    status
}

/// Runs the body of an export that cannot fail. After a panic the answer is `R`'s default: 0, null, none, nothing.
pub(crate) fn answer<R: Answer>(body: impl FnOnce() -> R) -> R {
    barrier(body).unwrap_or_else(|_| R::after_panic())
}

/// Runs a callback of the host: what panics there is the host's own and is printed as the host wants it.
pub(crate) fn outside<R>(callback: impl FnOnce() -> R) -> R {
    let depth = DEPTH.try_with(|depth| depth.replace(0)).unwrap_or(0);
    let result = callback();
    let _ = DEPTH.try_with(|inside| inside.set(depth));
    result
}

/// What an export that cannot fail answers after a panic.
pub(crate) trait Answer {
    /// The answer.
    fn after_panic() -> Self;
}

macro_rules! answers {
    ($($type:ty = $value:expr;)+) => { $(impl Answer for $type { fn after_panic() -> Self { $value } })+ };
}

answers! {
    () = ();
    i32 = 0;
    u32 = 0;
    u64 = 0;
    crate::view::gallivant_str = crate::view::gallivant_str::NONE;
    crate::view::gallivant_bytes = crate::view::gallivant_bytes::NONE;
}

impl<T> Answer for *const T {
    fn after_panic() -> Self {
        std::ptr::null()
    }
}

/// Runs `body` and turns a panic into an error that carries the panic's message and place.
fn barrier<R>(body: impl FnOnce() -> R) -> Result<R> {
    install_hook();
    // Without thread-local memory, at a thread's very end, a panic is still caught; only its place is not known.
    let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
    let caught = catch_unwind(AssertUnwindSafe(body));
    let _ = DEPTH.try_with(|depth| depth.set(depth.get().saturating_sub(1)));
    caught.map_err(|payload| {
        let message = one_line(message_of(&*payload));
        drop_payload(payload);
        let place = PLACE.try_with(|place| place.take()).unwrap_or_default();
        Error::new(
            Code::Internal,
            format!("a bug in the library was caught, panic=`{message}` place=`{place}`"),
        )
    })
}

fn install_hook() {
    static INSTALL: Once = Once::new();
    // The hook cannot be changed while this thread panics, as in a host's destructor; the next call installs it.
    if INSTALL.is_completed() || std::thread::panicking() {
        return;
    }
    INSTALL.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.try_with(Cell::get).unwrap_or(0) > 0 { keep_place(info) } else { previous(info) }
        }));
    });
}

fn keep_place(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
    let _ = PLACE.try_with(|kept| kept.replace(place));
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else {
        payload.downcast_ref::<String>().map_or("no message", String::as_str)
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A payload may panic in its destructor. Forgetting it unseen would be a leak, so it is dropped inside a barrier of
/// its own, and only a payload of that second panic is forgotten.
fn drop_payload(payload: Box<dyn Any + Send>) {
    let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    let _ = DEPTH.try_with(|depth| depth.set(depth.get().saturating_sub(1)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_its_message_and_place() {
        let mut error = std::ptr::null_mut();
        // SAFETY: `error` is a local variable.
        let status = unsafe { call(&raw mut error, || panic!("lost the\nthread {}", 7)) };
        assert_eq!(status, Code::Internal.number());
        // SAFETY: `call` has just given the handle out.
        let error = unsafe { Box::from_raw(error) };
        let message = error.message().to_str().expect("messages are UTF-8");
        assert!(message.contains("panic=`lost the thread 7`"), "{message}");
        assert!(message.contains("barrier.rs:"), "{message}");
    }

    #[test]
    fn a_panic_without_a_place_for_its_detail_is_still_a_status() {
        // SAFETY: null is allowed.
        let status = unsafe { call(std::ptr::null_mut(), || std::panic::panic_any(7_u8)) };
        assert_eq!(status, Code::Internal.number());
    }

    #[test]
    fn a_payload_that_panics_when_it_is_dropped_is_contained() {
        struct Spiteful;
        impl Drop for Spiteful {
            fn drop(&mut self) {
                panic!("once more");
            }
        }
        // SAFETY: null is allowed.
        let status = unsafe { call(std::ptr::null_mut(), || std::panic::panic_any(Spiteful)) };
        assert_eq!(status, Code::Internal.number());
    }

    /// What this test program prints on stderr when it runs one of its tests alone.
    #[expect(clippy::disallowed_methods, reason = "a test starts a program of its own")]
    fn stderr_of(test: &str) -> String {
        let program = std::env::current_exe().expect("a test has a path");
        let child = std::process::Command::new(program).args(["--exact", test, "--nocapture"]).output();
        let child = child.expect("the test program starts");
        assert!(child.status.success(), "{test} runs");
        String::from_utf8_lossy(&child.stderr).into_owned()
    }

    #[test]
    fn a_caught_panic_is_not_printed_and_any_other_is() {
        let caught = stderr_of("barrier::tests::a_panic_becomes_a_status_with_its_message_and_place");
        assert!(!caught.contains("panicked") && !caught.contains("lost the"), "{caught}");
        let other = stderr_of("barrier::tests::a_panic_outside_is_the_hosts");
        assert!(other.contains("on my own account"), "{other}");
    }

    #[test]
    #[should_panic(expected = "on my own account")]
    fn a_panic_outside_is_the_hosts() {
        answer(|| ());
        panic!("on my own account");
    }

    #[test]
    fn exports_that_cannot_fail_answer_nothing_after_a_panic() {
        assert_eq!(answer::<i32>(|| panic!("no number")), 0);
        assert!(answer::<*const u8>(|| panic!("no pointer")).is_null());
    }

    #[test]
    fn a_callback_is_outside_and_the_barrier_is_restored_after_it() {
        answer(|| {
            assert_eq!(DEPTH.get(), 1);
            outside(|| assert_eq!(DEPTH.get(), 0));
            assert_eq!(DEPTH.get(), 1);
        });
        assert_eq!(DEPTH.get(), 0);
    }
}
