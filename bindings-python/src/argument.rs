//! Arguments as Python gives them.
//!
//! Every text, path and number that a call takes is a [`Given`]: what Python can hold and the library cannot (half a
//! surrogate pair, a number out of range) is one error everywhere, before anything is touched. A value of the wrong
//! type stays a `TypeError`.

use std::borrow::Cow;
use std::time::Duration;

use gallivant_core::{Code, Error};
use pyo3::exceptions::{PyOverflowError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::error;

/// The widest number that a message shows: twice what any argument takes.
const MOST_BITS_SHOWN: u64 = 128;

/// An argument that PyO3 converts to `T`.
///
/// Refused as `GALLIVANT_INPUT` with reason `unicode` or `out-of-range`, which Node says too.
#[derive(Clone, Debug)]
pub(crate) struct Given<T>(pub(crate) T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Given<T> {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = T::INPUT_TYPE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        T::extract(object).map(Given).map_err(|failed| refused(&object, failed.into()))
    }
}

/// The text of an optional argument.
pub(crate) fn text_of(given: Option<&Given<String>>) -> Option<&str> {
    given.map(|Given(text)| text.as_str())
}

/// What is in an optional argument.
pub(crate) fn taken<T>(given: Option<Given<T>>) -> Option<T> {
    given.map(|Given(value)| value)
}

/// What is in the arguments of a list.
pub(crate) fn all_taken<T>(given: Vec<Given<T>>) -> Vec<T> {
    given.into_iter().map(|Given(value)| value).collect()
}

/// A number of seconds as Python's own waits take them; none where it is longer than any clock runs.
///
/// # Errors
/// `GALLIVANT_INPUT` with reason `out-of-range` for what is no number.
pub(crate) fn length_of(py: Python<'_>, seconds: f64) -> PyResult<Option<Duration>> {
    if seconds.is_nan() {
        let message = "a time is no number, argument=`timeout`";
        return Err(error::raise(py, &Error::new(Code::Input, message).with_reason("out-of-range")));
    }
    Ok(Duration::try_from_secs_f64(seconds.max(0.0)).ok())
}

/// The type of a value class's field, and of the constructor's argument for it.
pub(crate) trait Field: Sized {
    /// What the constructor takes.
    type Argument;

    /// The field's value.
    fn of(argument: Self::Argument) -> Self;
}

macro_rules! fields {
    ($($type:ty as $argument:ty: $of:expr;)+) => {
        $(impl Field for $type {
            type Argument = $argument;

            fn of(argument: $argument) -> Self {
                let of: fn($argument) -> Self = $of;
                of(argument)
            }
        })+
    };
}

fields! {
    String as Given<String>: |given| given.0;
    Cow<'static, str> as Given<String>: |given| given.0.into();
    u64 as Given<u64>: |given| given.0;
    u32 as Given<u32>: |given| given.0;
    bool as bool: |given| given;
    crate::error::Exception as crate::error::Exception: |given| given;
}

impl<T> Field for Py<T> {
    type Argument = Py<T>;

    fn of(argument: Py<T>) -> Self {
        argument
    }
}

impl<T: Field> Field for Option<T> {
    type Argument = Option<T::Argument>;

    fn of(argument: Option<T::Argument>) -> Self {
        argument.map(T::of)
    }
}

/// What a failed conversion is raised as, with the failure itself as its cause.
fn refused(object: &Borrowed<'_, '_, PyAny>, failed: PyErr) -> PyErr {
    let py = object.py();
    let (reason, message) = if failed.is_instance_of::<PyUnicodeEncodeError>(py) {
        let start = failed.value(py).getattr("start").and_then(|start| start.extract::<usize>());
        let position = start.map_or_else(|_| "-".to_owned(), |start| start.to_string());
        ("unicode", format!("a text holds half a surrogate pair, position=`{position}`"))
    } else if failed.is_instance_of::<PyOverflowError>(py) {
        ("out-of-range", format!("a number does not fit{}", shown(object)))
    } else {
        return failed;
    };
    let raised = error::raise(py, &Error::new(Code::Input, message).with_reason(reason));
    raised.set_cause(py, Some(failed));
    raised
}

/// The number that was given, as the end of a message. A number in a list is not singled out.
fn shown(object: &Borrowed<'_, '_, PyAny>) -> String {
    let Ok(number) = object.cast::<PyInt>() else { return String::new() };
    let bits = number.call_method0("bit_length").and_then(|bits| bits.extract::<u64>());
    match bits {
        Ok(bits) if bits <= MOST_BITS_SHOWN => format!(", value=`{}`", *number),
        Ok(bits) => format!(", bits=`{bits}`"),
        Err(_) => String::new(),
    }
}

/// A length as Python has it, in whole ms.
pub(crate) fn whole_ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
