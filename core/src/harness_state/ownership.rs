//! What fences: the floor beside the record, and the guard that proves ownership for as long as it is held.

use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{Directory, Durability, LockGuard, Replacement, publish};

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
        staged_prefix: STAGED_FLOOR,
        bytes: bytes.as_bytes(),
        durability: Durability::Durable,
        judged: None,
    };
    publish(directory, &replacement, host).map_err(|error| {
        let message = format!("cannot raise the sequence floor, file=`{FLOOR}` sequence=`{sequence}`");
        Error::new(Code::HarnessStateIo, message).with_source(error)
    })
}

/// Holds the record's lock while the session owns the seat (HS-68): no claim and no write lands until it is dropped.
///
/// Keep it for as short a time as possible: every other writer waits, and hooks wait only 250 ms.
#[derive(Debug)]
pub struct OwnershipGuard {
    lock: LockGuard,
    sequence: u64,
}

impl OwnershipGuard {
    pub(crate) fn new(lock: LockGuard, sequence: u64) -> Self {
        OwnershipGuard { lock, sequence }
    }

    /// The sequence that was found to be the session's.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `forked` when the guard came through a fork: it holds nothing here.
    pub fn sequence(&self) -> Result<u64> {
        refuse_forked(self.lock.is_forked()).map(|()| self.sequence)
    }
}

pub(crate) fn refuse_forked(is_forked: bool) -> Result<()> {
    if is_forked {
        let message = "the lock was taken before a fork and belongs to the parent";
        return Err(Error::new(Code::HarnessStateInput, message).with_reason("forked"));
    }
    Ok(())
}
