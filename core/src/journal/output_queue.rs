//! `local-output-queue.json` in a task's root: the earlier local runs whose output is not all taken in, or whose private
//! files are still there (EX-JRN-32 to EX-JRN-37).
//!
//! A run is put here before its successor's intent is saved, so that no crash in between loses it. Whoever writes holds the
//! lock that guards the task.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{input, io_error, queue_error};
use super::event::Owner;
use super::local_output::{LocalOutput, LocalRun, OutputPoint, Served, is_drained, persist, read_state};
use super::output_page::OutputPage;
use super::output_state::{OutputState, check_member};
use super::retention::has_private_files;
use super::writer::Journal;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Value, canonical};
use crate::redaction::{Patterns, Redactor, Secrets};
use crate::storage::{Directory, Seen, StagedNames, sweep_abandoned};

/// The queue's name in a task's root.
pub const OUTPUT_QUEUE: &str = "local-output-queue.json";
const STAGED: &str = ".local-output-queue.json.tmp-";
const UNREADABLE: &str = "local-output-queue.json cannot be read";
/// A queue longer than this is none: it has room for more than ten thousand runs.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a pass has to know of a run that it serves.
#[derive(Debug)]
pub struct Source {
    /// What its job record says.
    pub run: LocalRun,
    /// Whose journal it is.
    pub owner: Owner,
    /// The secrets of the boundary. The retained ones of the run are found beside its output.
    pub secrets: Secrets,
}

/// What a pass has served: a run and what its turn has come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The first run of the queue, where there was one.
    pub queued: Option<(String, Served)>,
    /// The current run, where there is one that was not the first of the queue.
    pub current: Option<(String, Served)>,
}

/// The queue of one task.
pub struct OutputQueue {
    path: PathBuf,
    root: Arc<dyn Directory>,
    host: Host,
    names: StagedNames,
    seen: SeenOutput,
}

/// What the queue and the states of the runs said when a pass last read them.
#[derive(Debug, Default)]
pub(crate) struct SeenOutput {
    /// By the empty path.
    queue: Seen<Queue>,
    /// By the runs' ids.
    states: Seen<OutputState>,
}

impl fmt::Debug for OutputQueue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OutputQueue").field("root", &self.root).finish_non_exhaustive()
    }
}

/// What stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    runs: Vec<String>,
    /// Members that this package does not know, with their values' texts (kept on rewrite).
    unknown: Vec<(String, String)>,
}

impl OutputQueue {
    /// The queue in a task's root, which exists. Nothing is read.
    ///
    /// # Errors
    /// `EXECUTION_IO` where the root cannot be opened.
    pub fn open(root: impl AsRef<Path>, host: &Host) -> Result<Self> {
        let failed = |error| io_error("the task's root cannot be opened", error);
        let path = host.files.absolute(root.as_ref()).map_err(failed)?;
        let root = host.files.open(&path).map_err(failed)?;
        let seen = SeenOutput::default();
        Ok(OutputQueue { path, root, host: host.clone(), names: StagedNames::new(host), seen })
    }

    /// As [`OutputQueue::open`], of a root that is open already, with what was seen before.
    pub(crate) fn over(root: Arc<dyn Directory>, path: PathBuf, host: &Host, seen: SeenOutput) -> Self {
        OutputQueue { path, root, host: host.clone(), names: StagedNames::new(host), seen }
    }

    /// What was seen, for the next pass.
    pub(crate) fn into_seen(self) -> SeenOutput {
        self.seen
    }

    /// The queued runs, in the order in which they are served.
    ///
    /// # Errors
    /// `EXECUTION_VERSION` for a queue of another package, `EXECUTION_QUEUE` for one that makes no sense, `EXECUTION_IO`.
    pub fn runs(&self) -> Result<Vec<String>> {
        self.read().map(|queue| queue.runs)
    }

    /// Refuses where a new intent would lose output: the queue, or the state of a queued run, cannot be believed
    /// (EX-JRN-34, EX-JRN-51). Writes nothing.
    ///
    /// # Errors
    /// As [`OutputQueue::runs`].
    pub fn check(&self) -> Result<()> {
        self.checked().map(drop)
    }

