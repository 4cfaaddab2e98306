//! What fences: the floor beside the record, and the guard that proves ownership for as long as it is held.

use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{Directory, Durability, ForkSafe, LockGuard, Replacement, StagedNames, publish};

use super::seat::{FLOOR, Floor, STAGED_FLOOR};

/// Raises the floor to `sequence`, durably, if it stands lower. `found` was read under the lock that is held.
pub(crate) fn raise_floor(
    directory: &dyn Directory,
    found: &Floor,
    sequence: u64,
    host: &Host,
) -> Result<()> {
    if sequence <= found.value {
        return Ok(());
    }
    let bytes = format!("{sequence}\n");
    let replacement = Replacement {
        name: FLOOR,
        staged: &StagedNames::new(host).next(STAGED_FLOOR),
        bytes: bytes.as_bytes(),
        durability: Durability::Durable,
        keep: false,
        judged: None,
    };
    publish(directory, &replacement).map(drop).map_err(|error| {
        let message = format!("cannot raise the sequence floor, file=`{FLOOR}` sequence=`{sequence}`");
        Error::new(Code::HarnessStateIo, message).with_source(error)
    })
}

/// Holds the record's lock while the session owns the seat (HS-68): no claim and no write lands until it is released
/// or dropped. Threads may share it.
///
/// Keep it for as short a time as possible: every other writer waits, and hooks wait only 250 ms.
///
/// In a forked child it holds nothing, whatever other threads did with it at the moment of the fork: the lock is the
/// parent's and stays so.
#[derive(Debug)]
pub struct OwnershipGuard {
    held: ForkSafe<Held>,
}

/// What a guard holds. [`ForkSafe`] makes it anew in a forked child.
enum Held {
    Lock { _lock: LockGuard, sequence: u64 },
    Released,
    Forked,
}

impl OwnershipGuard {
    pub(crate) fn new(lock: LockGuard, sequence: u64) -> Self {
        let held = ForkSafe::new(|| Held::Forked);
        *held.lock() = Held::Lock { _lock: lock, sequence };
        OwnershipGuard { held }
    }

    /// The sequence that was found to be the session's.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `forked` when the guard came through a fork, and with reason `released` when it
    /// was released: it holds nothing then.
    pub fn sequence(&self) -> Result<u64> {
        match *self.held.lock() {
            Held::Lock { sequence, .. } => Ok(sequence),
            Held::Forked => Err(forked()),
            Held::Released => {
                let message = "the guard was released and proves nothing any more";
                Err(Error::new(Code::HarnessStateInput, message).with_reason("released"))
            }
        }
    }

    /// Lets go of the lock. Does nothing the second time, and nothing in a forked child.
    pub fn release(&self) {
        let mut held = self.held.lock();
        if matches!(*held, Held::Lock { .. }) {
            let lock = std::mem::replace(&mut *held, Held::Released);
            // Closing may wait for the disk; nobody waits for that behind the mutex.
            drop(held);
            drop(lock);
        }
    }
}

pub(crate) fn refuse_forked(is_forked: bool) -> Result<()> {
    if is_forked { Err(forked()) } else { Ok(()) }
}

fn forked() -> Error {
    let message = "the lock was taken before a fork and belongs to the parent";
    Error::new(Code::HarnessStateInput, message).with_reason("forked")
}
