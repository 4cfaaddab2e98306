//! Reading one seat. No lock is taken and nothing is created.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::codec::{self, MAX_RECORD_BYTES};
use super::derive::{Derived, DerivedRef, Snapshot, derive};
use super::explain::Explanation;
use super::fleet::absolute;
use super::moment::Moment;
use super::options::Options;
use super::probe::{Probe, ask_within_budget};
use super::record::Record;
use super::seat::{ParsedRecord, RECORD, Stored};
use crate::error::Result;
use crate::host::Host;
use crate::json::strict::Spare;
use crate::process::Liveness;
use crate::storage::{Directory, OpenFile};

/// Reads one agent's record, by its directory or by the record's own path. May be shared by threads.
#[derive(Clone, Debug)]
pub struct Reader {
    path: PathBuf,
    /// Where the record is if the path is its directory.
    record_path: PathBuf,
    options: Options,
    host: Host,
}

impl Reader {
    /// A reader on a path that need not exist yet. Touches no file.
    #[must_use]
    pub fn open(path: impl AsRef<Path>, options: &Options, host: &Host) -> Self {
        let path = path.as_ref();
        // The empty path stays as it is: nothing is there to be read.
        let path = host.files.absolute(path).unwrap_or_else(|_| path.to_path_buf());
        Reader::at(path, options, host)
    }

    /// As [`Reader::open`], for a path that a person or a program gave and that has to be one.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `path` for the empty path and for a working directory that cannot be told.
    pub fn try_open(path: impl AsRef<Path>, options: &Options, host: &Host) -> Result<Self> {
        Ok(Reader::at(absolute(path.as_ref(), host)?, options, host))
    }

    fn at(path: PathBuf, options: &Options, host: &Host) -> Self {
        let record_path = path.join(RECORD);
        Reader { path, record_path, options: options.clone(), host: host.clone() }
    }

    /// The path, from the root.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What may be concluded now; none when nothing was ever observed. Never fails: what cannot be read is unknown.
    ///
    /// A probe is asked only where its answer decides. One that panics or takes longer than the budget of the
    /// options has answered `indeterminate`.
    #[must_use]
    pub fn read(&self, probe: Option<&dyn Probe>) -> Option<Derived> {
        let snapshot = self.snapshot();
        self.asking(probe, snapshot.record(), |ask| snapshot.derive(&self.options, snapshot.taken_at(), ask))
    }

    /// As [`Reader::read`], and which row of the table decided (HS-91).
    #[must_use]
    pub fn explain(&self, probe: Option<&dyn Probe>) -> Explanation {
        let snapshot = self.snapshot();
        self.asking(probe, snapshot.record(), |ask| snapshot.explain(&self.options, snapshot.taken_at(), ask))
    }