    /// Makes sure that a run is in the queue if anything of it is left to do, before a successor saves its intent or starts
    /// and before `latest-run` is replaced (EX-JRN-33). Answers whether it is. What is in the queue is durable once this has
    /// returned: the fact of the fault point `queue.saved`.
    ///
    /// # Errors
    /// As [`OutputQueue::check`], and `EXECUTION_QUEUE` where the queue cannot be saved: the successor must not start.
    pub fn hold(&mut self, run_id: &str, run: LocalRun) -> Result<bool> {
        if !is_run_id(run_id) {
            return Err(input("a run's id cannot be a file's name"));
        }
        let mut queue = self.checked()?;
        let Some(directory) = self.directory(run_id)? else { return Ok(false) };
        // Judged in any case: a state that cannot be believed refuses.
        let is_drained = is_drained(&*directory, run)?;
        if queue.runs.iter().any(|queued| queued == run_id) {
            return Ok(true);
        }
        if is_drained && !has_private_files(&*directory)? {
            return Ok(false);
        }
        queue.runs.push(run_id.to_owned());
        let _ = sweep_abandoned(&*self.root, &[STAGED], &self.host);
        self.save(&queue)?;
        Ok(true)
    }

    /// As [`OutputQueue::pass_at`], without anything at the points.
    ///
    /// # Errors
    /// Those of [`OutputQueue::pass_at`].
    pub fn pass(
        &mut self,
        current: Option<&str>,
        source: &mut dyn FnMut(&str) -> Result<Source>,
    ) -> Result<Pass> {
        self.pass_at(current, source, &mut |_| Ok(()))
    }

    /// One page of the first queued run and one of the current run (EX-JRN-35), also where there is no current one. The queued
    /// one goes to the end if anything of it is left, and out of the queue otherwise (EX-JRN-37).
    ///
    /// `source` tells what it needs to know of a run, and `at` is told of each point of a turn as it is reached.
    ///
    /// # Errors
    /// Those of a turn, of `at` and of [`OutputQueue::runs`]. A queued run that cannot be
    /// served goes to the end, so that it holds up no other, and what is wrong with the queue does not hold up the current run.
    pub fn pass_at(
        &mut self,
        current: Option<&str>,
        source: &mut dyn FnMut(&str) -> Result<Source>,
        at: &mut dyn FnMut(OutputPoint) -> Result<()>,
    ) -> Result<Pass> {
        let queue = self.read_again();
        let first = queue.as_ref().ok().and_then(|queue| queue.runs.first().cloned());
        let queued = queue.and_then(|queue| self.serve_first(queue, source, at));
        let current = current.filter(|run_id| first.as_deref() != Some(run_id));
        let current = match current {
            Some(run_id) => Some((run_id.to_owned(), self.turn(run_id, source, at)?)),
            None => None,
        };
        Ok(Pass { queued: queued?, current })
    }

    fn serve_first(
        &mut self,
        queue: Queue,
        source: &mut dyn FnMut(&str) -> Result<Source>,
        at: &mut dyn FnMut(OutputPoint) -> Result<()>,
    ) -> Result<Option<(String, Served)>> {
        let Some(first) = queue.runs.first().cloned() else { return Ok(None) };
        let turn = self.turn(&first, source, at);
        self.rotate(queue, turn.as_ref().map_or(true, |served| served.is_left))?;
        Ok(Some((first, turn?)))
    }

    fn turn(
        &mut self,
        run_id: &str,
        source: &mut dyn FnMut(&str) -> Result<Source>,
        at: &mut dyn FnMut(OutputPoint) -> Result<()>,
    ) -> Result<Served> {
        // A run whose directory is gone has neither output nor private files.
        if self.directory(run_id)?.is_none() {
            return Ok(Served { records: 0, bytes: 0, is_left: false });
        }
        let Source { run, owner, secrets } = source(run_id)?;
        let path = self.path.join(run_id);
        // The events are redacted already, with the retained secrets of the run besides.
        let redactor = Redactor::new(&secrets, Patterns::Recognised)?;
        let mut append = |page: &OutputPage| {
            Journal::open(&path, owner.clone(), &self.host, &redactor)?.append(&page.events).map(drop)
        };
        let seen = std::mem::take(&mut self.seen.states);
        let mut output = LocalOutput::open(&path, &self.host, &secrets)?.with(seen);
        let served = output.serve_into(run, &mut append, at);
        self.seen.states = output.into_seen();
        served
    }

