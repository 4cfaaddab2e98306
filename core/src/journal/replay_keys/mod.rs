//! The index of the replay keys: which events are in the journal, without reading the journal.
//!
//! `event-keys/` can be rebuilt from `events.jsonl` at any time and is never the only copy of anything. Nothing in it is
//! ever synced. What is there proves itself, and says how far of the log it reaches; what does not is thrown away.
//!
//! - `entry`: a key with its number, as bytes;
//! - `sketch`: what of a segment is kept in memory;
//! - `filter`: what tells of a new key that no segment has it;
//! - `segment`: immutable sorted files;
//! - `recent`: the file of the keys that came last, which lists the segments;
//! - `recent_keys`: these in memory;
//! - `merge`: making one segment of several, a slice at a time;
//! - `store`: these together: adding, finding, and putting segments in order;
//! - `room`: what has the memory;
//! - `log`: reading keys from `events.jsonl`.
//!
//! A page of new keys costs one write, whatever the length of the history; one in some eighty also writes a segment and
//! merges a bounded number of entries. A page of known keys costs about one read a key and no write.

mod entry;
mod filter;
mod log;
mod merge;
mod recent;
mod recent_keys;
mod room;
mod segment;
mod sketch;
mod store;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use store::Store;

use super::error::io_error;
use super::event::Key;
pub(crate) use super::scan::Position as Acknowledged;
use super::writer::LOG;

use crate::error::{Code, Error, Result};
use crate::storage::{DataAccess, DataFile, Directory};

/// The directory of the index below that of the run.
const DIRECTORY: &str = "event-keys";
/// How many keys are put down together when the index catches up with the log.
const CAUGHT_UP_AT_ONCE: usize = 1024;

/// How far an index reaches: the last record that it covers (EX-JRN-81). All zero where it covers none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Where in the log that record ends, its newline included.
    pub(crate) offset: u64,
    /// Its number.
    pub(crate) sequence: u64,
    /// Its check value.
    pub(crate) crc: u32,
}

/// How large the parts of an index are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// How many keys come together before they become a segment.
    pub(crate) recent: usize,
    /// How many segments of one level become one of the next.
    pub(crate) fan_in: usize,
    /// Bytes of memory that all sketches together may take.
    pub(crate) sketches: u64,
}

impl Shape {
    /// What is used: at 10,000,000 keys the sketches keep one plane and take at most 13.2 MB, and what else there is takes
    /// less than the rest of 16 MiB (EX-JRN-79).
    pub(crate) const USUAL: Shape = Shape { recent: 8192, fan_in: 8, sketches: 51 * 1024 * 1024 / 4 };
}

/// Why the index could not do what was asked.
#[derive(Debug)]
enum Trouble {
    /// A file of the index is not what was written.
    Damaged,
    /// The system refused a file of the index.
    Index(io::Error),
    /// The log could not be read.
    Log(Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        // A file that is gone was taken away or never reached the disk.
        if error.kind() == io::ErrorKind::NotFound { Trouble::Damaged } else { Trouble::Index(error) }
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Damaged => Error::new(Code::ExecutionIo, "the key index changed while it was in use"),
            Trouble::Index(error) => io_error("the key index cannot be used", error),
            Trouble::Log(error) => error,
        }
    }
}

/// What has to be done before keys can be looked up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Whole,
    /// The log holds records that are not here.
    Lagging,
    /// The files are not to be trusted.
    Damaged,
}

/// The open index of one run's journal.
///
/// Whoever has it open is the only one who appends to the journal, by a lock of its own domain. Who finds that somebody
/// else has appended, or has recovered a batch, opens it anew.
#[derive(Debug)]
pub(crate) struct ReplayKeys {
    run: Arc<dyn Directory>,
    log: Option<Arc<dyn DataFile>>,
    store: Store,
    condition: Condition,
    /// What of the log is known to be durable and has to be covered.
    target: Acknowledged,
    /// The number up to which the log was read or told; above the reach where corrupt records stand at the end.
    covered: u64,
    /// Whether keys have been looked up since it was opened.
    was_asked: bool,
}

