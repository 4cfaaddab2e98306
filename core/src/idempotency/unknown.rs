//! A create of which nobody knows whether it made its thing, and how that is settled.

use std::time::Duration;

use super::claim::{ClaimRecord, ClaimState, ClaimToken, Stamp, whole_ms};
use super::{Begin, Change, ClaimName, Fingerprint, How, IdempotencyStore, Meaning};
use crate::error::{Code, Error, Result};

/// A reservation whose owner is gone after the mark, or has not been heard of for too long. It stays so until it is
/// settled, or until its owner ends it after all.
#[derive(Clone, Debug)]
pub struct UnknownClaim {
    store: IdempotencyStore,
    name: ClaimName,
    fingerprint: Fingerprint,
    token: ClaimToken,
    how: How,
}

impl UnknownClaim {
    pub(super) fn new(
        (store, name, fingerprint): (IdempotencyStore, ClaimName, Fingerprint),
        token: ClaimToken,
        how: How,
    ) -> Self {
        UnknownClaim { store, name, fingerprint, token, how }
    }

    /// How it came about.
    #[must_use]
    pub fn how(&self) -> How {
        self.how
    }

    /// Says what was found out. `Some(resource)`: the thing exists; the answer is a [`Begin::Replay`] without a saved
    /// answer. `None`: it is proved not to exist; the answer is [`Begin::Create`]. Once this has returned, that is
    /// durable, and the former owner has lost. A claim that is not unknown any more answers what it is now.
    ///
    /// # Errors
    /// As [`IdempotencyStore::begin`]; `IDEMPOTENCY_INPUT` for an empty resource.
    pub fn settle(&self, found: Option<&str>) -> Result<Begin> {
        self.settle_within(found, None)
    }

    /// As [`UnknownClaim::settle`], with a deadline.
    ///
    /// # Errors
    /// As [`UnknownClaim::settle`].
    pub fn settle_within(&self, found: Option<&str>, deadline: Option<Duration>) -> Result<Begin> {
        if found == Some("") {
            let message = "the id of what was found is not empty";
            return Err(Error::new(Code::IdempotencyInput, message).with_reason("resource"));
        }
        let mut patience = self.store.patience(deadline);
        let mut settled = None;
        self.store.engine().change(&self.name, &mut patience, &mut |claim| {
            let is_unknown = claim.as_ref().is_some_and(|claim| claim.token == self.token)
                && self.store.judge(claim.as_ref(), &self.fingerprint) == Meaning::Unknown;
            if !is_unknown {
                settled = None;
                return Change::Keep;
            }
            // The token is fresh either way, so that the former owner's late completion finds another's claim.
            let mut record = self.store.reserve(&self.fingerprint);
            if let Some(resource) = found {
                record.state = ClaimState::Finished {
                    resource: resource.to_owned(),
                    answer: None,
                    completed_ms: Stamp::now(&*self.store.host().clock).wall_ms,
                    window_ms: whole_ms(self.store.options().window),
                };
            }
            settled = Some(record.clone());
            Change::Put(record)
        })?;
        let Some(record) = settled else {
            return self.store.decide(&self.name, &self.fingerprint, None, &mut patience);
        };
        self.answer(record)
    }

    fn answer(&self, record: ClaimRecord) -> Result<Begin> {
        let meaning = match record.state {
            ClaimState::Finished { .. } => {
                self.store.engine().announce();
                Meaning::Finished
            }
            ClaimState::Reserved { .. } => Meaning::Free(How::Settled),
        };
        self.store.answer(&self.name, &self.fingerprint, Some(record), meaning, Some(How::Settled))
    }
}
