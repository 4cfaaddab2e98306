//! `journal.json`: how far the log is acknowledged, and the one batch that may stand behind that.

use std::io;

use super::error::{Refusal, io_error};
use super::event::{Key, Provenance};
use super::record::parse_key;
use super::scan::Position;
use super::version::{VERSION, shown};
use crate::digest::push_hex;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::json::{Number, Object, Value, canonical};
use crate::storage::{
    self, Directory, Durability, Metadata, OpenFile, Replacement, StagedNames, sweep_abandoned,
};

/// The checkpoint's name.
pub const CHECKPOINT: &str = "journal.json";
const STAGED: &str = ".journal.json.tmp-";
/// The highest offset that a file can have (off_t), and the highest number that a record gets: nothing overflows.
pub(super) const MAX_NUMBER: u64 = i64::MAX.unsigned_abs();
/// A pending batch has at most 65,537 bytes of records, and describes each by members that stand in it too.
const MAX_BYTES: u64 = 1024 * 1024;

/// What `journal.json` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// What of the log is acknowledged.
    pub(super) acknowledged: Position,
    /// The records of the batch that begins there. Empty where none is pending.
    pub(super) pending: Vec<Pending>,
    /// Members that this package does not know, with their values' texts (kept on rewrite).
    pub(super) unknown: Vec<(String, String)>,
}

/// One record of a pending batch. Its number is its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    /// The redacted event id.
    pub(super) event_id: String,
    pub(super) key: Key,
    pub(super) provider_sequence: Option<Number>,
    pub(super) provenance: Provenance,
}

impl Checkpoint {
    /// Reads the bytes of `journal.json`. Its version comes before everything else (EX-UPG-09).
    pub(super) fn parse(bytes: &[u8]) -> std::result::Result<Self, Refusal> {
        let invalid = Refusal::CheckpointInvalid;
        let text = std::str::from_utf8(bytes).map_err(|_| invalid("the bytes are not UTF-8"))?;
        let value = Value::parse(text).map_err(|_| invalid("the text is not one JSON object"))?;
        let members = value.as_object().ok_or(invalid("the text is not one JSON object"))?;
        match members.get("version") {
            Some(Value::Number(number)) if number.as_str() == "1" => {}
            found => return Err(Refusal::Version(found.map(shown))),
        }
        let number = |object: &Object, key: &str| {
            let number = object.get(key).and_then(Value::as_number).filter(|number| number.is_integer())?;
            number.as_u64().filter(|number| *number <= MAX_NUMBER)
        };
        let offset = number(members, "offset").ok_or(invalid("offset is no integer from 0"))?;
        let sequence = number(members, "sequence").ok_or(invalid("sequence is no integer from 0"))?;
        if (offset == 0) != (sequence == 0) {
            return Err(invalid("offset and sequence contradict each other"));
        }
        let pending = match members.get("pending") {
            Some(Value::Null) => Vec::new(),
            Some(Value::Object(pending)) => {
                if number(pending, "offset") != Some(offset) {
                    return Err(invalid("the pending batch does not begin at offset"));
                }
                if number(pending, "sequence") != sequence.checked_add(1) {
                    return Err(invalid("the pending batch does not begin with the next number"));
                }
                let records = pending.get("records").and_then(Value::as_array).unwrap_or_default();
                if records.is_empty() {
                    return Err(invalid("the pending batch has no records"));
                }
                let records = records.iter().map(Pending::parse).collect::<Option<Vec<_>>>();
                records.ok_or(invalid("a pending record lacks a member or has a wrong one"))?
            }
            _ => return Err(invalid("pending is neither null nor a batch")),
        };
        if sequence + pending.len() as u64 > MAX_NUMBER {
            return Err(invalid("the numbers end"));
        }
        let known = ["version", "offset", "sequence", "pending"];
        let unknown = members.iter().filter(|(key, _)| !known.contains(key));
        let unknown = unknown.map(|(key, value)| (key.to_owned(), value.to_json())).collect();
        Ok(Checkpoint { acknowledged: Position { offset, sequence }, pending, unknown })
    }

    pub(super) fn encode(&self) -> String {
        let Position { offset, sequence } = self.acknowledged;
        // Room for nearly all of it: a record's members beside its id have less than so much.
        let records = self.pending.iter().map(|record| record.event_id.len() + 160).sum::<usize>();
        let mut out = String::with_capacity(128 + records);
        out.push_str(&format!(
            "{{\"version\":{VERSION},\"offset\":{offset},\"sequence\":{sequence},\"pending\":"
        ));
        if self.pending.is_empty() {
            out.push_str("null");
        } else {
            out.push_str(&format!("{{\"offset\":{offset},\"sequence\":{},\"records\":[", sequence + 1));
            for (at, record) in self.pending.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                record.write(&mut out);
            }
            out.push_str("]}");
        }
        for (key, value) in &self.unknown {
            out.push(',');
            canonical::write_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push_str("}\n");
        out
    }
}

