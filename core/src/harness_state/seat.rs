//! One agent's directory: the names of its files, and what is found there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::codec::{self, MAX_RECORD_BYTES, Salvage};
use super::options::Options;
use super::record::Record;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::strict::Spare;
use crate::storage::{self, Directory, LockError, LockGuard, OpenFile};

/// The record.
pub const RECORD: &str = "harness-state";
/// Its lock file, which is permanent.
pub const LOCK: &str = ".harness-state.lock";
/// The sequence floor.
pub const FLOOR: &str = ".harness-state.seq";
/// The lease that a session holds for its life.
pub const LEASE: &str = ".harness-state.lease";
/// What hooks could not do.
pub const LOG: &str = ".harness-state.log";
/// The sibling record that a claim removes.
pub(crate) const CONTEXT: &str = "harness-context";
pub(crate) const CONTEXT_LOCK: &str = ".harness-context.lock";

pub(crate) const STAGED_RECORD: &str = ".harness-state.tmp-";
pub(crate) const STAGED_FLOOR: &str = ".harness-state.seq.tmp-";

/// White space and leading zeros are allowed without a limit, so a floor is read as far as a record is.
const MAX_FLOOR_BYTES: u64 = MAX_RECORD_BYTES;

/// A stored file, as HS-18 tells them apart.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Nothing stands at the name.
    Absent,
    /// Something stands there that cannot be read or decoded.
    Unreadable(Unreadable),
    /// A record.
    Parsed(Box<ParsedRecord>),
}

#[derive(Debug)]
pub(crate) enum Unreadable {
    /// An I/O error other than not found.
    Io(io::Error),
    /// Readable bytes that are no record; what a claim can still take from them.
    Malformed(String, Salvage),
}

#[derive(Debug)]
pub(crate) struct ParsedRecord {
    pub(crate) record: Record,
    /// The bytes it was decoded from, of which a heartbeat keeps what it does not know.
    pub(crate) bytes: Vec<u8>,
    /// It is known that there is nothing in it which this build does not know, so that the bytes need not be looked at.
    pub(crate) all_known: bool,
    /// The open file, which keeps its inode from being reused while it is judged.
    pub(crate) file: OpenFile,
}

/// The memory of a record that was taken apart.
#[derive(Debug, Default)]
pub(crate) struct Emptied {
    pub(super) texts: Spare,
    /// The bytes that it was decoded from, or was encoded to.
    pub(super) bytes: Vec<u8>,
    boxed: Option<Box<ParsedRecord>>,
}

impl Emptied {
    /// Takes a record apart, for the next one, and lets go of its file.
    pub(crate) fn give(&mut self, mut parsed: Box<ParsedRecord>) {
        self.texts.clear();
        codec::take_apart(&mut parsed.record, &mut self.texts);
        parsed.file.pin = Box::new(());
        self.bytes = std::mem::take(&mut parsed.bytes);
        self.boxed = Some(parsed);
    }

    /// A record in this memory.
    pub(super) fn boxed(&mut self, parsed: ParsedRecord) -> Box<ParsedRecord> {
        match self.boxed.take() {
            Some(mut boxed) => {
                *boxed = parsed;
                boxed
            }
            None => Box::new(parsed),
        }
    }
}

impl Stored {
    pub(crate) fn read(directory: &dyn Directory, name: &str) -> Stored {
        Stored::read_with(directory, name, &mut Emptied::default())
    }

    /// As [`Stored::read`], in the memory of a record that was taken apart.
    pub(crate) fn read_with(directory: &dyn Directory, name: &str, emptied: &mut Emptied) -> Stored {
        let mut bytes = std::mem::take(&mut emptied.bytes);
        let file = directory.read(name, MAX_RECORD_BYTES, &mut bytes);
        Stored::of_with(file, bytes, emptied)
    }

    /// What was read, judged.
    pub(crate) fn of(file: io::Result<OpenFile>, bytes: Vec<u8>) -> Stored {
        Stored::of_with(file, bytes, &mut Emptied::default())
    }

