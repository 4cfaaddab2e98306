//! A place for something that JavaScript may close before its garbage collector finds it.

use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::Result;

use crate::error::closed;

/// Holds a value until it is closed. A call that has already taken the value keeps it until it is done.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    what: &'static str,
    value: Mutex<Option<Arc<T>>>,
}

impl<T> Slot<T> {
    pub(crate) fn new(what: &'static str, value: T) -> Self {
        Slot { what, value: Mutex::new(Some(Arc::new(value))) }
    }

    /// The value.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `closed`.
    pub(crate) fn get(&self) -> Result<Arc<T>> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        value.clone().ok_or_else(|| closed(self.what))
    }

    /// Lets go of the value. Answers whether it was still there.
    pub(crate) fn close(&self) -> bool {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.is_some()
    }
}
