//! Structs that grow: each begins with its size, so that programs and libraries of different releases agree.
//!
//! A later release only appends members, and a member that is all zero bytes means what the release before did.

use std::marker::PhantomData;
use std::time::Duration;

use gallivant_core::{Code, Error, Result};

use crate::handle::{Out, borrow, null_pointer};

// C: /* In an options struct: whatever the library's own default is. */
// C: #define GALLIVANT_DEFAULT UINT64_MAX

/// What options say for the library's own default.
pub(crate) const DEFAULT: u64 = u64::MAX;

/// A number of options; none for the library's own default.
pub(crate) fn unless_default(number: u64) -> Option<u64> {
    (number != DEFAULT).then_some(number)
}

// C: /* In the place of a timeout: wait without end. */
// C: #define GALLIVANT_FOREVER UINT64_MAX

/// A timeout; none for a wait without end.
pub(crate) fn timeout(timeout_ms: u64) -> Option<Duration> {
    (timeout_ms != u64::MAX).then(|| Duration::from_millis(timeout_ms))
}

/// A struct larger than this does not come from a later release but from memory that was never initialised.
const LARGEST: usize = 4096;

/// A C struct whose first member is `struct_size`.
///
/// # Safety
/// The type is `repr(C)`, begins with a `usize`, and any bytes after that `usize` are a valid value of it.
pub(crate) unsafe trait Sized: Copy {
    /// Puts the size in its place.
    fn with_size(self, size: usize) -> Self;
}

macro_rules! sized {
    ($($name:ty),+ $(,)?) => {
        $(
            // SAFETY: the struct is `repr(C)`, begins with its size, and has members of plain C types only.
            unsafe impl $crate::options::Sized for $name {
                fn with_size(self, struct_size: usize) -> Self {
                    Self { struct_size, ..self }
                }
            }
        )+
    };
}
pub(crate) use sized;

/// Reads an input struct.
///
/// # Errors
/// `GALLIVANT_INPUT` with reason `null-pointer`, or with reason `struct-size` when it is smaller than this release's,
/// unreasonably large, or from a later release and uses what this one does not know.
///
/// # Safety
/// `pointer` is null or points to at least one `usize`, and to as many bytes as that says.
pub(crate) unsafe fn input<T: Sized>(pointer: *const T, argument: &'static str) -> Result<T> {
    // SAFETY: the same contract, as far as a `usize` is concerned.
    let size = *unsafe { borrow(pointer.cast::<usize>(), argument) }?;
    check_size::<T>(size, argument)?;
    let known = size_of::<T>();
    // SAFETY: `size` bytes are there, which is at least `known`.
    let rest = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|byte| *byte != 0) {
        return Err(wrong_size(
            argument,
            size,
            known,
            "is of a later release and uses what this one does not know",
        ));
    }
    // SAFETY: `T` is plain data and `known` bytes are there.
    Ok(unsafe { pointer.read() })
}

/// The place of an output struct, which the caller has told its size.
#[derive(Debug)]
pub(crate) struct OutSized<T> {
    place: Out<T>,
    rest: *mut u8,
    size: usize,
}

impl<T: Sized> OutSized<T> {
    /// Checks the place.
    ///
    /// # Errors
    /// As [`input`], except that a struct of a later release is always taken.
    ///
    /// # Safety
    /// As [`input`], and all of it may be written to until the call returns.
    pub(crate) unsafe fn new(pointer: *mut T, argument: &'static str) -> Result<Self> {
        // SAFETY: the same contract, as far as a `usize` is concerned.
        let size = *unsafe { borrow(pointer.cast::<usize>(), argument) }?;
        check_size::<T>(size, argument)?;
        // SAFETY: `size` bytes are there, and they begin with a `T`.
        let (place, rest) =
            unsafe { (Out::new(pointer, argument)?, pointer.cast::<u8>().add(size_of::<T>())) };
        Ok(OutSized { place, rest, size })
    }

    /// Checks a place that may be null, where the caller does not want the output.
    ///
    /// # Errors
    /// As [`OutSized::new`].
    ///
    /// # Safety
    /// As [`OutSized::new`].
    pub(crate) unsafe fn optional(pointer: *mut T, argument: &'static str) -> Result<Option<Self>> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the same contract.
        unsafe { OutSized::new(pointer, argument) }.map(Some)
    }

    /// Writes the output; members of a later release become zero, and the size stays.
    pub(crate) fn set(self, value: T) {
        // SAFETY: by the contract of `new` all `size` bytes may be written to.
        unsafe { self.rest.write_bytes(0, self.size - size_of::<T>()) };
        self.place.set(value.with_size(self.size));
    }
}

