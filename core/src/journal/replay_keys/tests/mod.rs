//! The key index over the faulty disk: what it finds, what it costs, what it makes of damage and of crashes.

mod crashes;
mod damage;
mod finding;
mod scanning;

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::digest::{hex, sha256};
use crate::storage::FileSystem;
use crate::storage::faulty_directory::{FaultyFileSystem, OperationKind};
use crate::testing::SimulatedClock;

const RUN: &str = "/task/run";
const LOG_PATH: &str = "/task/run/events.jsonl";
const KEYS_PATH: &str = "/task/run/event-keys";
/// Small parts, so that a few hundred keys go through every level.
const SMALL: Shape = Shape { recent: 8, fan_in: 2, sketches: 1 << 20 };

/// Smaller still, for what is tried at every operation.
const TINY: Shape = Shape { recent: 3, fan_in: 2, sketches: 1 << 20 };

/// A run with a log that grows, and what was put into it.
struct Run {
    files: FaultyFileSystem,
    log: Vec<u8>,
    sequence: u64,
    shape: Shape,
}

type Batch = (Vec<(Key, u64)>, Reach);

/// The replay key of the event with this number.
fn key(number: u64) -> Key {
    sha256(format!("[\"prov\",\"job\",\"turn\",\"e{number}\"]").as_bytes())
}

/// A record as EX-JRN-88 has it, with its newline.
fn line(sequence: u64, key: &Key) -> (Vec<u8>, u32) {
    let mut line = format!(
        "{{\"version\":1,\"taskId\":\"t\",\"runId\":\"r\",\"provider\":\"prov\",\"eventId\":\"e\\\"key\\\":\\\"{sequence}\",\
         \"key\":\"{}\",\"sequence\":{sequence},\"providerSequence\":null,\"provenance\":\"provider\",\
         \"timestamp\":1,\"type\":\"output\",\"data\":{{\"a\":1,\"key\":\"{}\"}}",
        hex(key),
        "0".repeat(64)
    );
    let crc = crc32c::crc32c(line.as_bytes());
    line.push_str(&format!(",\"crc\":\"{crc:08x}\"}}\n"));
    (line.into_bytes(), crc)
}

impl Run {
    fn new(shape: Shape) -> Self {
        let files = FaultyFileSystem::new(Arc::new(SimulatedClock::new(1_000_000)));
        files.plant_file(LOG_PATH, "").expect("planted");
        Run { files, log: Vec::new(), sequence: 0, shape }
    }

    fn directory(&self) -> Arc<dyn Directory> {
        self.files.open(Path::new(RUN)).expect("the run's directory opens")
    }

    fn acknowledged(&self) -> Acknowledged {
        Acknowledged { offset: self.log.len() as u64, sequence: self.sequence }
    }

    fn open(&self) -> Result<ReplayKeys> {
        let directory = self.files.open(Path::new(RUN)).map_err(Trouble::Index)?;
        ReplayKeys::open_shaped(&directory, None, self.acknowledged(), self.shape)
    }

    /// A batch that is durable in the log.
    fn append(&mut self, count: u64) -> Batch {
        let mut batch = Vec::new();
        let mut reach = Reach::default();
        for _ in 0..count {
            self.sequence += 1;
            let key = key(self.sequence);
            let (bytes, crc) = line(self.sequence, &key);
            self.log.extend_from_slice(&bytes);
            batch.push((key, self.sequence));
            reach = Reach { offset: self.log.len() as u64, sequence: self.sequence, crc };
        }
        self.plant_log();
        (batch, reach)
    }

    /// A batch of which the log knows nothing, for what never reads it.
    fn pretend(&mut self, count: u64) -> Batch {
        let batch: Vec<(Key, u64)> =
            (self.sequence + 1..=self.sequence + count).map(|number| (key(number), number)).collect();
        self.sequence += count;
        (batch, Reach { offset: self.sequence * 300, sequence: self.sequence, crc: 0 })
    }

    fn plant_log(&self) {
        self.files.overwrite(LOG_PATH, &self.log).expect("planted");
    }

    /// An open index over so many events, in pages of 10.
    fn filled(count: u64, shape: Shape) -> (Self, ReplayKeys) {
        let mut run = Run::new(shape);
        let mut keys = run.open().expect("opens");
        let mut left = count;
        while left > 0 {
            let now = left.min(10);
            let (batch, reach) = run.append(now);
            keys.insert(&batch, reach).expect("inserted");
            left -= now;
        }
        (run, keys)
    }

    /// The same without a log.
    fn pretended(count: u64, shape: Shape) -> (Self, ReplayKeys) {
        let mut run = Run::new(shape);
        let mut keys = run.open().expect("opens");
        for _ in 0..count / 100 {
            let (batch, reach) = run.pretend(100);
            keys.insert(&batch, reach).expect("inserted");
            run.files.sync_everything();
        }
        (run, keys)
    }

    fn reads(&self) -> u64 {
        self.files.counts().get(&OperationKind::ReadAt).copied().unwrap_or(0)
    }
}

/// What is found of the events with these numbers.
fn found(keys: &mut ReplayKeys, numbers: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
    let wanted: Vec<Key> = numbers.into_iter().map(key).collect();
    let mut found = Vec::new();
    keys.look_up(&wanted, &mut found).expect("looked up");
    found
}

/// Every event up to this number is found with its number, and some that are not there are not.
fn assert_exact(keys: &mut ReplayKeys, last: u64, context: &str) {
    let all: Vec<Option<u64>> = (1..=last).map(Some).collect();
    assert_eq!(found(keys, 1..=last), all, "{context}");
    assert_eq!(found(keys, last + 1..last + 21), vec![None; 20], "{context}");
}
