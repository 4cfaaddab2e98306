//! The barrier: what panics in the library becomes an error of code `GALLIVANT_INTERNAL`.
//!
//! A panic that left a `#[napi]` function without `catch_unwind`, or a `Task::compute` in any case, would end the
//! Node process.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use gallivant_core::{Code, Error, Result};

thread_local! {
    /// Where the last panic of this thread began.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}
static QUIET: Once = Once::new();

/// Runs `action` and answers its result, or an error of code `GALLIVANT_INTERNAL` that keeps the panic's message and
/// place.
pub(crate) fn run<T>(action: impl FnOnce() -> Result<T>) -> Result<T> {
    // This module has a standard library of its own, so the hook sees no panic but ours. The default one would print.
    QUIET.call_once(|| std::panic::set_hook(Box::new(remember_place)));
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|panic| Err(internal(&*panic)))
}

fn remember_place(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
    PLACE.with_borrow_mut(|kept| *kept = place);
}

fn internal(panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = PLACE.take().unwrap_or_default();
    let said = said.replace(['\n', '\r'], " ");
    Error::new(Code::Internal, format!("a bug was caught at the boundary, place=`{place}` panic=`{said}`"))
}