    /// As [`Stored::of`], in the memory of records that were taken apart.
    pub(crate) fn of_with(file: io::Result<OpenFile>, bytes: Vec<u8>, emptied: &mut Emptied) -> Stored {
        match file {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Stored::Absent,
            Err(error) => Stored::Unreadable(Unreadable::Io(error)),
            Ok(file) if file.oversized => {
                let message = format!("larger than a record can be, bytes=`{}`", file.metadata.size);
                Stored::Unreadable(Unreadable::Malformed(message, Salvage::default()))
            }
            Ok(file) => match codec::decode_with(&bytes, &mut emptied.texts) {
                Ok(record) => {
                    Stored::Parsed(emptied.boxed(ParsedRecord { record, bytes, all_known: false, file }))
                }
                Err(malformed) => {
                    Stored::Unreadable(Unreadable::Malformed(malformed.to_string(), codec::salvage(&bytes)))
                }
            },
        }
    }

    /// Whether it could not be read for a reason that says something about the machine at this moment only.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Stored::Unreadable(Unreadable::Io(error)) if is_passing(error))
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            Stored::Parsed(parsed) => Some(&parsed.record),
            Stored::Absent | Stored::Unreadable(_) => None,
        }
    }
}

/// The sequence floor, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The highest sequence that it remembers; 0 where it remembers none.
    pub(crate) value: u64,
    /// Why something stands there and remembers nothing (HS-57).
    pub(crate) damage: Option<String>,
    /// Nothing stands there: nobody has claimed the seat, or written durably into its directory, yet.
    pub(crate) absent: bool,
}

impl Floor {
    /// # Errors
    /// The machine cannot read what stands there just now. It may remember a higher sequence than anything that could
    /// be written, so that nobody may write as if it remembered none.
    pub(crate) fn read(directory: &dyn Directory) -> io::Result<(Floor, Option<OpenFile>)> {
        let mut bytes = Vec::new();
        match directory.read(FLOOR, MAX_FLOOR_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok((Floor { absent: true, ..Floor::none() }, None))
            }
            Err(error) if is_passing(&error) => Err(error),
            Err(error) => Ok((Floor::damaged(error.to_string()), None)),
            Ok(file) => Ok((Floor::parse(&bytes, file.oversized), Some(file))),
        }
    }

    fn parse(bytes: &[u8], oversized: bool) -> Floor {
        // `trim` takes Unicode white space and `parse` a leading plus sign and zeros, as HS-57 says.
        let number = std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok());
        match number {
            Some(value) if !oversized => Floor { value, ..Floor::none() },
            _ => Floor::damaged("the content is no decimal number of 64 bits".to_owned()),
        }
    }

    fn none() -> Floor {
        Floor { value: 0, damage: None, absent: false }
    }

    fn damaged(damage: String) -> Floor {
        Floor { damage: Some(damage), ..Floor::none() }
    }
}

/// Why the floor of a directory remembers nothing, where something stands there that should.
///
/// # Errors
/// As the system says it.
pub(crate) fn floor_damage(directory: &dyn Directory) -> io::Result<Option<String>> {
    Floor::read(directory).map(|(floor, _)| floor.damage)
}

/// Whether a failure says something about the machine at this moment and nothing about what stands at the name.
fn is_passing(error: &io::Error) -> bool {
    const PASSING: [i32; 10] = [
        libc::EIO,
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOMEM,
        libc::EINTR,
        libc::EAGAIN,
        libc::ESTALE,
        libc::ETIMEDOUT,
        libc::EBUSY,
        libc::ENOLCK,
    ];
    error.raw_os_error().is_some_and(|errno| PASSING.contains(&errno))
}

/// An agent's directory by its path, which need not exist yet.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) path: PathBuf,
    lock_path: PathBuf,
    pub(crate) record_path: PathBuf,
    pub(crate) floor_path: PathBuf,
    pub(crate) host: Host,
    pub(crate) options: Arc<Options>,
}

