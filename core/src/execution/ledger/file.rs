//! `execution.json` on disk: read once and looked at afterwards, judged before anything is done, and replaced whole
//! (EX-LED-06 to EX-LED-09).

use std::io;
use std::sync::Arc;

use super::{Ledger, Owner};
use crate::error::{Code, Error, Result};
use crate::execution::faults::{self, Faults};
use crate::host::Host;
use crate::storage::{self, Directory, Durability, Replacement, StagedNames, sweep_abandoned};

/// The ledger's name in a task's root.
pub const LEDGER: &str = "execution.json";
/// The metadata of a run in its directory.
pub const JOB: &str = "job.json";
/// Before the name of whatever is staged.
const STAGED: &str = ".staged-";
/// The ledger of a hundred thousand operations is shorter.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The ledger as this boundary last read or wrote it.
#[derive(Debug, Default)]
pub struct LedgerFile {
    known: Option<Known>,
    /// Whether what is known is durable: who replaced the file may have died before it synced the directory.
    is_durable: bool,
    /// Whether every cursor in what is known was found valid. What this package saves after that has no other.
    has_valid_cursors: bool,
    /// Room to read into. Memory that is new costs more than the reading.
    spare: Vec<u8>,
}

/// What the file held, and what that says. Compared byte for byte, because no time of a file is fine enough to tell two
/// replacements apart.
#[derive(Debug)]
struct Known {
    ledger: Ledger,
    /// What the file held, where that is another text than the ledger's own: an older package's, or one made by hand.
    bytes: Option<Vec<u8>>,
}

impl Known {
    fn is(&self, bytes: &[u8]) -> bool {
        self.bytes.as_ref().map_or_else(|| self.ledger.text().is(bytes), |known| known == bytes)
    }
}

impl LedgerFile {
    /// The ledger that stands there, or the empty one of this owner where none does. Its text is parsed only where it is another
    /// one than last time.
    ///
    /// # Errors
    /// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL` with the reason `ledger`, `EXECUTION_IO`. Whose it is, is not asked.
    pub fn read(&mut self, root: &dyn Directory, owner: &Owner) -> Result<Ledger> {
        match root.read_and_close(LEDGER, MAX_BYTES, &mut self.spare) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.known = None;
                return Ok(Ledger::empty(owner.clone()));
            }
            Err(error) => {
                return Err(Error::new(Code::ExecutionIo, "execution.json cannot be read").with_source(error));
            }
            Ok(file) if file.oversized => return Err(super::broken("it is too long")),
            Ok(_) => {}
        }
        if let Some(known) = self.known.as_ref().filter(|known| known.is(&self.spare)) {
            return Ok(known.ledger.clone());
        }
        let ledger = Ledger::parse(&self.spare)?;
        let is_our_text = ledger.text().is(&self.spare);
        let bytes = (!is_our_text).then(|| std::mem::take(&mut self.spare));
        self.known = Some(Known { ledger: ledger.clone(), bytes });
        self.is_durable = false;
        self.has_valid_cursors = false;
        Ok(ledger)
    }

    /// Refuses what was read last if a cursor in it is invalid. What was found valid is not looked at again.
    ///
    /// # Errors
    /// As [`Ledger::check_cursors`].
    pub fn check_cursors(&mut self, ledger: &Ledger) -> Result<()> {
        if self.known.is_none() || !self.has_valid_cursors {
            ledger.check_cursors()?;
            self.has_valid_cursors = true;
        }
        Ok(())
    }

    /// Makes durable what was read, so that nothing is answered from it that a power loss takes back. Syncs the directory where
    /// somebody else wrote the file, and does nothing otherwise. The caller holds the task's lock.
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub fn make_durable(&mut self, root: &dyn Directory) -> Result<()> {
        if self.known.is_some() && !self.is_durable {
            root.sync().map_err(|error| {
                Error::new(Code::ExecutionIo, "execution.json cannot be made durable").with_source(error)
            })?;
            self.is_durable = true;
        }
        Ok(())
    }

    /// Puts a ledger in its place: on disk, file and directory, once this has returned.
    ///
    /// # Errors
    /// `EXECUTION_IO`. It is not known then whether the old or the new one stands there; both are whole.
    pub fn persist(&mut self, root: &dyn Directory, ledger: &Ledger, writer: &mut Writer) -> Result<()> {
        writer.replace(root, "", LEDGER, &ledger.text().pieces(), Durability::Durable)?;
        if self.known.is_none() {
            self.has_valid_cursors = false;
        }
        self.known = Some(Known { ledger: ledger.clone(), bytes: None });
        self.is_durable = true;
        Ok(())
    }
}

/// Makes a task's files durable, with a fault point before each (`persist:<path>`, `remove:<path>`).
#[derive(Debug)]
pub struct Writer {
    names: StagedNames,
    faults: Arc<dyn Faults>,
}

impl Writer {
    /// A writer of this process.
    #[must_use]
    pub fn new(host: &Host, faults: Arc<dyn Faults>) -> Self {
        Writer { names: StagedNames::new(host), faults }
    }

    /// The fault points.
    #[must_use]
    pub fn faults(&self) -> &dyn Faults {
        &*self.faults
    }

    /// Replaces one file of a directory, whose path below the root is `below` with a slash at its end, or nothing: written
    /// beside it, synced, renamed, and the directory synced.
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub fn persist(&mut self, directory: &dyn Directory, below: &str, name: &str, text: &str) -> Result<()> {
        self.replace(directory, below, name, &[text.as_bytes()], Durability::Durable)
    }

    /// As [`Writer::persist`], without the sync of the directory: after a power loss the old file or the new one stands there,
    /// whole. For a copy of what another file says for certain.
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub fn copy(&mut self, directory: &dyn Directory, below: &str, name: &str, text: &str) -> Result<()> {
        self.replace(directory, below, name, &[text.as_bytes()], Durability::Whole)
    }

    fn replace(
        &mut self,
        directory: &dyn Directory,
        below: &str,
        name: &str,
        pieces: &[&[u8]],
        durability: Durability,
    ) -> Result<()> {
        let failed =
            |error| Error::new(Code::ExecutionIo, format!("{name} cannot be saved")).with_source(error);
        faults::pass(&*self.faults, &format!("persist:{below}{name}")).map_err(failed)?;
        let staged = self.names.next(STAGED);
        let replacement =
            Replacement { name, staged: &staged, bytes: &[], durability, keep: false, judged: None };
        storage::publish_pieces(directory, &replacement, pieces).map(drop).map_err(failed)
    }

    /// Removes a file of a directory, durably; one that is missing is no error.
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub fn remove(&mut self, directory: &dyn Directory, below: &str, name: &str) -> Result<()> {
        let failed =
            |error| Error::new(Code::ExecutionIo, format!("{name} cannot be removed")).with_source(error);
        faults::pass(&*self.faults, &format!("remove:{below}{name}")).map_err(failed)?;
        match directory.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| directory.sync()).map_err(failed),
        }
    }
}

/// Removes what crashed writers have left staged in a directory.
pub fn sweep(directory: &dyn Directory, host: &Host) {
    // What cannot be removed now is left for the next time.
    let _ = sweep_abandoned(directory, &[STAGED], host);
}