impl ReplayKeys {
    /// Opens `event-keys/` below the run's directory once recovery is over. A missing, damaged or lagging index is rebuilt
    /// or brought up to date by one pass over the acknowledged bytes of the log, within the memory of an open one. Whoever
    /// has the log open already lends it.
    ///
    /// # Errors
    /// `EXECUTION_IO` where the index cannot be written or the log not be read; `EXECUTION_JOURNAL` (`short`) where the log
    /// is shorter than what was acknowledged. The log is not touched.
    pub(crate) fn open(
        run: &Arc<dyn Directory>,
        log: Option<Arc<dyn DataFile>>,
        acknowledged: Acknowledged,
    ) -> Result<ReplayKeys> {
        Self::open_shaped(run, log, acknowledged, Shape::USUAL)
    }

    /// As [`ReplayKeys::open`], in parts of another size.
    ///
    /// # Errors
    /// As [`ReplayKeys::open`].
    pub(crate) fn open_shaped(
        run: &Arc<dyn Directory>,
        log: Option<Arc<dyn DataFile>>,
        acknowledged: Acknowledged,
        shape: Shape,
    ) -> Result<ReplayKeys> {
        let directory = open_or_make(run).map_err(Trouble::Index)?;
        let log = match log {
            None => open_log(run, acknowledged)?,
            lent => lent,
        };
        let found = Store::open(&directory, shape)
            .and_then(|store| Ok(trusted(&store, log.as_deref(), acknowledged)?.then_some(store)));
        let (store, condition) = match found {
            // What is not listed goes before a file of the same name is written.
            Ok(Some(mut store)) => {
                store.sweep();
                let nothing = store.is_empty() && acknowledged.offset > 0;
                (store, if nothing { Condition::Damaged } else { Condition::Lagging })
            }
            // What cannot be read is worth no more than what is not whole.
            Ok(None) | Err(Trouble::Damaged | Trouble::Index(_)) => {
                (Store::empty(&directory, shape), Condition::Damaged)
            }
            Err(error @ Trouble::Log(_)) => return Err(error.into()),
        };
        let covered = store.reach().sequence;
        let run = Arc::clone(run);
        let mut keys =
            ReplayKeys { run, log, store, condition, target: acknowledged, covered, was_asked: false };
        keys.restore()?;
        Ok(keys)
    }

    /// For each key its number, if it is in the journal. Whole keys are compared. Each key costs at most one read for a
    /// segment, of which there is a bounded number; where the index lags, the log is read first.
    ///
    /// # Errors
    /// As [`ReplayKeys::open`]; then nothing was found out.
    pub(crate) fn look_up(&mut self, keys: &[Key], found: &mut Vec<Option<u64>>) -> Result<()> {
        self.restore()?;
        if std::mem::replace(&mut self.was_asked, true) {
            if self.store.deepen().is_err() {
                self.condition = Condition::Damaged;
                self.restore()?;
            }
            self.store.advance_filter();
        }
        match self.store.look_up(keys, found) {
            Ok(()) => Ok(()),
            Err(_) => {
                self.condition = Condition::Damaged;
                self.restore()?;
                Ok(self.store.look_up(keys, found)?)
            }
        }
    }

    /// Adds a batch that is durable in the log (step 3 of EX-JRN-12), in one write and without a sync. A batch that is
    /// covered already is not added again.
    ///
    /// # Errors
    /// `EXECUTION_IO`: the index lags, and the next [`ReplayKeys::look_up`] or [`ReplayKeys::open`] reads what it lacks from
    /// the log.
    pub(crate) fn insert(&mut self, batch: &[(Key, u64)], reach: Reach) -> Result<()> {
        if reach.offset > self.target.offset {
            self.target = Acknowledged { offset: reach.offset, sequence: reach.sequence };
        } else if self.condition == Condition::Whole {
            return Ok(());
        }
        let follows = batch.first().is_none_or(|(_, first)| *first == self.covered + 1);
        if self.condition == Condition::Whole && !follows {
            self.condition = Condition::Lagging;
        }
        if self.condition != Condition::Whole {
            return Err(Error::new(Code::ExecutionIo, "the key index lags behind the journal"));
        }
        match self.store.add(batch, reach) {
            Ok(()) => {
                self.covered = reach.sequence;
                Ok(())
            }
            Err(trouble) => {
                self.condition = match trouble {
                    Trouble::Damaged => Condition::Damaged,
                    Trouble::Index(_) | Trouble::Log(_) => Condition::Lagging,
                };
                Err(trouble.into())
            }
        }
    }

