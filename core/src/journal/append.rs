//! One page on its way into a journal, step by step (EX-JRN-12).
//!
//! Each step ends at a fault point of EX-SEA-07, just after the fact that the point names. Whoever drives the steps may
//! stop there for good, which equals a crash, or say that the step failed. [`Journal::append`] drives them all.

use std::collections::VecDeque;

use super::batch::{self, Batch, Placed};
use super::error::{input, io_error};
use super::event::Event;
use super::replay_keys::Reach;
use super::scan::Position;
use super::writer::Journal;
use crate::error::{Error, Result};

/// A fact that an append has just made (EX-SEA-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AppendPoint {
    /// A batch is announced, durably: step 1.
    Pending,
    /// Its records are durable: step 2.
    Record,
    /// Its keys are in the index: step 3.
    Key,
    /// It is acknowledged, durably: step 4.
    Checkpoint,
}

impl AppendPoint {
    /// The point's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AppendPoint::Pending => "journal.pending",
            AppendPoint::Record => "journal.record",
            AppendPoint::Key => "journal.key",
            AppendPoint::Checkpoint => "journal.checkpoint",
        }
    }
}

/// What an append has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where each event of the page stands, in the page's order.
    pub placed: Vec<Placed>,
    /// The end of the journal, all of it acknowledged.
    pub end: Position,
}

/// A page that is being appended. It belongs to the journal that began it, until that begins another.
#[derive(Debug)]
pub struct Append {
    placed: Vec<Placed>,
    /// The batches that are not acknowledged yet; the first is the one at work.
    batches: VecDeque<Batch>,
    /// The batch before is durable and not acknowledged.
    owes: bool,
    stage: Stage,
    ticket: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Announce,
    /// A Persist has acknowledged the batch before and announced this one; the second of its two points is due.
    Announced,
    Write,
    Index,
    Acknowledge,
    Done,
    Failed,
}

impl Journal {
    /// Appends the events of a page that are not in the journal yet, each once, in the page's order.
    ///
    /// Once it has returned, every event of the page is readable or a gap stands for it, durably, and a repetition of
    /// the page adds nothing. What it costs does not depend on the length of the journal: three syncs of files and two
    /// of the directory for a page that fits one batch, and two of files and one of the directory for each batch more.
    ///
    /// A batch that was left pending is recovered first (EX-JRN-13).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an event that no record can hold; nothing was written then. `EXECUTION_JOURNAL` and
    /// `EXECUTION_VERSION` for a journal that is damaged; all its files are as they were. `EXECUTION_IO`: batches before
    /// the one that failed are in the journal, and that one was taken back, or is recovered by the next call
    /// (EX-JRN-82). Repeating the page appends what is missing.
    pub fn append(&mut self, page: &[Event]) -> Result<Appended> {
        let mut append = self.begin(page)?;
        while self.advance(&mut append)?.is_some() {}
        self.end(append)
    }

