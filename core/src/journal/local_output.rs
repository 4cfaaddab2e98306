//! The raw output of a local run on its way into the journal: one page at a time, each saved before its events are
//! appended (EX-JRN-39 to EX-JRN-48).
//!
//! Whoever takes output in holds the lock that guards the run. Which run that is, and whether its process has ended, is the
//! caller's to say; here is only what the files tell.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{input, io_error};
use super::event::GapReason;
use super::output_page::{MAX_PAGE_BYTES, OutputPage, Window, cut};
use super::output_state::{LOCAL_OUTPUT, OutputState};
use super::retention::{self, PROVIDER_LOG, Redactions};
use super::writer::{Journal, opening};
use crate::error::Result;
use crate::host::Host;
use crate::redaction::{Patterns, Redactor, Secrets};
use crate::storage::{
    self, DataAccess, DataFile, Directory, Durability, Replacement, Seen, StagedNames, sweep_abandoned,
};

const STAGED: &str = ".local-output.json.tmp-";
const UNREADABLE: &str = "local-output.json cannot be read";
/// A state has one page of at most [`MAX_PAGE_BYTES`], and members that this package may not know.
const MAX_STATE_BYTES: u64 = 1024 * 1024;

/// What the job record says of a local run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalRun {
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// Whether it is confirmed that its processes have ended, so that no byte follows any more.
    pub has_exited: bool,
}

/// What is next for a run's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A page. Where the state has one on its way already, that one.
    Page(OutputPage),
    /// Nothing now: the run lives and may say more.
    Waiting,
    /// Nothing any more.
    Drained,
}

/// The points of a turn at which a test stops it (EX-SEA-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputPoint {
    /// The page is durable, its events are not appended yet.
    Page,
    /// All its events are durable, also where it has none; the cursor still stands before it.
    Events,
}

impl OutputPoint {
    /// The point's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OutputPoint::Page => "output.page",
            OutputPoint::Events => "output.events",
        }
    }
}

/// What one turn of a run has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The events of the page that was taken in.
    pub records: usize,
    /// Its raw bytes.
    pub bytes: u64,
    /// Whether the run has output or private files left, and stays in the queue (EX-JRN-37).
    pub is_left: bool,
}

/// The raw output of one run.
pub struct LocalOutput {
    run: Arc<dyn Directory>,
    host: Host,
    secrets: Secrets,
    names: StagedNames,
    /// Of the directory's name.
    run_id: String,
    /// By the run's id.
    seen: Mutex<Seen<OutputState>>,
}

/// Without the secrets.
impl fmt::Debug for LocalOutput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LocalOutput").field("run", &self.run).finish_non_exhaustive()
    }
}

impl LocalOutput {
    /// The output of the run in this directory, which exists. Besides these secrets the retained ones of the run are
    /// covered, and recognised credentials. Nothing is read before the first call that needs it.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN` where there is no such directory, `EXECUTION_IO` where it cannot be opened.
    pub fn open(directory: impl AsRef<Path>, host: &Host, secrets: &Secrets) -> Result<Self> {
        let directory = directory.as_ref();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let run = host.files.open(directory).map_err(|error| opening(&name, directory, error))?;
        Ok(LocalOutput {
            run,
            host: host.clone(),
            secrets: secrets.clone(),
            names: StagedNames::new(host),
            run_id: name.into_owned(),
            seen: Mutex::default(),
        })
    }

    /// With what was seen of runs before.
    pub(super) fn with(mut self, seen: Seen<OutputState>) -> Self {
        self.seen = Mutex::new(seen);
        self
    }

    /// What was seen, for whoever comes back to these runs.
    pub(super) fn into_seen(self) -> Seen<OutputState> {
        self.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored(&self) -> Result<Option<OutputState>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error| io_error(UNREADABLE, error);
        let file = (&*self.run, LOCAL_OUTPUT);
        seen.read(file, &self.run_id, MAX_STATE_BYTES, &*self.host.clock, failed, OutputState::parse)
    }