    /// Bytes of memory that it takes, as far as that grows with the number of keys.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> u64 {
        self.store.memory()
    }

    /// Makes the index cover what it has to.
    fn restore(&mut self) -> Result<()> {
        if self.condition == Condition::Lagging {
            match self.catch_up() {
                Ok(()) => self.condition = Condition::Whole,
                Err(Trouble::Damaged) => self.condition = Condition::Damaged,
                Err(trouble) => return Err(trouble.into()),
            }
        }
        if self.condition == Condition::Damaged {
            self.store.clear()?;
            self.fill_anew()?;
            self.condition = Condition::Whole;
        }
        Ok(())
    }

    /// Reads the whole log into segments, one buffer full of keys after another.
    fn fill_anew(&mut self) -> std::result::Result<(), Trouble> {
        let mut filling = self.store.fill();
        if let Some(log) = log_of(&self.run, &mut self.log, self.target)? {
            log::scan(log, Acknowledged::default(), self.target, &mut |keyed| {
                filling.push(keyed.key, keyed.reach)
            })?;
        }
        filling.finish()?;
        self.covered = self.target.sequence;
        Ok(())
    }

    fn catch_up(&mut self) -> std::result::Result<(), Trouble> {
        let mut reach = self.store.reach();
        let from = Acknowledged { offset: reach.offset, sequence: reach.sequence };
        if from.offset < self.target.offset
            && let Some(log) = log_of(&self.run, &mut self.log, self.target)?
        {
            let store = &mut self.store;
            let mut batch = Vec::new();
            log::scan(log, from, self.target, &mut |keyed| {
                batch.push((keyed.key, keyed.reach.sequence));
                reach = keyed.reach;
                if batch.len() >= CAUGHT_UP_AT_ONCE {
                    store.add(&std::mem::take(&mut batch), reach)?;
                }
                Ok(())
            })?;
            if !batch.is_empty() {
                store.add(&batch, reach)?;
            }
        }
        self.covered = self.target.sequence;
        Ok(())
    }
}

fn open_or_make(run: &Arc<dyn Directory>) -> io::Result<Arc<dyn Directory>> {
    match run.open_directory(DIRECTORY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match run.make_directory(DIRECTORY) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    run.open_directory(DIRECTORY)
}

/// The log, where there is something in it to be read.
fn open_log(
    run: &Arc<dyn Directory>,
    acknowledged: Acknowledged,
) -> std::result::Result<Option<Arc<dyn DataFile>>, Trouble> {
    if acknowledged.offset == 0 {
        return Ok(None);
    }
    match run.open_data(LOG, DataAccess::Read) {
        Ok(log) => Ok(Some(Arc::from(log))),
        Err(error) => Err(Trouble::Log(io_error("events.jsonl cannot be opened", error))),
    }
}

fn log_of<'a>(
    run: &Arc<dyn Directory>,
    log: &'a mut Option<Arc<dyn DataFile>>,
    acknowledged: Acknowledged,
) -> std::result::Result<Option<&'a dyn DataFile>, Trouble> {
    if log.is_none() {
        *log = open_log(run, acknowledged)?;
    }
    Ok(log.as_deref())
}

/// Whether what an index says of its reach is what stands in the log (EX-JRN-81).
fn trusted(
    store: &Store,
    log: Option<&dyn DataFile>,
    acknowledged: Acknowledged,
) -> std::result::Result<bool, Trouble> {
    let reach = store.reach();
    if reach == Reach::default() {
        return Ok(store.is_empty());
    }
    if reach.offset > acknowledged.offset || reach.sequence > acknowledged.sequence {
        return Ok(false);
    }
    let Some(log) = log else { return Ok(false) };
    Ok(log::last_before(log, reach.offset)? == Some(reach))
}
