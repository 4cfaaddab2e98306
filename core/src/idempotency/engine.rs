//! The trait behind which an engine keeps claims (IK-20).
//!
//! An engine knows nothing of the rules. It keeps records whole, changes one at a time in a transaction that excludes
//! every other process and thread, and makes durable what it has committed. `tests/conformance` holds the suite that
//! proves an engine by running every clause over it.

use std::fmt;
use std::sync::Arc;

use super::{ClaimName, ClaimRecord, Patience};
use crate::clock::Clock;
use crate::error::Result;
use crate::storage::Notifier;

/// What is to happen to the record of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing: the transaction writes nothing and syncs nothing.
    Keep,
    /// It stands there now, in the place of what stood there before.
    Put(ClaimRecord),
    /// The name is free.
    Remove,
}

/// What one call of a sweep did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Expired claims that are gone.
    pub removed: u64,
    /// Whether there may be more, so that another call is worth while.
    pub has_more: bool,
}

/// Where claims are kept.
pub trait ClaimStore: Send + Sync + fmt::Debug {
    /// The record of a name as the last commit left it. Writes nothing and waits for no writer.
    ///
    /// # Errors
    /// `IDEMPOTENCY_STORE_CORRUPT` and `IDEMPOTENCY_STORE_VERSION` when it cannot be understood,
    /// `IDEMPOTENCY_STORE_UNAVAILABLE` when it cannot be read, `IDEMPOTENCY_FORKED`, `IDEMPOTENCY_BUSY`.
    fn read(&self, name: &ClaimName, patience: &mut Patience) -> Result<Option<ClaimRecord>>;

    /// Changes the record of one name in one transaction: nobody else changes it between the reading of what `decide` is
    /// given and the commit of what it answers. Once this has returned, the change is durable and every other process
    /// sees it. `decide` is called at most once for each transaction that is begun, and again only when none was
    /// committed.
    ///
    /// # Errors
    /// As [`ClaimStore::read`]. Nothing was changed, unless the disk failed in the commit itself, which
    /// [`crate::Error::reason`] `commit` says: then it may or may not have happened.
    fn change(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        decide: &mut dyn FnMut(Option<ClaimRecord>) -> Change,
    ) -> Result<()>;

    /// Writes the record that `make` gives under a name that has none, and answers false where the name has one by now:
    /// then nothing was written. Once true has come back, the record is durable and every other process sees it. `make`
    /// is called once for each try.
    ///
    /// An engine that tells a name with a record from one without as it writes overrides this, and saves the look.
    ///
    /// # Errors
    /// As [`ClaimStore::change`].
    fn insert(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        make: &mut dyn FnMut() -> ClaimRecord,
    ) -> Result<bool> {
        let mut is_new = false;
        self.change(name, patience, &mut |found| {
            is_new = found.is_none();
            if is_new { Change::Put(make()) } else { Change::Keep }
        })?;
        Ok(is_new)
    }

    /// Writes the record that `make` gives in the place of exactly `held`, a reservation, and answers false where anything
    /// else stands there or nothing does: then nothing was written. Once true has come back, the record is durable and
    /// every other process sees it. `make` is called once for each try and keeps the token and the fingerprint.
    ///
    /// An engine that compares as it writes overrides this, and saves the reading.
    ///
    /// # Errors
    /// As [`ClaimStore::change`].
    fn replace(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        held: &ClaimRecord,
        make: &mut dyn FnMut() -> ClaimRecord,
    ) -> Result<bool> {
        let mut is_held = false;
        self.change(name, patience, &mut |found| {
            is_held = found.as_ref() == Some(held);
            if is_held { Change::Put(make()) } else { Change::Keep }
        })?;
        Ok(is_held)
    }

    /// Removes finished claims that have expired at this wall clock, a bounded number in one bounded transaction. It goes
    /// on where the last call of this store ended, and passes over what cannot be understood.
    ///
    /// # Errors
    /// As [`ClaimStore::change`].
    fn sweep(&self, wall_ms: u64, patience: &mut Patience) -> Result<Swept>;

    /// Proves that it can be written now, as far as that shows without writing; after a commit that failed, by one that
    /// changes nothing.
    ///
    /// # Errors
    /// What a create would be refused with.
    fn check(&self, patience: &mut Patience) -> Result<()>;

    /// Wakes whoever waits on [`ClaimStore::notifier`]. Called after a change that ends somebody's wait. It may fail
    /// silently, since waiters look from time to time anyway.
    fn announce(&self);

    /// What tells of announcements by any process from now on; none where the system does not tell of them.
    fn notifier(&self, clock: &Arc<dyn Clock>) -> Option<Box<dyn Notifier>>;
}