    /// What is next. Writes nothing. Of a drained run no byte of the output is read (EX-JRN-38).
    ///
    /// # Errors
    /// `EXECUTION_QUEUE` and `EXECUTION_VERSION` for a state that cannot be believed, `EXECUTION_IO`.
    pub fn next(&self, run: LocalRun) -> Result<Next> {
        let stored = self.stored()?;
        let has_begun = stored.is_some();
        let state = stored.unwrap_or_default();
        if let Some(page) = state.page {
            return Ok(Next::Page(page));
        }
        let log = open_log(&*self.run)?;
        let size = size_of(log.as_deref())?;
        let idle = if run.has_exited { Next::Drained } else { Next::Waiting };
        let is_known = has_begun || size.is_some();
        if run.has_exited && is_known && state.is_drained(size) {
            return Ok(idle);
        }
        // A run that lives and of which nothing was read has not said anything yet.
        let has_not_spoken = !run.has_exited && state.cursor == 0 && size.is_none();
        if has_not_spoken || size == Some(state.cursor) {
            return Ok(idle);
        }
        let redactions = Redactions::read(&*self.run)?;
        let now_ms = self.host.clock.wall_ms();
        let secrets = redactions.with(&self.secrets);
        let reason = match (size, &secrets) {
            (None, _) => Some(GapReason::LocalOutputMissing),
            (Some(size), _) if size < state.cursor => Some(GapReason::LocalOutputTruncated),
            _ if redactions.have_expired(run.started_at_ms, now_ms) => Some(GapReason::LocalOutputExpired),
            (_, None) => Some(GapReason::RedactionMissing),
            _ => None,
        };
        if let Some(reason) = reason {
            // One gap stands for it, however often the run is looked at.
            return Ok(if state.lost.is_some() {
                idle
            } else {
                Next::Page(OutputPage::losing(state.cursor, reason))
            });
        }
        let (Some(log), Some(size), Some(secrets)) = (log, size, secrets) else { return Ok(idle) };
        let redactor = Redactor::new(&secrets, Patterns::Recognised)?;
        let page = read_page(&*log, size, &state, run.has_exited, &redactor)?;
        Ok(page.map_or(idle, Next::Page))
    }

    /// Saves a page of [`LocalOutput::next`] before its events are appended. It is durable once this has returned: the fact
    /// of the fault point `output.page`.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a page that is not the next one, `EXECUTION_QUEUE`, `EXECUTION_VERSION`, `EXECUTION_IO`.
    pub fn save(&mut self, page: &OutputPage) -> Result<()> {
        let state = self.stored()?.unwrap_or_default();
        match &state.page {
            Some(stands) if stands == page => return Ok(()),
            None if page.start == state.cursor => {}
            _ => return Err(input("the page is not the next one of this run")),
        }
        let _ = sweep_abandoned(&*self.run, &[STAGED], &self.host);
        self.persist(&state.with(page))
    }

    /// Moves the cursor behind the saved page, in one Persist. To be called once the journal has acknowledged all its
    /// events: the fact of the fault point `output.events` lies before it (EX-JRN-87).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` where another page stands or none, `EXECUTION_QUEUE`, `EXECUTION_VERSION`, `EXECUTION_IO`.
    pub fn finish(&mut self, page: &OutputPage) -> Result<()> {
        let state = self.stored()?.unwrap_or_default();
        if state.page.as_ref() != Some(page) {
            return Err(input("the page is not the saved one of this run"));
        }
        let size = size_of(open_log(&*self.run)?.as_deref())?;
        self.persist(&state.after(page, size))
    }

    /// As [`LocalOutput::serve_at`], without anything at the points.
    ///
    /// # Errors
    /// Those of the steps.
    pub fn serve(&mut self, run: LocalRun, journal: &mut Journal) -> Result<Served> {
        self.serve_at(run, journal, &mut |_| Ok(()))
    }

    /// One turn: takes in at most one page, and then, where nothing is left to take in, removes what has expired. The
    /// steps are those that [`LocalOutput::next`], [`LocalOutput::save`], [`Journal::append`], [`LocalOutput::finish`],
    /// [`LocalOutput::note_pending`] and [`LocalOutput::clean_up`] make one by one.
    ///
    /// # Errors
    /// Those of the steps and of `at`, which is told of each point as it is reached. The next turn goes on where this one has
    /// stopped, and no event is there twice.
    pub fn serve_at(
        &mut self,
        run: LocalRun,
        journal: &mut Journal,
        at: &mut dyn FnMut(OutputPoint) -> Result<()>,
    ) -> Result<Served> {
        self.serve_into(run, &mut |page| journal.append(&page.events).map(drop), at)
    }

    /// As [`LocalOutput::serve_at`], with what appends the events of a page and is durable once it has returned. It is asked
    /// only where there is a page.
    pub(super) fn serve_into(
        &mut self,
        run: LocalRun,
        append: &mut dyn FnMut(&OutputPage) -> Result<()>,
        at: &mut dyn FnMut(OutputPoint) -> Result<()>,
    ) -> Result<Served> {
        let mut served = Served { records: 0, bytes: 0, is_left: true };
        match self.next(run)? {
            Next::Page(page) => {
                self.save(&page)?;
                at(OutputPoint::Page)?;
                append(&page)?;
                at(OutputPoint::Events)?;
                self.finish(&page)?;
                (served.records, served.bytes) = (page.events.len(), page.end - page.start);
            }
            Next::Waiting => self.note_pending()?,
            Next::Drained => {}
        }
        served.is_left = self.clean_up(run)?;
        Ok(served)
    }

    /// Says in the state whether bytes are there that wait for the rest of their record, so that they are missed if they go
    /// before that. Writes nothing where the state says so already.
    ///
    /// # Errors
    /// `EXECUTION_QUEUE`, `EXECUTION_VERSION`, `EXECUTION_IO`.
    pub fn note_pending(&mut self) -> Result<()> {
        let mut state = self.stored()?.unwrap_or_default();
        let size = size_of(open_log(&*self.run)?.as_deref())?;
        let pending =
            state.page.is_some() || state.lost.is_none() && size.is_some_and(|size| size > state.cursor);
        if pending == state.pending {
            return Ok(());
        }
        state.pending = pending;
        self.persist(&state)
    }