    /// Takes the first run out, and puts it at the end if anything of it is left.
    fn rotate(&mut self, mut queue: Queue, is_left: bool) -> Result<()> {
        if is_left && queue.runs.len() < 2 {
            return Ok(());
        }
        let first = queue.runs.remove(0);
        if is_left {
            queue.runs.push(first);
        }
        self.save(&queue)
    }

    fn checked(&self) -> Result<Queue> {
        let queue = self.read()?;
        for run_id in &queue.runs {
            if let Some(run) = self.directory(run_id)? {
                read_state(&*run)?;
            }
        }
        Ok(queue)
    }

    /// A run's directory; none where it is missing.
    fn directory(&self, run_id: &str) -> Result<Option<Arc<dyn Directory>>> {
        match self.root.open_directory(run_id) {
            Ok(run) => Ok(Some(run)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("the run's directory cannot be opened", error)),
        }
    }

    fn read_again(&mut self) -> Result<Queue> {
        let failed = |error| io_error(UNREADABLE, error);
        let file = (&*self.root, OUTPUT_QUEUE);
        let read = self.seen.queue.read(file, "", MAX_BYTES, &*self.host.clock, failed, Queue::parse)?;
        Ok(read.unwrap_or_default())
    }

    fn read(&self) -> Result<Queue> {
        let mut bytes = Vec::new();
        match self.root.read(OUTPUT_QUEUE, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Queue::default()),
            Err(error) => Err(io_error(UNREADABLE, error)),
            // What is cut off at the limit is no JSON any more, and is refused as such.
            Ok(_) => Queue::parse(&bytes),
        }
    }

    fn save(&mut self, queue: &Queue) -> Result<()> {
        persist(&*self.root, &self.names.next(STAGED), OUTPUT_QUEUE, &queue.encode()).map_err(|error| {
            let remedy =
                "see that the task's root can be written, then call again; the successor has not started";
            Error::new(Code::ExecutionQueue, "local-output-queue.json cannot be saved")
                .with_reason("io")
                .with_source(error)
                .with_remedy(remedy)
        })
    }
}

impl Queue {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let invalid = |why: &str| queue_error(format!("{OUTPUT_QUEUE} makes no sense: {why}"));
        let value = std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok());
        let members =
            value.as_ref().and_then(Value::as_object).ok_or_else(|| invalid("it is no JSON object"))?;
        check_member(members, "queue", OUTPUT_QUEUE)?;
        let listed =
            members.get("runs").and_then(Value::as_array).ok_or_else(|| invalid("runs is no list"))?;
        let mut runs: Vec<String> = Vec::with_capacity(listed.len());
        let mut seen = HashSet::with_capacity(listed.len());
        for run in listed {
            let run = run.as_str().filter(|run| is_run_id(run));
            let run = run.ok_or_else(|| invalid("a run's id cannot be a file's name"))?;
            if !seen.insert(run) {
                return Err(invalid("a run is there twice"));
            }
            runs.push(run.to_owned());
        }
        let unknown = members.iter().filter(|(key, _)| !["version", "runs"].contains(key));
        let unknown = unknown.map(|(key, value)| (key.to_owned(), value.to_json())).collect();
        Ok(Queue { runs, unknown })
    }

    fn encode(&self) -> String {
        let mut out = String::from("{\"version\":1,\"runs\":[");
        for (at, run) in self.runs.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            canonical::write_string(run, &mut out);
        }
        out.push(']');
        for (key, value) in &self.unknown {
            out.push(',');
            canonical::write_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push_str("}\n");
        out
    }
}

/// Whether an id can be a run's directory.
fn is_run_id(id: &str) -> bool {
    !matches!(id, "" | "." | "..") && !id.contains(['/', '\0'])
}