    /// As [`Reader::read`], lending what it found from a buffer that is used again. After the first read a record costs
    /// four system calls on Linux (open, stat, read, close), and one that stands unchanged allocates nothing. Of one that
    /// has changed the parser may allocate for an object in it, such as the extension, for escapes, and for words that
    /// this build does not know; and so does a path of more than 255 bytes.
    pub fn read_into<'b>(
        &self,
        probe: Option<&dyn Probe>,
        buffer: &'b mut ReadBuffer,
    ) -> Option<DerivedRef<'b>> {
        let mut file = self.host.files.read_file(
            if buffer.at_own_path { &self.path } else { &self.record_path },
            MAX_RECORD_BYTES,
            &mut buffer.bytes,
        );
        // The path may have become the other of the two, and a missing record is told from a missing directory.
        if file.as_ref().is_err_and(|error| buffer.at_own_path || is_elsewhere(error)) {
            file = self.locate_place().and_then(|(directory, name, at_own_path)| {
                buffer.at_own_path = at_own_path;
                directory.read(&name, MAX_RECORD_BYTES, &mut buffer.bytes)
            });
        }
        buffer.keep(file);
        // After the reading, so that no record that was read is of the future.
        let now = Moment::now(&self.host);
        let stored = &buffer.stored;
        self.asking(probe, stored.record(), |ask| derive(stored, &self.options, &now, ask))
    }

    /// Concludes with a probe that is asked within its budget.
    fn asking<R>(
        &self,
        probe: Option<&dyn Probe>,
        record: Option<&Record>,
        conclude: impl FnOnce(Option<&mut dyn FnMut() -> Liveness>) -> R,
    ) -> R {
        let mut ask = || match (probe, record) {
            (Some(probe), Some(record)) => {
                ask_within_budget(probe, record, &*self.host.clock, self.options.probe_budget)
            }
            _ => Liveness::Indeterminate,
        };
        conclude(if probe.is_some() { Some(&mut ask) } else { None })
    }

    /// What stands there, for deriving later and for looking at the record itself.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut bytes = Vec::new();
        let stored = match self.host.files.read_file(&self.record_path, MAX_RECORD_BYTES, &mut bytes) {
            // A missing record is told from a missing directory, and from a path that is the record's own.
            Err(error) if is_elsewhere(&error) => {
                self.locate().map(|(directory, name)| Stored::read(&*directory, &name))
            }
            file => Ok(Stored::of(file, bytes)),
        };
        // After the reading, so that no record that was read is of the future.
        let now = Moment::now(&self.host);
        match stored {
            Ok(stored) => Snapshot::new(stored, now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Snapshot::new(Stored::Absent, now),
            Err(error) => Snapshot::unreadable(error, now),
        }
    }

    /// The options with which this reader derives.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The agent's directory, and the record's name in it.
    pub(crate) fn locate(&self) -> io::Result<(Arc<dyn Directory>, String)> {
        self.locate_place().map(|(directory, name, _)| (directory, name))
    }

    /// The same, and whether the path is the record's own.
    fn locate_place(&self) -> io::Result<(Arc<dyn Directory>, String, bool)> {
        match self.host.files.open_to_read(&self.path) {
            Ok(directory) => Ok((directory, RECORD.to_owned(), false)),
            // Not a directory, or missing, or a link to nothing: then the path is the record's own, and what stands
            // there is for the read to tell.
            Err(error) if is_elsewhere(&error) => {
                let name = self.path.file_name().and_then(|name| name.to_str()).ok_or(error)?;
                let parent = self.path.parent().unwrap_or(&self.path);
                Ok((self.host.files.open_to_read(parent)?, name.to_owned(), true))
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether nothing stands where it was looked for, so that it may stand at the other place.
fn is_elsewhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound)
}

/// What one read found, and memory for the next. Belongs to one reader.
#[derive(Debug)]
pub struct ReadBuffer {
    stored: Stored,
    bytes: Vec<u8>,
    spare: Spare,
    /// Whether the reader's path was the record's own.
    at_own_path: bool,
}

impl Default for ReadBuffer {
    fn default() -> Self {
        ReadBuffer { stored: Stored::Absent, bytes: Vec::new(), spare: Spare::default(), at_own_path: false }
    }
}

impl ReadBuffer {
    fn keep(&mut self, file: io::Result<OpenFile>) {
        let previous = match std::mem::replace(&mut self.stored, Stored::Absent) {
            Stored::Parsed(parsed) => Some(parsed),
            Stored::Absent | Stored::Unreadable(_) => None,
        };
        self.stored = match (file, previous) {
            (Ok(file), Some(mut parsed)) if !file.oversized => {
                parsed.file = OpenFile { pin: Box::new(()), ..file };
                if self.decode_over(&mut parsed) {
                    Stored::Parsed(parsed)
                } else {
                    Stored::of(Ok(parsed.file), self.bytes.clone())
                }
            }
            (Ok(file), None) if !file.oversized => Stored::of(Ok(file), self.bytes.clone()),
            (unread, _) => Stored::of(unread, Vec::new()),
        };
    }

    /// Makes a record of the bytes in the memory of the one before; `false` where they are none. The same bytes are the
    /// same record.
    fn decode_over(&mut self, parsed: &mut ParsedRecord) -> bool {
        if parsed.bytes != self.bytes {
            codec::take_apart(&mut parsed.record, &mut self.spare);
            let Ok(record) = codec::decode_with(&self.bytes, &mut self.spare) else { return false };
            parsed.record = record;
            std::mem::swap(&mut parsed.bytes, &mut self.bytes);
        }
        true
    }
}
