//! The records that come with the library, as data (EX-CAP-03). What the table of the clause leaves open is ours.

use super::record::Capability;
use crate::error::{Code, Error, Result};
use crate::json::Value;

const RECORDS: &str = include_str!("shipped.json");

/// The records in the order of the table. They are templates: until an adapter comes, none is available (EX-CAP-06).
///
/// # Errors
/// `EXECUTION_INPUT` for a record that is malformed.
pub(super) fn records() -> Result<Vec<Capability>> {
    let malformed = || Error::new(Code::ExecutionInput, "the shipped records are malformed");
    match Value::parse(RECORDS) {
        Ok(Value::Array(records)) => records.into_iter().map(Capability::from_value).collect(),
        _ => Err(malformed()),
    }
}