/// An array of the caller whose elements begin with their size, as that program knows it.
#[derive(Debug)]
pub(crate) struct Elements<T> {
    first: *mut u8,
    element_size: usize,
    capacity: usize,
    element: PhantomData<T>,
}

impl<T: Sized> Elements<T> {
    /// No array at all.
    pub(crate) fn none() -> Self {
        Elements { first: std::ptr::null_mut(), element_size: 0, capacity: 0, element: PhantomData }
    }

    /// Checks the array; without a capacity it may be null. `names` are those of the three members, in their order.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer` or `length`, or as [`input`].
    ///
    /// # Safety
    /// `first` is null or points to `capacity` elements of `element_size` bytes that may be written to for as long as this
    /// lives.
    pub(crate) unsafe fn new(
        first: *mut T,
        element_size: usize,
        capacity: usize,
        names: [&'static str; 3],
    ) -> Result<Self> {
        check_size::<T>(element_size, names[1])?;
        if !element_size.is_multiple_of(align_of::<T>()) {
            let what = "in an array breaks the alignment of the next";
            return Err(wrong_size(names[1], element_size, size_of::<T>(), what));
        }
        if first.is_null() && capacity > 0 {
            return Err(null_pointer(names[0]));
        }
        if capacity.checked_mul(element_size).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(too_long(names[2], capacity));
        }
        Ok(Elements { first: first.cast(), element_size, capacity, element: PhantomData })
    }

    /// How many elements there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes an element where there is room for it; whether there was. Members of a later release become zero.
    pub(crate) fn set(&mut self, index: usize, value: T) -> bool {
        if index >= self.capacity {
            return false;
        }
        let known = size_of::<T>();
        // SAFETY: there is room for `capacity` elements of `element_size` bytes, which is at least `known` and keeps the
        // alignment.
        unsafe {
            let place = self.first.add(index * self.element_size);
            place.add(known).write_bytes(0, self.element_size - known);
            place.cast::<T>().write(value.with_size(self.element_size));
        }
        true
    }
}

/// The error of a length that nothing has.
pub(crate) fn too_long(argument: &'static str, length: usize) -> Error {
    let message = format!("nothing is that long, argument=`{argument}` length=`{length}`");
    Error::new(Code::Input, message).with_reason("length")
}

fn check_size<T>(size: usize, argument: &'static str) -> Result<()> {
    let known = size_of::<T>();
    if (known..=LARGEST).contains(&size) {
        return Ok(());
    }
    Err(wrong_size(argument, size, known, "has a wrong size; begin with its INIT macro"))
}

fn wrong_size(argument: &'static str, size: usize, known: usize, what: &str) -> Error {
    let message = format!("a struct {what}, argument=`{argument}` struct_size=`{size}` known=`{known}`");
    Error::new(Code::Input, message).with_reason("struct-size")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Old {
        struct_size: usize,
        number: u64,
    }
    sized!(Old);

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Later {
        struct_size: usize,
        number: u64,
        more: u64,
    }

    fn read(later: &Later) -> Result<Old> {
        // SAFETY: a `Later` begins with an `Old` and is as long as it says.
        unsafe { input(std::ptr::from_ref(later).cast::<Old>(), "old") }
    }

    #[test]
    fn a_struct_of_a_later_release_is_read_while_it_says_nothing_new() {
        let later = Later { struct_size: size_of::<Later>(), number: 7, more: 0 };
        assert_eq!(read(&later).expect("nothing new").number, 7);
        let error = read(&Later { more: 1, ..later }).expect_err("something new");
        assert_eq!((error.code(), error.reason()), (Code::Input, Some("struct-size")));
    }

    #[test]
    fn a_struct_that_is_too_small_or_never_initialised_is_refused() {
        for struct_size in [0, size_of::<Old>() - 1, LARGEST + 1, usize::MAX] {
            let error = read(&Later { struct_size, number: 7, more: 0 }).expect_err("a wrong size");
            assert_eq!(error.reason(), Some("struct-size"), "{struct_size}");
        }
    }

    #[test]
    fn an_output_of_a_later_release_keeps_its_size_and_loses_the_rest() {
        let mut later = Later { struct_size: size_of::<Later>(), number: 1, more: 1 };
        // SAFETY: a `Later` begins with an `Old` and is as long as it says.
        let out =
            unsafe { OutSized::new((&raw mut later).cast::<Old>(), "old") }.expect("it is large enough");
        out.set(Old { struct_size: 0, number: 9 });
        assert_eq!(later, Later { struct_size: size_of::<Later>(), number: 9, more: 0 });
    }
}
