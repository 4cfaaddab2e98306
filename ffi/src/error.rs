//! Errors: what a failed call has to say beyond its status.

use std::ffi::{CString, c_char};

use gallivant_core::{Code, Error};

use crate::barrier::answer;
use crate::buffer::c_string;
use crate::handle::{self, Handle};
use crate::status::{gallivant_status_kind, gallivant_status_name};
use crate::view::{Fixed, Texts, gallivant_str};

/// The detail of one failed call. Never changes. Its strings are valid until it is freed.
///
/// Threads: any number at once. Free it with `gallivant_error_free`.
#[derive(Debug)]
pub struct gallivant_error {
    code: Code,
    reason: Option<CString>,
    message: CString,
    remedy: CString,
    os_error: i32,
    file: Option<CString>,
    /// Resource, run and operation, which programs compare.
    named: Option<(Fixed<[gallivant_str; 3]>, Texts)>,
}

impl Handle for gallivant_error {}

impl gallivant_error {
    pub(crate) fn new(error: &Error) -> Self {
        gallivant_error {
            code: error.code(),
            reason: error.reason().map(c_string),
            message: c_string(&error.message()),
            remedy: c_string(error.remedy()),
            os_error: error.os_error().unwrap_or(0),
            file: error.file().map(|file| c_string(&file.to_string_lossy())),
            named: named([error.resource(), error.run_id(), error.operation_id()]),
        }
    }

    /// The name at this place of `named`.
    fn named(&self, at: usize) -> gallivant_str {
        self.named.as_ref().map_or(gallivant_str::NONE, |(views, _)| views.get()[at])
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &std::ffi::CStr {
        &self.message
    }
}

/// Where none of them is there, nothing is allocated.
fn named(names: [Option<&str>; 3]) -> Option<(Fixed<[gallivant_str; 3]>, Texts)> {
    names.iter().any(Option::is_some).then(|| {
        let mut texts = Texts::default();
        let views = texts.hold(names);
        // SAFETY: the texts stand beside the views and are not touched again.
        (unsafe { Fixed::new(views) }, texts)
    })
}

/// The status that the call answered; `GALLIVANT_OK` where `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_code(error: *const gallivant_error) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(0, |error| error.code.number()))
}

/// The stable name of the status, such as `HARNESS_STATE_IO`; `OK` where `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_name(error: *const gallivant_error) -> *const c_char {
    // SAFETY: by the conventions.
    answer(|| gallivant_status_name(unsafe { gallivant_error_code(error) }))
}

/// What a caller does about it: one of the GALLIVANT_KIND constants; 0 where `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_kind(error: *const gallivant_error) -> i32 {
    // SAFETY: by the conventions.
    answer(|| gallivant_status_kind(unsafe { gallivant_error_code(error) }))
}

/// A stable word that refines the status, such as `forked`; NULL where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_reason(error: *const gallivant_error) -> *const c_char {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let reason = unsafe { error.as_ref() }.and_then(|error| error.reason.as_ref());
        reason.map_or(std::ptr::null(), |reason| reason.as_ptr())
    })
}

/// One line for people: what happened, to which file, argument or value. Not stable. Empty where `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_message(error: *const gallivant_error) -> *const c_char {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr()))
}

/// One sentence that an operator can act on. Empty where `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_remedy(error: *const gallivant_error) -> *const c_char {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.remedy.as_ptr()))
}

/// The `errno` of the system call that failed; 0 where none did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_os_error(error: *const gallivant_error) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(0, |error| error.os_error))
}

/// The file that an operator has to look at, where the error is about one; NULL where it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_file(error: *const gallivant_error) -> *const c_char {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let file = unsafe { error.as_ref() }.and_then(|error| error.file.as_ref());
        file.map_or(std::ptr::null(), |file| file.as_ptr())
    })
}

/// The id of what somebody else made, where a create has lost to another one that has completed; no string where there is
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_resource(error: *const gallivant_error) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(gallivant_str::NONE, |error| error.named(0)))
}

/// The id of the run that the error is about; no string where it is about none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_run_id(error: *const gallivant_error) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(gallivant_str::NONE, |error| error.named(1)))
}

/// The id of the operation that the error is about; no string where it is about none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_operation_id(error: *const gallivant_error) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { error.as_ref() }.map_or(gallivant_str::NONE, |error| error.named(2)))
}

/// Frees the error. NULL is allowed. Errors that belong to another result are pointers to const and are freed with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_free(error: *mut gallivant_error) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(error) });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the views of an error say, in the order of resource, run and operation.
    fn names(error: &Error) -> [Option<String>; 3] {
        let error = gallivant_error::new(error);
        // SAFETY: the error is a local variable, and its views are read while it lives.
        unsafe {
            [
                gallivant_error_resource(&raw const error),
                gallivant_error_run_id(&raw const error),
                gallivant_error_operation_id(&raw const error),
            ]
            .map(|view| view.optional("name").expect("UTF-8").map(str::to_owned))
        }
    }

    #[test]
    fn an_error_names_what_it_is_about_and_nothing_else() {
        let error = || Error::new(Code::ExecutionUnresolved, "another operation is unresolved");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(names(&error()), [None, None, None]);
        assert_eq!(names(&error().with_run_id("run-1")), [None, text("run-1"), None]);
        assert_eq!(names(&error().with_operation_id("op-1")), [None, None, text("op-1")]);
        let all = error().with_resource(text("")).with_run_id("r\0\u{e4}").with_operation_id("op-1");
        assert_eq!(names(&all), [text(""), text("r\0\u{e4}"), text("op-1")]);
    }

    #[test]
    fn no_error_names_nothing() {
        // SAFETY: null is allowed.
        let none = unsafe {
            [
                gallivant_error_resource(std::ptr::null()),
                gallivant_error_run_id(std::ptr::null()),
                gallivant_error_operation_id(std::ptr::null()),
            ]
        };
        assert!(none.iter().all(|view| view.data.is_null() && view.length == 0));
    }
}
