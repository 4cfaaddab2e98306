//! A record takes its place: the last step of every call that writes one.

use super::codec::MAX_RECORD_BYTES;
use super::seat::{ParsedRecord, RECORD, Seat};
use crate::error::{Code, Error, Result};
use crate::storage::{Directory, Durability, OpenFile, Replacement, publish};

/// One record to publish.
pub(crate) struct Publication<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) durability: Durability,
    /// What was judged under the lock.
    pub(crate) judged: Option<&'a ParsedRecord>,
}

/// Publishes a record. Answers its file where that can be described.
pub(crate) fn publish_record(
    seat: &Seat,
    directory: &dyn Directory,
    staged: &str,
    publication: &Publication<'_>,
) -> Result<Option<OpenFile>> {
    let Publication { bytes, durability, judged } = *publication;
    if bytes.len() as u64 > MAX_RECORD_BYTES {
        let message = format!("the record would be too large to be read again, bytes=`{}`", bytes.len());
        return Err(Error::new(Code::HarnessStateInput, message).with_reason("too-large"));
    }
    let judged = judged.filter(|parsed| !parsed.file.through_link).map(|parsed| parsed.file.metadata);
    let replacement = Replacement { name: RECORD, staged, bytes, durability, keep: true, judged };
    publish(directory, &replacement).map_err(|error| seat.io_at(RECORD, "publish the record", error))
}
