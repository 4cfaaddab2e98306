//! The right to make the thing, for JavaScript.

use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::Result;
use gallivant_core::idempotency::Reservation;
use napi::bindgen_prelude::{BigInt, Uint8Array};
use napi_derive::napi;

use super::parts::{deadline, left};
use crate::answer::Answer;
use crate::error::closed;
use crate::job::{Promised, promise};
use crate::waiting::{NativeWait, Patience};

/// A reservation. The calls of one are made one after another. Collected unfinished, it is dropped as `abandon` does it,
/// on JavaScript's own thread.
#[napi]
#[derive(Debug)]
pub struct NativeReservation {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    reservation: Mutex<Option<Reservation>>,
}

impl Held {
    /// Does something with the reservation. Whoever else works with it is waited for: that ends within the slice of a
    /// try, or with its commit.
    fn with<T>(&self, action: impl FnOnce(&mut Reservation) -> Result<T>) -> Result<T> {
        let mut reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner);
        action(reservation.as_mut().ok_or_else(|| closed("Reservation"))?)
    }

    /// Answers whether it was still there.
    fn abandon(&self) -> bool {
        let reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner).take();
        reservation.is_some()
    }
}

impl NativeReservation {
    pub(super) fn new(reservation: Reservation) -> Self {
        NativeReservation { held: Arc::new(Held { reservation: Mutex::new(Some(reservation)) }) }
    }

    /// One try of a call that is given what is left of its deadline.
    fn promise(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&mut Reservation, Option<std::time::Duration>) -> Result<()> + Send + 'static,
    ) -> Promised<bool> {
        let (held, clock) = (Arc::clone(&self.held), Arc::clone(&wait.wait));
        promise(wait, Patience::SlicesWithin, move || {
            held.with(|reservation| action(reservation, left(&clock)))?;
            Ok(true)
        })
    }

    fn answer(
        &self,
        deadline_ms: Option<&BigInt>,
        action: impl FnOnce(&mut Reservation, Option<std::time::Duration>) -> Result<()>,
    ) -> Answer<bool> {
        Answer::of(|| {
            let deadline = deadline(deadline_ms)?;
            self.held.with(|reservation| action(reservation, deadline))?;
            Ok(true)
        })
    }
}

#[napi]
impl NativeReservation {
    /// One try of saying what was made and how it was answered.
    #[napi(catch_unwind)]
    pub fn complete_async(&self, resource: String, answer: Uint8Array, wait: &NativeWait) -> Promised<bool> {
        let answer = answer.to_vec();
        self.promise(wait, move |reservation, deadline| {
            reservation.complete_within(&resource, &answer, deadline)
        })
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn complete_sync(
        &self,
        resource: String,
        answer: Uint8Array,
        deadline_ms: Option<BigInt>,
    ) -> Answer<bool> {
        self.answer(deadline_ms.as_ref(), |reservation, deadline| {
            reservation.complete_within(&resource, &answer, deadline)
        })
    }

    /// One try of saying that nothing outside exists.
    #[napi(catch_unwind)]
    pub fn release_async(&self, wait: &NativeWait) -> Promised<bool> {
        self.promise(wait, Reservation::release_within)
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn release_sync(&self, deadline_ms: Option<BigInt>) -> Answer<bool> {
        self.answer(deadline_ms.as_ref(), Reservation::release_within)
    }

    /// One try of saying that an effect may happen from now on.
    #[napi(catch_unwind)]
    pub fn effect_starting_async(&self, wait: &NativeWait) -> Promised<bool> {
        self.promise(wait, Reservation::effect_starting_within)
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn effect_starting_sync(&self, deadline_ms: Option<BigInt>) -> Answer<bool> {
        self.answer(deadline_ms.as_ref(), Reservation::effect_starting_within)
    }

    /// One try of saying that the owner is still at work.
    #[napi(catch_unwind)]
    pub fn keep_alive_async(&self, wait: &NativeWait) -> Promised<bool> {
        self.promise(wait, Reservation::keep_alive_within)
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn keep_alive_sync(&self, deadline_ms: Option<BigInt>) -> Answer<bool> {
        self.answer(deadline_ms.as_ref(), Reservation::keep_alive_within)
    }

    /// Drops it: released, unless it was ended or marked. Answers whether it was still there. The core bounds how long
    /// that takes, so it is one try.
    #[napi(catch_unwind)]
    pub fn abandon_async(&self, wait: &NativeWait) -> Promised<bool> {
        let held = Arc::clone(&self.held);
        promise(wait, Patience::Unlimited, move || Ok(held.abandon()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn abandon_sync(&self) -> Answer<bool> {
        Answer::of(|| Ok(self.held.abandon()))
    }
}
