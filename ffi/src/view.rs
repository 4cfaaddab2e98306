//! Strings and bytes.

use std::ffi::{CStr, c_char};

use gallivant_core::{Code, Error, Result};

use crate::barrier::answer;
use crate::handle::{self, null_pointer};
use crate::options::too_long;

/// A string as pointer and length, in bytes of UTF-8.
///
/// As an input it need not end in a zero byte and is read during the call only. As an output it is followed by a
/// zero byte that the length does not count, so that `data` can be given to `printf("%s")`; a string from a record may
/// hold further zero bytes, and the length is what is right. It is valid as long as its owner says, see there.
///
/// A null `data` is no string at all, which is not the empty string.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_str {
    /// The first byte; null for no string.
    pub data: *const c_char,
    /// How many bytes.
    pub length: usize,
}

/// Bytes of any kind as pointer and length; no zero byte follows. Valid as long as their owner says, see there.
///
/// A null `data` is no bytes at all, which is not the empty bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_bytes {
    /// The first byte; null for no bytes.
    pub data: *const u8,
    /// How many bytes.
    pub length: usize,
}

/// A number that may be absent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct gallivant_optional_u64 {
    /// The number; 0 in an output where it is absent.
    pub value: u64,
    /// 0 where it is absent. Outputs say 1 where it is there; in inputs anything but 0 does.
    pub is_set: i32,
}

/// The view of a string that ends in a zero byte, as C's own strings do. NULL gives no string. The view is valid as
/// long as the string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_str_from(text: *const c_char) -> gallivant_str {
    answer(|| {
        if text.is_null() {
            return gallivant_str::NONE;
        }
        // SAFETY: not null, and ends in a zero byte by this function's contract.
        let text = unsafe { CStr::from_ptr(text) };
        gallivant_str { data: text.as_ptr(), length: text.count_bytes() }
    })
}

impl gallivant_str {
    /// No string.
    pub(crate) const NONE: gallivant_str = gallivant_str { data: std::ptr::null(), length: 0 };

    /// A string that came in as two arguments.
    pub(crate) fn new(data: *const c_char, length: usize) -> Self {
        gallivant_str { data, length }
    }

    /// The string of an input that has to be there.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer`, `utf-8` or `length`, naming the argument.
    ///
    /// # Safety
    /// `data` is null or points to `length` bytes that nobody changes or frees during the call.
    pub(crate) unsafe fn text<'a>(self, argument: &'static str) -> Result<&'a str> {
        // SAFETY: the same contract.
        let bytes = unsafe { self.bytes(argument) }?;
        std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let message = format!("a string is not UTF-8, argument=`{argument}` byte=`{at}`");
            Error::new(Code::Input, message).with_reason("utf-8")
        })
    }

    /// The string of an input that may be absent.
    ///
    /// # Errors
    /// As [`gallivant_str::text`].
    ///
    /// # Safety
    /// As [`gallivant_str::text`].
    pub(crate) unsafe fn optional<'a>(self, argument: &'static str) -> Result<Option<&'a str>> {
        if self.data.is_null() && self.length == 0 {
            return Ok(None);
        }
        // SAFETY: the same contract.
        unsafe { self.text(argument) }.map(Some)
    }

    /// The bytes of an input that has to be there, whatever they are.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer` or `length`, naming the argument.
    ///
    /// # Safety
    /// As [`gallivant_str::text`].
    pub(crate) unsafe fn bytes<'a>(self, argument: &'static str) -> Result<&'a [u8]> {
        if self.data.is_null() {
            return Err(null_pointer(argument));
        }
        // SAFETY: the same contract.
        unsafe { handle::array(self.data.cast(), self.length, argument) }
    }
}

impl gallivant_bytes {
    /// No bytes.
    pub(crate) const NONE: gallivant_bytes = gallivant_bytes { data: std::ptr::null(), length: 0 };

    /// A view of these bytes, which have to live as long as the caller is promised.
    pub(crate) fn new(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(gallivant_bytes::NONE, |bytes| gallivant_bytes {
            data: bytes.as_ptr(),
            length: bytes.len(),
        })
    }
}

impl gallivant_optional_u64 {
    pub(crate) fn get(self) -> Option<u64> {
        (self.is_set != 0).then_some(self.value)
    }
}

impl From<Option<u64>> for gallivant_optional_u64 {
    fn from(number: Option<u64>) -> Self {
        gallivant_optional_u64 { value: number.unwrap_or(0), is_set: i32::from(number.is_some()) }
    }
}

/// The memory behind the views of an answer. Used again and again, it soon allocates no more.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<u8>);

impl Texts {
    /// Forgets what it held, so that earlier views end, and holds these, each with a zero byte behind it.
    pub(crate) fn hold<const N: usize>(&mut self, texts: [Option<&str>; N]) -> [gallivant_str; N] {
        self.0.clear();
        // All room is taken before the first pointer, because growing moves the bytes.
        self.0.reserve_exact(texts.iter().flatten().map(|text| text.len() + 1).sum());
        let spans = texts.map(|text| {
            let text = text?;
            let start = self.0.len();
            self.0.extend_from_slice(text.as_bytes());
            self.0.push(0);
            Some((start, text.len()))
        });
        spans.map(|span| {
            let Some((start, length)) = span else { return gallivant_str::NONE };
            gallivant_str { data: self.0[start..].as_ptr().cast(), length }
        })
    }
}

