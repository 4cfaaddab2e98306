//! What stands in an agent's directory: record, floor and lease, each alone and beside the others.

use super::files::{Place, unreadable};
use super::{Judged, Verdict};
use crate::error::{Result, one_line};
use crate::harness_state::{self, Options, Record};
use crate::storage::FileType;

const CLAIM: &str = "claim the seat again; readers take it for unknown until then";

pub(super) fn record(place: &Place<'_>, name: &str) -> Result<Judged> {
    let bytes = place.bytes(name)?;
    match harness_state::decode(&bytes) {
        Err(malformed) => Ok(Judged::new(Verdict::Corrupt, malformed.to_string(), CLAIM)),
        Ok(record) if !Options::default().accepts(&record.schema) => {
            let detail = format!("its schema is another, schema=`{}`", one_line(&record.schema));
            let remedy = "let writer and reader be of the same version, or claim the seat again";
            Ok(Judged::new(Verdict::ForeignVersion, detail, remedy))
        }
        Ok(_) => Ok(Judged::whole()),
    }
}

pub(super) fn floor(place: &Place<'_>) -> Result<Judged> {
    let floor = harness_state::floor_damage(&**place.directory)
        .map_err(|error| unreadable(harness_state::FLOOR, error))?;
    let remedy = "claim the seat again: the claim counts on from the record";
    Ok(floor.map_or_else(Judged::whole, |damage| Judged::new(Verdict::Corrupt, damage, remedy)))
}

/// The lease decides nothing by itself; beside a live record it has to name the record's session, or the death of that is
/// never seen.
pub(super) fn lease(place: &Place<'_>) -> Result<Judged> {
    let name = harness_state::LEASE;
    let metadata = place.directory.metadata(name).map_err(|error| unreadable(name, error))?;
    if metadata.file_type != FileType::Regular {
        return Ok(no_file());
    }
    let names_another = readable_record(place)
        .is_some_and(|record| harness_state::lease_names_another(&**place.directory, &record));
    if names_another {
        let detail = "it names another session than the record: the death of the record's is not seen";
        return Ok(Judged::new(Verdict::Gap, detail, "end the session that runs there, and start it again"));
    }
    Ok(Judged::whole())
}

/// A file whose content decides nothing, and which has to be a file.
pub(super) fn regular(place: &Place<'_>, name: &str) -> Result<Judged> {
    let metadata = place.directory.metadata(name).map_err(|error| unreadable(name, error))?;
    Ok(if metadata.file_type == FileType::Regular { Judged::whole() } else { no_file() })
}

fn no_file() -> Judged {
    let remedy = "stop every writer, remove what stands there, and start again";
    Judged::new(Verdict::Corrupt, "it is no regular file", remedy)
}

/// What has to stand in an agent's directory and does not. A crash leaves a floor without a record, and a lease is only made
/// over a record: a record without its floor, or floor and lease without a record, is what somebody took away.
pub(super) fn missing(place: &Place<'_>) -> Option<(&'static str, &'static str, Judged)> {
    let (has_floor, has_lease) = (place.has(harness_state::FLOOR), place.has(harness_state::LEASE));
    if has_floor
        && has_lease
        && !place.has(harness_state::RECORD)
        && !place.has_directory(harness_state::RECORD)
    {
        let judged = Judged::new(Verdict::Missing, "floor and lease are there, and the record is not", CLAIM);
        return Some((harness_state::RECORD, "record", judged));
    }
    let is_counted = || readable_record(place).is_some_and(|record| record.seq > 0);
    if !has_floor && !place.has_directory(harness_state::FLOOR) && is_counted() {
        let detail = "the record has a sequence, and the floor below it is not there";
        let remedy = "claim the seat again: the claim counts on from the record";
        return Some((harness_state::FLOOR, "floor", Judged::new(Verdict::Missing, detail, remedy)));
    }
    None
}

fn readable_record(place: &Place<'_>) -> Option<Record> {
    if !place.has(harness_state::RECORD) {
        return None;
    }
    let record = place.bytes(harness_state::RECORD).ok().and_then(|bytes| harness_state::decode(&bytes).ok());
    record.filter(|record| Options::default().accepts(&record.schema))
}