    /// Removes the private files of a run that has nothing left to take in, where they have expired and the result is durable
    /// (EX-JRN-47). Answers whether output or a private file is left. A removal that fails is tried again by the next call.
    ///
    /// # Errors
    /// As [`LocalOutput::next`].
    pub fn clean_up(&self, run: LocalRun) -> Result<bool> {
        Ok(!is_drained_as(self.stored()?, &*self.run, run)?
            || retention::clean_up(&*self.run, run.started_at_ms, self.host.clock.wall_ms())?)
    }

    /// Whether anything of the output of a run that has ended is left to take in, as far as its files tell: of a run without raw
    /// output, as a remote one is, nothing is. Writes nothing.
    ///
    /// # Errors
    /// As [`LocalOutput::next`].
    pub fn is_left(&self) -> Result<bool> {
        let stored = self.stored()?;
        let size = size_of(open_log(&*self.run)?.as_deref())?;
        Ok((stored.is_some() || size.is_some()) && !stored.unwrap_or_default().is_drained(size))
    }

    fn persist(&mut self, state: &OutputState) -> Result<()> {
        let text = state.encode();
        persist(&*self.run, &self.names.next(STAGED), LOCAL_OUTPUT, &text)
            .map_err(|error| io_error("local-output.json cannot be replaced", error))
    }
}

/// Whether an ended run has nothing left to take in. A run that lives always may.
///
/// # Errors
/// As [`LocalOutput::next`].
pub(super) fn is_drained(directory: &dyn Directory, run: LocalRun) -> Result<bool> {
    is_drained_as(read_state(directory)?, directory, run)
}

fn is_drained_as(stored: Option<OutputState>, directory: &dyn Directory, run: LocalRun) -> Result<bool> {
    if !run.has_exited {
        return Ok(false);
    }
    let size = size_of(open_log(directory)?.as_deref())?;
    Ok((stored.is_some() || size.is_some()) && stored.unwrap_or_default().is_drained(size))
}

/// Replaces a file, durably.
pub(super) fn persist(directory: &dyn Directory, staged: &str, name: &str, text: &str) -> io::Result<()> {
    let bytes = text.as_bytes();
    let durability = Durability::Durable;
    let replacement = Replacement { name, staged, bytes, durability, keep: false, judged: None };
    storage::publish(directory, &replacement).map(drop)
}

/// Reads and judges `local-output.json`; none where nothing stands there.
///
/// # Errors
/// `EXECUTION_QUEUE`, `EXECUTION_VERSION`; `EXECUTION_IO` for whatever is not a missing file (EX-JRN-85).
pub(super) fn read_state(run: &dyn Directory) -> Result<Option<OutputState>> {
    let mut bytes = Vec::new();
    match run.read(LOCAL_OUTPUT, MAX_STATE_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(UNREADABLE, error)),
        // What is cut off at the limit is no JSON any more, and is refused as such.
        Ok(_) => OutputState::parse(&bytes).map(Some),
    }
}

fn open_log(run: &dyn Directory) -> Result<Option<Box<dyn DataFile>>> {
    match run.open_data(PROVIDER_LOG, DataAccess::Read) {
        Ok(log) => Ok(Some(log)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("provider.log cannot be opened", error)),
    }
}

fn size_of(log: Option<&dyn DataFile>) -> Result<Option<u64>> {
    let size = log.map(DataFile::size).transpose();
    size.map_err(|error| io_error("provider.log cannot be looked at", error))
}

/// Reads at most one page's bytes, the one before the cursor included (EX-JRN-45), and cuts the page.
fn read_page(
    log: &dyn DataFile,
    size: u64,
    state: &OutputState,
    has_exited: bool,
    redactor: &Redactor,
) -> Result<Option<OutputPage>> {
    let before = u64::from(state.cursor > 0 && !state.discarding);
    let from = state.cursor - before;
    let wanted = (size - from).min(MAX_PAGE_BYTES);
    // At most a page, so it fits.
    let mut buffer = vec![0; wanted as usize];
    let read =
        log.read_at(from, &mut buffer).map_err(|error| io_error("provider.log cannot be read", error))?;
    if read < buffer.len() {
        let error = io::ErrorKind::UnexpectedEof.into();
        return Err(io_error("provider.log was cut while it was read", error));
    }
    let (probed, bytes) = buffer.split_at(before as usize);
    let window = Window {
        cursor: state.cursor,
        discarding: state.discarding || probed.iter().any(|byte| *byte != b'\n'),
        bytes,
        is_last: has_exited && from + wanted == size,
        is_full: wanted == MAX_PAGE_BYTES,
    };
    Ok(cut(&window, redactor))
}