/// Memory of a fixed size for the texts of many answers, and how much of it they would all take.
#[derive(Debug)]
pub(crate) struct Room {
    place: *mut c_char,
    capacity: usize,
    needed: usize,
}

impl Room {
    /// Room of `capacity` bytes; without any it only counts.
    ///
    /// # Safety
    /// `capacity` bytes may be written at `place` for as long as this lives; without any it may be null.
    pub(crate) unsafe fn new(place: *mut c_char, capacity: usize) -> Self {
        Room { place, capacity, needed: 0 }
    }

    /// Room that the caller gives for texts; without a capacity it may be null.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer` or `length`.
    ///
    /// # Safety
    /// As [`Room::new`].
    pub(crate) unsafe fn given(
        place: *mut c_char,
        place_name: &'static str,
        capacity: usize,
        capacity_name: &'static str,
    ) -> Result<Self> {
        if place.is_null() && capacity > 0 {
            return Err(null_pointer(place_name));
        }
        if isize::try_from(capacity).is_err() {
            return Err(too_long(capacity_name, capacity));
        }
        // SAFETY: by this function's contract.
        Ok(unsafe { Room::new(place, capacity) })
    }

    /// How many bytes there are.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes everything took that was to be held so far, each text with its zero byte.
    pub(crate) fn needed(&self) -> usize {
        self.needed
    }

    /// Holds these, each with a zero byte behind it; none of them where they do not all fit. Once some did not fit, no
    /// further ones do.
    pub(crate) fn hold<const N: usize>(&mut self, texts: [Option<&str>; N]) -> Option<[gallivant_str; N]> {
        let mut at = self.needed;
        self.needed = texts.iter().flatten().fold(at, |sum, text| sum.saturating_add(text.len() + 1));
        if self.needed > self.capacity {
            return None;
        }
        Some(texts.map(|text| {
            let Some(text) = text else { return gallivant_str::NONE };
            // SAFETY: `at` to `needed` lies in the room, by the contract of `new`, and holds every text with its zero.
            let data = unsafe {
                let data = self.place.add(at);
                std::ptr::copy_nonoverlapping(text.as_ptr().cast(), data, text.len());
                data.add(text.len()).write(0);
                data
            };
            at += text.len() + 1;
            gallivant_str { data, length: text.len() }
        }))
    }
}

/// Views into memory that the same handle owns and never changes.
#[derive(Debug)]
pub(crate) struct Fixed<T>(T);

// SAFETY: what is pointed to is immutable for as long as the handle lives, whatever thread looks.
unsafe impl<T> Send for Fixed<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    /// Vouches for these views.
    ///
    /// # Safety
    /// They point only into memory that lives as long as the handle into which they go, and never changes.
    pub(crate) unsafe fn new(views: T) -> Self {
        Fixed(views)
    }

    pub(crate) fn get(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_texts_keep_their_bytes_and_end_in_zero() {
        let mut texts = Texts::default();
        for round in 0..3 {
            let long = "x".repeat(100 * (round + 1));
            let [none, empty, zero, long_view] = texts.hold([None, Some(""), Some("a\0b"), Some(&long)]);
            assert!(none.data.is_null());
            assert!(!empty.data.is_null());
            // SAFETY: the views are of this round and `texts` lives.
            unsafe {
                assert_eq!(empty.text("empty").expect("UTF-8"), "");
                assert_eq!(zero.text("zero").expect("UTF-8"), "a\0b");
                assert_eq!(long_view.text("long").expect("UTF-8"), long);
                assert_eq!(*long_view.data.add(long_view.length), 0);
            }
        }
    }

    #[test]
    fn a_room_counts_what_does_not_fit_and_never_writes_beyond_its_end() {
        let mut place = [7 as c_char; 8];
        // SAFETY: seven of the eight bytes are the room's.
        let mut room = unsafe { Room::new(place.as_mut_ptr(), 7) };
        let [none, empty, text] = room.hold([None, Some(""), Some("abc")]).expect("five bytes");
        // SAFETY: the views are into a local variable.
        unsafe {
            assert!(none.data.is_null());
            assert_eq!((empty.text("empty").expect("UTF-8"), text.text("text").expect("UTF-8")), ("", "abc"));
        }
        assert!(room.hold([Some("de")]).is_none());
        assert!(room.hold([Some("")]).is_none(), "what comes later has no room either");
        assert_eq!(room.needed(), 9);
        assert_eq!(place, [0, 97, 98, 99, 0, 7, 7, 7]);
    }

    #[test]
    fn no_bytes_are_not_the_empty_bytes() {
        let (none, empty) = (gallivant_bytes::new(None), gallivant_bytes::new(Some(&[])));
        assert!(none.data.is_null() && !empty.data.is_null());
        assert_eq!((none.length, empty.length, gallivant_bytes::new(Some(b"ab")).length), (0, 0, 2));
    }

    #[test]
    fn lengths_beyond_the_address_space_are_refused() {
        let view = gallivant_str { data: c"x".as_ptr(), length: usize::MAX };
        // SAFETY: the length is refused before anything is read.
        let error = unsafe { view.text("x") }.expect_err("nothing is that long");
        assert_eq!((error.code(), error.reason()), (Code::Input, Some("length")));
        let nothing = gallivant_str { data: std::ptr::null(), length: 1 };
        // SAFETY: null is allowed.
        let error = unsafe { nothing.optional("x") }.expect_err("one byte of nothing");
        assert_eq!((error.code(), error.reason()), (Code::Input, Some("null-pointer")));
    }
}