impl Pending {
    fn parse(value: &Value) -> Option<Self> {
        let provider_sequence = match value.get("providerSequence")? {
            Value::Null => None,
            Value::Number(number) if !number.as_str().starts_with('-') => Some(number.clone()),
            _ => return None,
        };
        Some(Pending {
            event_id: value.get("eventId")?.as_str()?.to_owned(),
            key: parse_key(value.get("key")?.as_str()?)?,
            provider_sequence,
            provenance: Provenance::from_word(value.get("provenance")?.as_str()?)?,
        })
    }

    fn write(&self, out: &mut String) {
        out.push_str("{\"eventId\":");
        canonical::write_string(&self.event_id, out);
        out.push_str(",\"key\":\"");
        push_hex(&self.key, out);
        out.push_str("\",\"providerSequence\":");
        out.push_str(self.provider_sequence.as_ref().map_or("null", Number::as_str));
        out.push_str(",\"provenance\":\"");
        out.push_str(self.provenance.word());
        out.push_str("\"}");
    }
}

/// `journal.json` on disk, as this process last saw or wrote it.
#[derive(Debug)]
pub(super) struct Stored {
    names: StagedNames,
    /// What stands there, kept open so that its inode is not used again; none where nothing stands there, or where a
    /// failed write leaves open what does.
    seen: Option<OpenFile>,
}

impl Stored {
    pub(super) fn new(host: &Host) -> Self {
        Stored { names: StagedNames::new(host), seen: None }
    }

    /// Reads and judges what stands there; none where nothing does.
    ///
    /// # Errors
    /// `EXECUTION_IO` for whatever is not a missing file (EX-JRN-85); `EXECUTION_VERSION`, `EXECUTION_JOURNAL`.
    pub(super) fn read(&mut self, run: &dyn Directory) -> Result<Option<Checkpoint>> {
        self.seen = None;
        match read(run)? {
            None => Ok(None),
            Some((checkpoint, file)) => {
                self.seen = Some(file);
                Ok(Some(checkpoint))
            }
        }
    }

    /// Whether the file that was last read or written still stands there, untouched.
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub(super) fn still_stands(&self, run: &dyn Directory) -> Result<bool> {
        match run.metadata(CHECKPOINT) {
            Ok(now) => Ok(self.seen.as_ref().is_some_and(|seen| same(&seen.metadata, &now))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.seen.is_none()),
            Err(error) => Err(io_error("journal.json cannot be looked at", error)),
        }
    }

    /// Replaces it, durably. After an error it is not known which of the two contents stands there.
    ///
    /// # Errors
    /// As the system says it.
    pub(super) fn persist(&mut self, run: &dyn Directory, checkpoint: &Checkpoint) -> io::Result<()> {
        self.seen = None;
        let text = checkpoint.encode();
        let staged = self.names.next(STAGED);
        self.seen = storage::publish(
            run,
            &Replacement {
                name: CHECKPOINT,
                staged: &staged,
                bytes: text.as_bytes(),
                durability: Durability::Durable,
                keep: true,
                judged: None,
            },
        )?;
        Ok(())
    }

    /// Removes what crashed writers left staged.
    pub(super) fn sweep(run: &dyn Directory, host: &Host) {
        // What cannot be removed now is left for the next opening.
        let _ = sweep_abandoned(run, &[STAGED], host);
    }
}

fn same(seen: &Metadata, now: &Metadata) -> bool {
    seen.identity == now.identity && seen.size == now.size && seen.modified_ns == now.modified_ns
}

/// Reads and judges `journal.json` without keeping anything; none where nothing stands there.
///
/// # Errors
/// As [`Stored::read`].
pub(super) fn read(run: &dyn Directory) -> Result<Option<(Checkpoint, OpenFile)>> {
    let mut bytes = Vec::new();
    match run.read(CHECKPOINT, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("journal.json cannot be read", error)),
        Ok(file) if file.oversized => {
            Err(Error::from(Refusal::CheckpointInvalid("it is longer than any batch makes it")))
        }
        Ok(file) => Ok(Some((Checkpoint::parse(&bytes)?, file))),
    }
}
