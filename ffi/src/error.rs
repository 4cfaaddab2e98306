//! Errors: what a failed call has to say beyond its status.

use std::ffi::{CString, c_char};

use gallivant_core::{Code, Error};

use crate::barrier::answer;
use crate::buffer::printable;
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
    resource: Option<(Fixed<gallivant_str>, Texts)>,
}

impl Handle for gallivant_error {}

impl gallivant_error {
    pub(crate) fn new(error: &Error) -> Self {
        gallivant_error {
            code: error.code(),
            reason: error.reason().map(printable),
            message: printable(&error.message()),
            remedy: printable(error.remedy()),
            os_error: error.os_error().unwrap_or(0),
            file: error.file().map(|file| printable(&file.to_string_lossy())),
            resource: error.resource().map(|resource| {
                let mut texts = Texts::default();
                let [view] = texts.hold([Some(resource)]);
                // SAFETY: the texts stand beside the view and are not touched again.
                (unsafe { Fixed::new(view) }, texts)
            }),
        }
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &std::ffi::CStr {
        &self.message
    }
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
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let resource = unsafe { error.as_ref() }.and_then(|error| error.resource.as_ref());
        resource.map_or(gallivant_str::NONE, |(view, _)| *view.get())
    })
}

/// Frees the error. NULL is allowed. Errors that belong to another result are pointers to const and are freed with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_error_free(error: *mut gallivant_error) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(error) });
}
