//! Handles: how they come to the host, how they are borrowed, and what each is safe for.
//!
//! A handle is a `Box` whose only owner is the host: [`give`] lets go of it, [`free`] takes it back. What several
//! handles have in common they share by reference counts inside, so they may be freed in any order. A handle that
//! is part of another is lent as a pointer to const, which no free function takes.
//!
//! All handles may change threads, and most may be used by several at once: [`Handle`] asks the compiler for the
//! proof. What only one call at a time may touch stands in an [`Exclusive`], which answers
//! `GALLIVANT_HANDLE_BUSY` to every other.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use gallivant_core::{Code, Error, Result};

use crate::options::too_long;

/// An opaque type of the C interface, owned by the host through a pointer.
pub(crate) trait Handle: Send + Sync {}

/// Hands a new handle to the host.
pub(crate) fn give<T: Handle>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle back and drops it. Null is allowed and does nothing.
///
/// # Safety
/// `handle` is null or came from [`give`], and is not used any more.
pub(crate) unsafe fn free<T: Handle>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: by this function's contract.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Borrows what a pointer of the host points to, for the length of one call.
///
/// # Errors
/// `GALLIVANT_INPUT` with reason `null-pointer`, naming the argument.
///
/// # Safety
/// `pointer` is null or points to a valid value that nobody changes or frees during the call.
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T, argument: &'static str) -> Result<&'a T> {
    // SAFETY: by this function's contract.
    unsafe { pointer.as_ref() }.ok_or_else(|| null_pointer(argument))
}

/// Borrows an array of the host for the length of one call; an empty one may be null.
///
/// # Errors
/// `GALLIVANT_INPUT` with reason `null-pointer` or `length`, naming the argument.
///
/// # Safety
/// `first` is null or points to `count` valid values that nobody changes or frees during the call.
pub(crate) unsafe fn array<'a, T>(first: *const T, count: usize, argument: &'static str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(null_pointer(argument));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(too_long(argument, count));
    }
    // SAFETY: not null, the length fits, and the rest is this function's contract.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// The place of an output. It is checked before anything is done, and written after everything was.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checks the place.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer`, naming the argument.
    ///
    /// # Safety
    /// `pointer` is null or may be written to until the call returns.
    pub(crate) unsafe fn new(pointer: *mut T, argument: &'static str) -> Result<Self> {
        if pointer.is_null() { Err(null_pointer(argument)) } else { Ok(Out(pointer)) }
    }

    /// Copies bytes to the place, which has room for them.
    ///
    /// # Safety
    /// As many bytes may be written there, and they do not overlap `bytes`.
    pub(crate) unsafe fn copy(self, bytes: &[u8])
    where
        T: Copy,
    {
        // SAFETY: by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len()) };
    }

    /// Writes an array to the place.
    ///
    /// # Safety
    /// As many values may be written there, and they do not overlap `values`.
    pub(crate) unsafe fn fill(self, values: &[T])
    where
        T: Copy,
    {
        // SAFETY: by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.0, values.len()) };
    }

    /// Writes the output over whatever stood there.
    pub(crate) fn set(self, value: T) {
        // SAFETY: `new` has checked for null, and its contract is that the place may be written to.
        unsafe { self.0.write(value) };
    }
}

/// The error of an argument that is null and must not be.
pub(crate) fn null_pointer(argument: &'static str) -> Error {
    let message = format!("a required argument is null, argument=`{argument}`");
    Error::new(Code::Input, message).with_reason("null-pointer")
}

/// A value that one call at a time may touch.
#[derive(Debug)]
pub(crate) struct Exclusive<T> {
    in_use: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a `Taken`, of which `in_use` allows one at a time; acquiring and
// releasing order its users.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T: Default> Default for Exclusive<T> {
    fn default() -> Self {
        Exclusive::new(T::default())
    }
}

impl<T> Exclusive<T> {
    /// Nobody uses it yet.
    pub(crate) fn new(value: T) -> Self {
        Exclusive { in_use: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the value for one call.
    ///
    /// # Errors
    /// `GALLIVANT_HANDLE_BUSY` while another call has it: another thread's, or the one from whose callback this
    /// one comes.
    pub(crate) fn take(&self, handle: &'static str) -> Result<Taken<'_, T>> {
        if self.in_use.swap(true, Ordering::Acquire) {
            let message = format!("another call is using the handle, handle=`{handle}`");
            return Err(Error::new(Code::HandleBusy, message));
        }
        Ok(Taken { owner: self, value: PhantomData })
    }
}

/// An [`Exclusive`] value in use.
#[derive(Debug)]
pub(crate) struct Taken<'a, T> {
    owner: &'a Exclusive<T>,
    /// May go to another thread, or be shared, exactly where this reference might.
    value: PhantomData<&'a mut T>,
}

impl<T> Deref for Taken<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `in_use` is set by this guard alone, so there is no other reference.
        unsafe { &*self.owner.value.get() }
    }
}

impl<T> DerefMut for Taken<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `in_use` is set by this guard alone, so there is no other reference.
        unsafe { &mut *self.owner.value.get() }
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.owner.in_use.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusive_value_is_taken_once_at_a_time() {
        let value = Exclusive::new(1);
        let mut taken = value.take("value").expect("nobody uses it");
        *taken += 1;
        let refused = value.take("value").expect_err("it is in use");
        assert_eq!(refused.code(), Code::HandleBusy);
        drop(taken);
        assert_eq!(*value.take("value").expect("it is free again"), 2);
    }

    #[test]
    fn a_panic_gives_an_exclusive_value_back() {
        let value = Exclusive::new(());
        let status = crate::barrier::answer(|| {
            let _taken = value.take("value").expect("nobody uses it");
            panic!("in the middle");
            #[expect(unreachable_code, reason = "the closure needs a type")]
            1
        });
        assert_eq!(status, 0);
        value.take("value").expect("it is free again");
    }
}
