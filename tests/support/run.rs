//! A run's journal on a simulated machine, and the same bytes read by rules that are written down here again.

use gallivant_core::Result;
use gallivant_core::journal::{Appended, Content, Event, Journal, Owner, Provenance};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::{FaultyFileSystem, Simulation, simulated_host};

pub(crate) const RUN: &str = "/task/run-1";
pub(crate) const LOG: &str = "/task/run-1/events.jsonl";
pub(crate) const CHECKPOINT: &str = "/task/run-1/journal.json";

/// Hides one word, and nothing where that is empty.
pub(crate) fn hiding(word: &str) -> Redactor {
    Redactor::new(&Secrets::lenient([word]), Patterns::Off).expect("a small one")
}

pub(crate) fn owner() -> Owner {
    Owner {
        task_id: "t-1".to_owned(),
        run_id: "run-1".to_owned(),
        provider: "prov".to_owned(),
        job_id: Some("job-1".to_owned()),
        turn_id: Some("turn-1".to_owned()),
    }
}

/// A machine with an empty run's directory.
pub(crate) fn machine() -> Simulation {
    let (_, simulation) = simulated_host(7);
    simulation.files.plant_directory(RUN).expect("planted");
    simulation
}

pub(crate) fn journal(simulation: &Simulation) -> Journal {
    Journal::open(RUN, owner(), &simulation.host(), &hiding("")).expect("the run's directory opens")
}

pub(crate) fn append(simulation: &Simulation, page: &[Event]) -> Result<Appended> {
    Journal::open(RUN, owner(), &simulation.host(), &hiding(""))?.append(page)
}

pub(crate) fn event(id: &str, data: &str) -> Event {
    Event {
        id: id.to_owned(),
        provider_sequence: None,
        provenance: Provenance::Provider,
        timestamp: Some(1_779_999_940_000_u64.into()),
        content: Content::Said { kind: "output".to_owned(), data: data.into() },
    }
}

/// Small events with these ids.
pub(crate) fn page(ids: &[&str]) -> Vec<Event> {
    ids.iter().map(|id| event(id, "x")).collect()
}

/// A record as any program finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) sequence: u64,
    pub(crate) event_id: String,
    pub(crate) key: String,
    /// Why it is a gap, where it is one.
    pub(crate) gap: Option<String>,
}

/// What the checkpoint says: offset, number, and how many records are pending.
pub(crate) fn acknowledged(files: &FaultyFileSystem) -> (u64, u64, usize) {
    let Ok(bytes) = files.contents(CHECKPOINT) else { return (0, 0, 0) };
    let value: serde_json::Value = serde_json::from_slice(&bytes).expect("the checkpoint is whole");
    assert_eq!(value["version"], 1);
    let pending = value["pending"]["records"].as_array().map_or(0, Vec::len);
    (value["offset"].as_u64().expect("a number"), value["sequence"].as_u64().expect("a number"), pending)
}

/// The acknowledged bytes of the log.
pub(crate) fn log(files: &FaultyFileSystem) -> Vec<u8> {
    let (offset, ..) = acknowledged(files);
    let mut bytes = files.contents(LOG).unwrap_or_default();
    let offset = usize::try_from(offset).expect("small");
    assert!(bytes.len() >= offset, "the log is shorter than acknowledged");
    bytes.truncate(offset);
    bytes
}

/// The acknowledged records, every one of which is whole and carries the next number, up to the acknowledged one.
pub(crate) fn rows(files: &FaultyFileSystem) -> Vec<Row> {
    let text = String::from_utf8(log(files)).expect("UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "acknowledged bytes end a line");
    let rows: Vec<Row> = text.lines().map(row).collect();
    let numbers: Vec<u64> = rows.iter().map(|row| row.sequence).collect();
    assert_eq!(numbers, (1..=rows.len() as u64).collect::<Vec<_>>(), "{text}");
    assert_eq!(acknowledged(files).1, rows.len() as u64, "{text}");
    rows
}

/// The one record that a line is.
pub(crate) fn row(line: &str) -> Row {
    assert!(line.len() <= 65_536, "{} bytes", line.len());
    let (covered, tail) = line.split_at(line.len() - 18);
    assert_eq!(tail, format!(",\"crc\":\"{:08x}\"}}", crc32c(covered.as_bytes())), "{line}");
    let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let text = |key: &str| value[key].as_str().unwrap_or_else(|| panic!("no {key} in {line}")).to_owned();
    let is_gap = value["type"] == "gap";
    Row {
        sequence: value["sequence"].as_u64().expect("a number"),
        event_id: text("eventId"),
        key: text("key"),
        gap: is_gap.then(|| value["data"]["reason"].as_str().expect("a reason").to_owned()),
    }
}

/// CRC-32C by its definition, a byte at a time.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    const fn of_byte(byte: u32) -> u32 {
        let (mut crc, mut bit) = (byte, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        crc
    }
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = of_byte(byte as u32);
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(u32::MAX, |crc, byte| (crc >> 8) ^ TABLE[(crc as u8 ^ byte) as usize])
}

/// A line of ours with anything in it, and the check value that it then has.
pub(crate) fn sealed(content: &str) -> String {
    let covered = content.strip_suffix('}').expect("an object");
    format!("{covered},\"crc\":\"{:08x}\"}}\n", crc32c(covered.as_bytes()))
}