    /// Begins to append a page: judges and redacts it, and finds what is known. Recovers what is pending, and otherwise
    /// writes nothing.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn begin(&mut self, page: &[Event]) -> Result<Append> {
        let keys = batch::keys(page, self.owner())?;
        let end = self.ready()?;
        let ticket = self.next_ticket();
        if page.is_empty() {
            let (placed, batches) = (Vec::new(), VecDeque::new());
            return Ok(Append { placed, batches, owes: false, stage: Stage::Done, ticket });
        }
        let mut known = Vec::with_capacity(keys.len());
        self.keys()?.look_up(&keys, &mut known)?;
        let (placed, batches) = batch::cut(page, &keys, &known, &self.page_ground(end))?;
        let stage = if batches.is_empty() { Stage::Done } else { Stage::Announce };
        Ok(Append { placed, batches: batches.into(), owes: false, stage, ticket })
    }

    /// Makes the next step and answers the fact that it made; none once the page is in the journal.
    ///
    /// # Errors
    /// As [`Journal::append`]; the append is over then.
    pub fn advance(&mut self, append: &mut Append) -> Result<Option<AppendPoint>> {
        self.check_ticket(append)?;
        let advanced = self.step(append);
        if advanced.is_err() {
            append.stage = Stage::Failed;
        }
        advanced
    }

    /// Treats the step that [`Journal::advance`] made last as one that has reported an error, although its effect is
    /// there. A step 3 that fails fails no append (EX-JRN-82).
    ///
    /// # Errors
    /// `EXECUTION_IO`, unless the point was [`AppendPoint::Key`]; the append is over then.
    pub fn fail(&mut self, append: &mut Append) -> Result<()> {
        self.check_ticket(append)?;
        let start = append.batches.front().map(|batch| batch.start);
        let failed = |what: &str| io_error(what, std::io::Error::other("a fault point said so"));
        let error = match append.stage {
            Stage::Acknowledge => {
                self.drop_keys();
                return Ok(());
            }
            Stage::Announce if append.owes => {
                self.drop_keys();
                return Ok(());
            }
            Stage::Done => {
                self.forget();
                failed("journal.json cannot be replaced")
            }
            Stage::Announced | Stage::Write => {
                self.take_back(start, failed("journal.json cannot be replaced"))
            }
            Stage::Index => self.take_back(start, failed("a batch cannot be written into events.jsonl")),
            Stage::Announce | Stage::Failed => input("no step of this append has been made"),
        };
        append.stage = Stage::Failed;
        Err(error)
    }

    /// What an append that has made all its steps has come to.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for one that has not.
    pub fn end(&mut self, append: Append) -> Result<Appended> {
        self.check_ticket(&append)?;
        if append.stage != Stage::Done {
            return Err(input("the append is not over"));
        }
        Ok(Appended { placed: append.placed, end: self.acknowledged() })
    }

    fn check_ticket(&self, append: &Append) -> Result<()> {
        if append.ticket == self.ticket() {
            Ok(())
        } else {
            Err(input("the append is another journal's or an older one"))
        }
    }

    fn step(&mut self, append: &mut Append) -> Result<Option<AppendPoint>> {
        let Some(batch) = append.batches.front_mut() else {
            return match append.stage {
                Stage::Done => Ok(None),
                _ => Err(input("the append has failed")),
            };
        };
        let (start, end) = (batch.start, batch.end());
        match append.stage {
            Stage::Announce => {
                if let Err(error) = self.announce(start, std::mem::take(&mut batch.pending)) {
                    return Err(
                        self.take_back(Some(start), io_error("journal.json cannot be replaced", error))
                    );
                }
                if std::mem::take(&mut append.owes) {
                    append.stage = Stage::Announced;
                    return Ok(Some(AppendPoint::Checkpoint));
                }
                append.stage = Stage::Write;
                Ok(Some(AppendPoint::Pending))
            }
            Stage::Announced => {
                append.stage = Stage::Write;
                Ok(Some(AppendPoint::Pending))
            }
            Stage::Write => {
                if let Err(error) = self.write(start.offset, batch.bytes.as_bytes()) {
                    let error = io_error("a batch cannot be written into events.jsonl", error);
                    return Err(self.take_back(Some(start), error));
                }
                append.stage = Stage::Index;
                Ok(Some(AppendPoint::Record))
            }
            Stage::Index => {
                self.index(&batch.keys, Reach { offset: end.offset, sequence: end.sequence, crc: batch.crc });
                if append.batches.len() > 1 {
                    append.batches.pop_front();
                    (append.owes, append.stage) = (true, Stage::Announce);
                } else {
                    append.stage = Stage::Acknowledge;
                }
                Ok(Some(AppendPoint::Key))
            }
            Stage::Acknowledge => {
                if let Err(error) = self.announce(end, Vec::new()) {
                    // The batch is durable, and the next call finds it whole.
                    self.forget();
                    return Err(io_error("journal.json cannot be replaced", error));
                }
                append.batches.pop_front();
                append.stage = Stage::Done;
                Ok(Some(AppendPoint::Checkpoint))
            }
            Stage::Done => Ok(None),
            Stage::Failed => Err(input("the append has failed")),
        }
    }

    /// EX-JRN-82: cuts the log back to where the batch began and says that none is pending. Where that fails too, the
    /// next call recovers.
    fn take_back(&mut self, start: Option<Position>, error: Error) -> Error {
        let taken_back = start.is_some_and(|start| self.cut_back(start).is_ok());
        if !taken_back {
            self.forget();
        }
        error
    }
}
