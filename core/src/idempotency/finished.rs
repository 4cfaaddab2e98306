//! A create that has finished, and what to do when its resource is gone.

use std::time::Duration;

use super::claim::{ClaimState, ClaimToken};
use super::{Begin, Change, ClaimName, Fingerprint, How, IdempotencyStore, Reservation};
use crate::error::Result;

/// What the first create made, and how it answered.
#[derive(Clone, Debug)]
pub struct FinishedClaim {
    store: IdempotencyStore,
    name: ClaimName,
    fingerprint: Fingerprint,
    token: ClaimToken,
    resource: String,
    answer: Option<Vec<u8>>,
    completed_ms: u64,
    how: How,
}

impl FinishedClaim {
    pub(super) fn new(
        (store, name, fingerprint): (IdempotencyStore, ClaimName, Fingerprint),
        token: ClaimToken,
        resource: String,
        answer: Option<Vec<u8>>,
        completed_ms: u64,
        how: How,
    ) -> Self {
        FinishedClaim { store, name, fingerprint, token, resource, answer, completed_ms, how }
    }

    /// The id of the thing.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The answer that the first create's caller got, byte for byte; none where the resource was only found afterwards.
    #[must_use]
    pub fn answer(&self) -> Option<&[u8]> {
        self.answer.as_deref()
    }

    /// When the create finished, in milliseconds since 1970.
    #[must_use]
    pub fn completed_ms(&self) -> u64 {
        self.completed_ms
    }

    /// How it came about.
    #[must_use]
    pub fn how(&self) -> How {
        self.how
    }

    /// Says that the resource is proved to be gone: the key names nothing any more, and exactly one of all who say so gets
    /// [`Begin::Create`]; the others wait for it. A claim that has been replaced meanwhile answers what replaced it. Once
    /// this has returned, the new reservation is durable. A read of the resource that failed or was denied proves nothing.
    ///
    /// # Errors
    /// As [`IdempotencyStore::begin`].
    pub fn recreate(&self) -> Result<Begin> {
        self.recreate_within(None)
    }

    /// As [`FinishedClaim::recreate`], with a deadline.
    ///
    /// # Errors
    /// As [`FinishedClaim::recreate`].
    pub fn recreate_within(&self, deadline: Option<Duration>) -> Result<Begin> {
        let mut patience = self.store.patience(deadline);
        let mut reserved = None;
        self.store.engine().change(&self.name, &mut patience, &mut |found| match found {
            Some(claim)
                if claim.token == self.token && matches!(claim.state, ClaimState::Finished { .. }) =>
            {
                let record = self.store.reserve(&self.fingerprint);
                reserved = Some(record.clone());
                Change::Put(record)
            }
            _ => {
                reserved = None;
                Change::Keep
            }
        })?;
        match reserved {
            Some(record) => {
                let asked = (self.store.clone(), self.name.clone());
                Ok(Begin::Create(Reservation::new(asked, record, How::Recreated)))
            }
            None => self.store.decide(&self.name, &self.fingerprint, None, &mut patience),
        }
    }

    /// Whether the claim still stands as it was read, so that a look at the resource that was made meanwhile was about
    /// this claim's. Read-only.
    ///
    /// # Errors
    /// Those of the store.
    pub fn still_stands(&self) -> Result<bool> {
        let found = self.store.engine().read(&self.name, &mut self.store.patience(None))?;
        let meaning = self.store.judge(found.as_ref(), &self.fingerprint);
        Ok(meaning == super::Meaning::Finished && found.is_some_and(|claim| claim.token == self.token))
    }
}
