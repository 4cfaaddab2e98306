//! Texts that results own, and buffers that the caller owns.

use std::ffi::{CString, c_char};

use gallivant_core::{Code, Error, Result};

use crate::barrier::answer;
use crate::handle::{self, Handle, null_pointer};
use crate::view::{Fixed, Texts, gallivant_str};

/// A text of any length that a function has answered. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_text_free`.
#[derive(Debug)]
pub struct gallivant_text {
    view: Fixed<gallivant_str>,
    _owner: Texts,
}

impl Handle for gallivant_text {}

impl gallivant_text {
    pub(crate) fn new(text: &str) -> Self {
        let mut owner = Texts::default();
        let [view] = owner.hold([Some(text)]);
        // SAFETY: the owner stands beside the view and is not touched again.
        gallivant_text { view: unsafe { Fixed::new(view) }, _owner: owner }
    }
}

/// The text, valid until the handle is freed; no string where `text` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_text_view(text: *const gallivant_text) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { text.as_ref() }.map_or(gallivant_str::NONE, |text| *text.view.get()))
}

/// Frees the text. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_text_free(text: *mut gallivant_text) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(text) });
}

/// A buffer of the caller into which a function writes a text with a zero byte behind it.
#[derive(Debug)]
pub(crate) struct Buffer {
    place: *mut c_char,
    capacity: usize,
    length: *mut usize,
}

impl Buffer {
    /// Checks the buffer; `length` may be null.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer`.
    ///
    /// # Safety
    /// `place` is null or `capacity` bytes may be written there, and `length` is null or may be written to.
    pub(crate) unsafe fn new(place: *mut c_char, capacity: usize, length: *mut usize) -> Result<Self> {
        if place.is_null() {
            return Err(null_pointer("buffer"));
        }
        Ok(Buffer { place, capacity, length })
    }

    /// Writes the text, its zero byte, and the length without it.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `buffer` when text and zero byte do not fit; nothing is written.
    pub(crate) fn set(self, text: &str) -> Result<()> {
        let (needed, capacity) = (text.len() + 1, self.capacity);
        if needed > capacity {
            let message = format!("the buffer is too small, capacity=`{capacity}` needed=`{needed}`");
            return Err(Error::new(Code::Input, message).with_reason("buffer"));
        }
        // SAFETY: by the contract of `new` there is room for `capacity` bytes, and a text of ours lies elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.place, text.len());
            self.place.add(text.len()).write(0);
            if let Some(length) = self.length.as_mut() {
                *length = text.len();
            }
        }
        Ok(())
    }
}

/// A string for C that cannot hold a zero byte: one inside is shown as the replacement character. For texts that
/// people read; what programs compare is given out with its length.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_does_not_fit_leaves_the_buffer_alone() {
        let mut place = [7 as c_char; 4];
        let mut length = 99;
        let start = place.as_mut_ptr();
        // SAFETY: both are local variables.
        let buffer = unsafe { Buffer::new(start, 4, &raw mut length) }.expect("not null");
        let refused = buffer.set("four").expect_err("the zero byte has no room");
        assert_eq!(refused.reason(), Some("buffer"));
        assert_eq!((place, length), ([7; 4], 99));
        // SAFETY: both are local variables.
        let buffer = unsafe { Buffer::new(start, 4, &raw mut length) }.expect("not null");
        buffer.set("six").expect("it fits");
        assert_eq!((place, length), ([115, 105, 120, 0], 3));
    }

    #[test]
    fn what_people_read_holds_no_zero_byte() {
        assert_eq!(c_string("a\0b").to_str(), Ok("a\u{fffd}b"));
    }
}
