//! The index of the replay keys, in memory: made by one pass over the acknowledged bytes.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::error::io_error;
use super::event::Key;
use super::scan::{Found, Position, walk};
use super::writer::LOG;
use crate::error::Result;
use crate::storage::{DataAccess, Directory};

/// What of the log is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) offset: u64,
    pub(crate) sequence: u64,
}

/// How far an index reaches (EX-JRN-81). All zero: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(dead_code, reason = "an index in memory needs no proof of what it covers")]
pub(crate) struct Reach {
    pub(crate) offset: u64,
    pub(crate) sequence: u64,
    pub(crate) crc: u32,
}

#[derive(Debug)]
pub(crate) struct ReplayKeys {
    numbers: HashMap<Key, u64>,
}

impl ReplayKeys {
    pub(crate) fn open(run: &Arc<dyn Directory>, acknowledged: Acknowledged) -> Result<Self> {
        let mut numbers = HashMap::new();
        let to = Position { offset: acknowledged.offset, sequence: acknowledged.sequence };
        match run.open_data(LOG, DataAccess::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => {
                let passed = opened.and_then(|log| {
                    walk(&*log, Position::default(), to, &mut |found| {
                        if let Found::Record { line, .. } = found
                            && let Some(key) = line.key()
                        {
                            numbers.entry(key).or_insert(line.sequence);
                        }
                        ControlFlow::Continue(())
                    })
                });
                passed.map_err(|error| io_error("events.jsonl cannot be read", error))?;
            }
        }
        Ok(ReplayKeys { numbers })
    }

    pub(crate) fn look_up(&mut self, keys: &[Key], found: &mut Vec<Option<u64>>) -> Result<()> {
        found.clear();
        found.extend(keys.iter().map(|key| self.numbers.get(key).copied()));
        Ok(())
    }

    pub(crate) fn insert(&mut self, batch: &[(Key, u64)], _reach: Reach) -> Result<()> {
        self.numbers.extend(batch.iter().copied());
        Ok(())
    }
}
