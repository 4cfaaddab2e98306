//! Why something could not be done: the system's own number.

use alloc::string::String;
use core::ffi::{CStr, c_int};
use core::fmt;

/// A number of `errno.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) c_int);

pub(crate) type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// Something says what nobody here understands.
    pub(crate) const INVALID: Error = Error(libc::EINVAL);

    /// Of the call that has just failed.
    pub(crate) fn last() -> Self {
        #[cfg(target_os = "macos")]
        // SAFETY: the place is this thread's own.
        return Error(unsafe { *libc::__error() });
        #[cfg(not(target_os = "macos"))]
        // SAFETY: the place is this thread's own.
        return Error(unsafe { *libc::__errno_location() });
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the program has one thread, and reads the text before the next call replaces it.
        let text = unsafe { CStr::from_ptr(libc::strerror(self.0)) };
        write!(out, "{} (os error {})", String::from_utf8_lossy(text.to_bytes()), self.0)
    }
}
