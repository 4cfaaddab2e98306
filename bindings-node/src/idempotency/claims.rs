//! Creates that have finished, that run, and of which nobody knows, for JavaScript.

use std::sync::Arc;
use std::time::Duration;

use gallivant_core::idempotency::{FinishedClaim, Ticket, UnknownClaim};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::parts::{BeginParts, deadline, left};
use crate::answer::Answer;
use crate::job::{Promised, promise};
use crate::options::{unsigned, whole_ms};
use crate::waiting::{NativeWait, Patience};

/// What the first create made.
#[napi]
#[derive(Debug)]
pub struct NativeFinished {
    pub(super) claim: FinishedClaim,
}

#[napi]
impl NativeFinished {
    /// One try of saying that the resource is proved to be gone.
    #[napi(catch_unwind)]
    pub fn recreate_async(&self, wait: &NativeWait) -> Promised<BeginParts> {
        let (claim, clock) = (self.claim.clone(), Arc::clone(&wait.wait));
        promise(wait, Patience::SlicesWithin, move || Ok(claim.recreate_within(left(&clock))?.into()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn recreate_sync(&self, deadline_ms: Option<BigInt>) -> Answer<BeginParts> {
        Answer::of(|| Ok(self.claim.recreate_within(deadline(deadline_ms.as_ref())?)?.into()))
    }

    /// Whether the claim still stands as it was read.
    #[napi(catch_unwind)]
    pub fn still_stands_async(&self, wait: &NativeWait) -> Promised<bool> {
        let claim = self.claim.clone();
        promise(wait, Patience::Slices, move || claim.still_stands())
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn still_stands_sync(&self) -> Answer<bool> {
        Answer::of(|| self.claim.still_stands())
    }
}

/// A create that runs in this or another process.
#[napi]
#[derive(Debug)]
pub struct NativeTicket {
    pub(super) ticket: Ticket,
}

#[napi]
impl NativeTicket {
    /// One try of asking again, without waiting for the create.
    #[napi(catch_unwind)]
    pub fn look_async(&self, wait: &NativeWait) -> Promised<BeginParts> {
        let (ticket, clock) = (self.ticket.clone(), Arc::clone(&wait.wait));
        promise(wait, Patience::SlicesWithin, move || Ok(ticket.look_within(left(&clock))?.into()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn look_sync(&self, deadline_ms: Option<BigInt>) -> Answer<BeginParts> {
        Answer::of(|| Ok(self.ticket.look_within(deadline(deadline_ms.as_ref())?)?.into()))
    }

    /// The look at the deadline: a create that still runs is an error.
    #[napi(catch_unwind)]
    pub fn last_look_async(&self, wait: &NativeWait) -> Promised<BeginParts> {
        let ticket = self.ticket.clone();
        promise(wait, Patience::SlicesWithin, move || Ok(ticket.wait(Duration::ZERO)?.into()))
    }

    /// Waits on the calling thread.
    #[napi(catch_unwind)]
    pub fn wait_sync(&self, deadline_ms: BigInt) -> Answer<BeginParts> {
        Answer::of(|| {
            let deadline = Duration::from_millis(unsigned("deadlineMs", &deadline_ms)?);
            Ok(self.ticket.wait(deadline)?.into())
        })
    }

    /// When to look again at the latest, in milliseconds, with notices of ends or without.
    #[napi(catch_unwind)]
    pub fn next_look_ms(&self, has_notices: bool) -> Answer<u32> {
        Answer::of(|| {
            let pause = whole_ms(self.ticket.next_look(has_notices)).max(1);
            Ok(u32::try_from(pause).unwrap_or(u32::MAX))
        })
    }
}

/// A create of which nobody knows whether it made its thing.
#[napi]
#[derive(Debug)]
pub struct NativeUnknown {
    pub(super) claim: UnknownClaim,
}

#[napi]
impl NativeUnknown {
    /// One try of saying what was found out; null: the thing is proved not to exist.
    #[napi(catch_unwind)]
    pub fn settle_async(&self, found: Option<String>, wait: &NativeWait) -> Promised<BeginParts> {
        let (claim, clock) = (self.claim.clone(), Arc::clone(&wait.wait));
        promise(wait, Patience::SlicesWithin, move || {
            Ok(claim.settle_within(found.as_deref(), left(&clock))?.into())
        })
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn settle_sync(&self, found: Option<String>, deadline_ms: Option<BigInt>) -> Answer<BeginParts> {
        Answer::of(|| {
            let deadline = deadline(deadline_ms.as_ref())?;
            Ok(self.claim.settle_within(found.as_deref(), deadline)?.into())
        })
    }
}
