//! The projection's own checkpoint and its fixed-width index: what `log-meta.json` and `job.idx` say (EX-JRN-25 to 28).

use std::io;

use super::error::io_error;
use super::version::{self, LOG_META_VERSION as VERSION};
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};
use crate::storage::Directory;

/// The public lines of a run, one for each record that is no gap.
pub const PROJECTED: &str = "job.log";
/// Where each of them begins, eight bytes a number.
pub const INDEX: &str = "job.idx";
/// How far both are acknowledged.
pub const LOG_META: &str = "log-meta.json";
/// Bytes of one entry of the index.
pub(super) const ENTRY: u64 = 8;
const MAX_BYTES: u64 = 64 * 1024;

/// What `log-meta.json` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// The number of the index's first entry.
    pub(super) first: u64,
    /// The number of the entry that comes next.
    pub(super) next: u64,
    /// The acknowledged length of `job.log`.
    pub(super) log_bytes: u64,
    /// Members that this package does not know, with their values' texts (kept on rewrite).
    unknown: Vec<(String, String)>,
}

impl Meta {
    /// One without a line, whose first is this number.
    pub(super) fn starting_at(first: u64) -> Self {
        Meta { first, next: first, log_bytes: 0, unknown: Vec::new() }
    }

    /// The same file with other numbers.
    pub(super) fn moved(&self, first: u64, next: u64, log_bytes: u64) -> Self {
        Meta { first, next, log_bytes, unknown: self.unknown.clone() }
    }

    /// Where in the index an entry stands.
    pub(super) fn entry_at(&self, sequence: u64) -> u64 {
        sequence.saturating_sub(self.first) * ENTRY
    }

    /// How long the index is.
    pub(super) fn index_bytes(&self) -> u64 {
        self.entry_at(self.next)
    }

    /// Reads the bytes of `log-meta.json`. Its version comes before everything else (EX-UPG-09).
    ///
    /// # Errors
    /// `EXECUTION_VERSION`; `EXECUTION_JOURNAL` (`checkpoint-invalid`).
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let value = std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok());
        let members =
            value.as_ref().and_then(Value::as_object).ok_or_else(|| invalid("it is no JSON object"))?;
        version::check("log-meta", LOG_META, members.get("version"), VERSION)?;
        let number = |object: &Object, key: &str| {
            object
                .get(key)
                .and_then(Value::as_number)
                .and_then(crate::json::Number::as_u64)
                .ok_or_else(|| invalid("a number is missing or is none"))
        };
        if members.get("encoding").and_then(Value::as_str) != Some("offset-plus-one")
            || members.get("byteOrder").and_then(Value::as_str) != Some("le")
        {
            return Err(invalid("its encoding is another one"));
        }
        let (first, next) = (number(members, "firstSequence")?, number(members, "nextSequence")?);
        let log_bytes = number(members, "logBytes")?;
        if first == 0 || next < first || (next - first).checked_mul(ENTRY).is_none() {
            return Err(invalid("its numbers contradict each other"));
        }
        let known = ["version", "encoding", "firstSequence", "nextSequence", "byteOrder", "logBytes"];
        let unknown = members.iter().filter(|(key, _)| !known.contains(key));
        let unknown = unknown.map(|(key, value)| (key.to_owned(), value.to_json())).collect();
        Ok(Meta { first, next, log_bytes, unknown })
    }

    pub(super) fn encode(&self) -> String {
        let Meta { first, next, log_bytes, unknown } = self;
        let mut out = format!(
            "{{\"version\":{VERSION},\"encoding\":\"offset-plus-one\",\"firstSequence\":{first},\
             \"nextSequence\":{next},\"byteOrder\":\"le\",\"logBytes\":{log_bytes}"
        );
        for (key, value) in unknown {
            out.push(',');
            crate::json::canonical::write_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push_str("}\n");
        out
    }
}

/// Reads `log-meta.json`; none where nothing stands there.
///
/// # Errors
/// `EXECUTION_IO` for whatever is not a missing file (EX-JRN-85), `EXECUTION_VERSION`, `EXECUTION_JOURNAL`.
pub(super) fn read_meta(run: &dyn Directory) -> Result<Option<Meta>> {
    let mut bytes = Vec::new();
    match run.read(LOG_META, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("log-meta.json cannot be read", error)),
        Ok(file) if file.oversized => Err(invalid("it is too long")),
        Ok(_) => Meta::parse(&bytes).map(Some),
    }
}

/// Where a line begins, as an entry has it; none for a gap (EX-JRN-26).
pub(super) fn offset_of(entry: u64) -> Option<u64> {
    entry.checked_sub(1)
}

/// The entry of a line that begins there.
pub(super) fn entry_of(offset: u64) -> [u8; ENTRY as usize] {
    (offset + 1).to_le_bytes()
}

/// Entries from their bytes.
pub(super) fn entries(bytes: &[u8]) -> Vec<u64> {
    let chunks = bytes.chunks_exact(ENTRY as usize);
    chunks.filter_map(|entry| Some(u64::from_le_bytes(entry.try_into().ok()?))).collect()
}

fn invalid(why: &str) -> Error {
    Error::new(Code::ExecutionJournal, format!("log-meta.json makes no sense: {why}"))
        .with_reason("checkpoint-invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"version":2,"encoding":"offset-plus-one","firstSequence":3,"nextSequence":9,"byteOrder":"le","logBytes":70,"theirs":[1]}"#;

    #[test]
    fn ex_jrn_27_it_is_read_and_written_with_what_is_not_known() {
        let meta = Meta::parse(GOOD.as_bytes()).expect("good");
        assert_eq!((meta.first, meta.next, meta.log_bytes, meta.index_bytes()), (3, 9, 70, 48));
        assert_eq!(meta.encode(), format!("{GOOD}\n"));
    }

    #[test]
    fn ex_upg_09_the_version_comes_first() {
        for version in ["1", "3", "2.0", "\"2\"", "null", "true"] {
            let text = GOOD.replace("\"version\":2", &format!("\"version\":{version}")).replace(":9,", ":0,");
            let refused = Meta::parse(text.as_bytes()).expect_err(version);
            assert_eq!((refused.code(), refused.reason()), (Code::ExecutionVersion, Some("log-meta")));
            assert!(refused.remedy().contains("a new dispatch is not a migration"), "{}", refused.remedy());
        }
        let missing = GOOD.replace("\"version\":2,", "");
        assert_eq!(Meta::parse(missing.as_bytes()).expect_err("none").code(), Code::ExecutionVersion);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (from, to) in [
            (":9,", ":2,"),
            (":3,", ":0,"),
            (":70", ":-1"),
            ("offset-plus-one", "offset"),
            ("\"le\"", "\"be\""),
            (":9,", ":\"9\","),
            ("}", ""),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let refused = Meta::parse(text.as_bytes()).expect_err(to);
            assert_eq!(
                (refused.code(), refused.reason()),
                (Code::ExecutionJournal, Some("checkpoint-invalid"))
            );
        }
    }
}
