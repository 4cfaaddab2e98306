//! Reading one seat. No lock is taken and nothing is created.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::derive::{Derived, Snapshot};
use super::explain::Explanation;
use super::moment::Moment;
use super::options::Options;
use super::probe::{Probe, ask_within_budget};
use super::seat::{RECORD, Stored};
use crate::host::Host;
use crate::process::Liveness;
use crate::storage::Directory;

/// Reads one agent's record, by its directory or by the record's own path. May be shared by threads.
#[derive(Clone, Debug)]
pub struct Reader {
    path: PathBuf,
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
        Reader { path, options: options.clone(), host: host.clone() }
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
        self.asking(&snapshot, probe, |asked| snapshot.derive(&self.options, snapshot.taken_at(), asked))
    }

    /// As [`Reader::read`], and which row of the table decided (HS-91).
    #[must_use]
    pub fn explain(&self, probe: Option<&dyn Probe>) -> Explanation {
        let snapshot = self.snapshot();
        self.asking(&snapshot, probe, |asked| snapshot.explain(&self.options, snapshot.taken_at(), asked))
    }

    /// Concludes with what asks the probe, where there is one.
    fn asking<T>(
        &self,
        snapshot: &Snapshot,
        probe: Option<&dyn Probe>,
        conclude: impl FnOnce(Option<&mut dyn FnMut() -> Liveness>) -> T,
    ) -> T {
        let mut ask = || match (probe, snapshot.record()) {
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
        let located = self.locate();
        let stored = located.map(|(directory, name)| Stored::read(&*directory, &name));
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
        match self.host.files.open_to_read(&self.path) {
            Ok(directory) => Ok((directory, RECORD.to_owned())),
            // Not a directory, or missing, or a link to nothing: then the path is the record's own, and what stands
            // there is for the read to tell.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
                let name = self.path.file_name().and_then(|name| name.to_str()).ok_or(error)?;
                let parent = self.path.parent().unwrap_or(&self.path);
                Ok((self.host.files.open_to_read(parent)?, name.to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}
