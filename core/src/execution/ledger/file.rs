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
    /// What the file held, and what that says. Compared byte for byte, because no time of a file is fine enough to tell two
    /// replacements apart.
    known: Option<(Vec<u8>, Ledger)>,
    /// Whether what is known is durable: who replaced the file may have died before it synced the directory.
    is_durable: bool,
}

impl LedgerFile {
    /// The ledger that stands there, or the empty one of this owner where none does. Its text is parsed only where it is another
    /// one than last time.
    ///
    /// # Errors
    /// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL` with the reason `ledger`, `EXECUTION_IO`. Whose it is, is not asked.
    pub fn read(&mut self, root: &dyn Directory, owner: &Owner) -> Result<Ledger> {
        let mut bytes = Vec::new();
        match root.read_and_close(LEDGER, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ledger::empty(owner.clone())),
            Err(error) => {
                return Err(Error::new(Code::ExecutionIo, "execution.json cannot be read").with_source(error));
            }
            Ok(file) if file.oversized => return Err(super::broken("it is too long")),
            Ok(_) => {}
        }
        if let Some((known, ledger)) = &self.known
            && *known == bytes
        {
            return Ok(ledger.clone());
        }
        let ledger = Ledger::parse(&bytes)?;
        self.known = Some((bytes, ledger.clone()));
        self.is_durable = false;
        Ok(ledger)
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
        let text = ledger.encode();
        writer.persist(root, "", LEDGER, &text)?;
        self.known = Some((text.into_bytes(), ledger.clone()));
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
        let failed =
            |error| Error::new(Code::ExecutionIo, format!("{name} cannot be saved")).with_source(error);
        faults::pass(&*self.faults, &format!("persist:{below}{name}")).map_err(failed)?;
        let staged = self.names.next(STAGED);
        let replacement = Replacement {
            name,
            staged: &staged,
            bytes: text.as_bytes(),
            durability: Durability::Durable,
            keep: false,
            judged: None,
        };
        storage::publish(directory, &replacement).map(drop).map_err(failed)
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