impl Seat {
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `path` for the empty path; as [`Options::validate`].
    pub(crate) fn new(path: &Path, host: &Host, options: &Options) -> Result<Self> {
        let path = host.files.absolute(path).map_err(|error| {
            let message = format!("the directory's path cannot be used, path=`{}`", path.display());
            Error::new(Code::HarnessStateInput, message).with_reason("path").with_source(error)
        })?;
        options.validate()?;
        Ok(Seat {
            lock_path: path.join(LOCK),
            record_path: path.join(RECORD),
            floor_path: path.join(FLOOR),
            path,
            host: host.clone(),
            options: Arc::new(options.clone()),
        })
    }

    /// Opens the directory, creating it where it is missing, and takes its lock.
    pub(crate) fn lock(&self) -> Result<LockGuard> {
        let directory = self.host.files.open_or_create(&self.path).map_err(|error| self.io("open", error))?;
        self.lock_named(&directory, LOCK, self.options.lock_wait)
    }

    /// Takes the lock in a directory that was opened before; none where the path leads elsewhere by now.
    pub(crate) fn lock_again(&self, directory: &Arc<dyn Directory>) -> Result<Option<LockGuard>> {
        let (files, clock) = (&*self.host.files, &*self.host.clock);
        let wait = self.options.lock_wait;
        match storage::acquire_by_path(files, directory, LOCK, &self.lock_path, wait, clock) {
            Ok(guard) => Ok(Some(guard)),
            Err(LockError::Moved) => Ok(None),
            Err(error) => Err(self.lock_failed(LOCK, wait, error)),
        }
    }

    pub(crate) fn lock_named(
        &self,
        directory: &Arc<dyn Directory>,
        name: &str,
        wait: Duration,
    ) -> Result<LockGuard> {
        let taken = storage::acquire(directory, name, wait, &*self.host.clock);
        taken.map_err(|error| self.lock_failed(name, wait, error))
    }

    fn lock_failed(&self, name: &str, wait: Duration, error: LockError) -> Error {
        match error {
            LockError::Busy => {
                let waited = wait.as_millis();
                let message =
                    format!("the lock was held by somebody else, file=`{name}` waited_ms=`{waited}`");
                Error::new(Code::HarnessStateBusy, message)
            }
            LockError::Cancelled => {
                let message = format!("the wait for the lock was cancelled, file=`{name}`");
                Error::new(Code::Cancelled, message)
            }
            LockError::DoesNotExclude => {
                let message = format!("locks do not exclude here, path=`{}`", self.path.display());
                Error::new(Code::HarnessStateLocking, message)
            }
            LockError::Moved => self.io_at(name, "lock", io::ErrorKind::NotFound.into()),
            LockError::Io(error) => self.io_at(name, "lock", error),
        }
    }

    /// Reads the floor under the lock.
    pub(crate) fn floor(&self, directory: &dyn Directory) -> Result<(Floor, Option<OpenFile>)> {
        Floor::read(directory).map_err(|error| self.io_at(FLOOR, "read the sequence floor", error))
    }

    /// Makes the directory's own name durable, where nobody has done so yet: whoever writes the first floor does,
    /// because the process that made the directory may have died before it could.
    pub(crate) fn settle(&self, floor: &Floor) -> Result<()> {
        if !floor.absent {
            return Ok(());
        }
        self.host.files.sync_parent(&self.path).map_err(|error| self.io("sync the parent of", error))
    }

    pub(crate) fn io(&self, doing: &str, error: io::Error) -> Error {
        self.io_at("", doing, error)
    }

    /// A failure with one of the directory's files.
    pub(crate) fn io_at(&self, name: &str, doing: &str, error: io::Error) -> Error {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        let message = format!("cannot {doing}, path=`{}`", path.display());
        Error::new(Code::HarnessStateIo, message).with_source(error)
    }
}
