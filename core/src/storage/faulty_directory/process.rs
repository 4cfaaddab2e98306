//! One simulated process: how each of its operations is counted, made to fail, made, and recorded.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::disk::Stamp;
use super::errno::Errno;
use super::fault::Action;
use super::image::{NodeId, index};
use super::machine::{DescriptorId, Machine, ProcessId, Purpose, Shared};
use super::operation::{OperationRecord, Request};
use crate::storage::directory::Metadata;

/// What every operation of a simulated process answers from its crash on, inside an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulatedCrash;

impl fmt::Display for SimulatedCrash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the simulated process has crashed")
    }
}

impl std::error::Error for SimulatedCrash {}

/// Whether this error says that the simulated process has crashed.
#[must_use]
pub fn is_simulated_crash(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<SimulatedCrash>())
}

fn crash() -> io::Error {
    io::Error::other(SimulatedCrash)
}

/// A process on a machine.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) shared: Arc<Shared>,
    pub(super) process: ProcessId,
}

/// What the faults make of one operation.
#[derive(Clone, Copy, Debug)]
enum Decision {
    Proceed,
    Fail(Errno),
    /// Has its effect, then answers so.
    ProceedAnd(End),
    /// Writes so many bytes, then answers so.
    Partial(u64, End),
    Crash,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Fails(Errno),
    Crashes,
}

/// What an effect is applied with.
pub(super) struct Context<'a> {
    pub(super) machine: &'a mut Machine,
    process: ProcessId,
    pub(super) stamp: Stamp,
    /// What the operation has opened, to be closed again where the caller never hears of it.
    opened: Vec<DescriptorId>,
}

impl View {
    /// Makes an operation that writes no bytes.
    ///
    /// # Errors
    /// The fault's, the effect's, or [`SimulatedCrash`].
    pub(super) fn perform<T>(
        &self,
        request: &Request<'_>,
        mut effect: impl FnMut(&mut Context<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.perform_writing(request, &[], |context, _, _| effect(context))
    }

    /// Makes an operation that writes bytes. The effect is given a part of them and where that part begins; it is
    /// called more than once where a short count makes the rest an operation of its own.
    ///
    /// # Errors
    /// The fault's, the effect's, or [`SimulatedCrash`].
    pub(super) fn perform_writing<T>(
        &self,
        request: &Request<'_>,
        bytes: &[u8],
        mut effect: impl FnMut(&mut Context<'_>, usize, &[u8]) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut written = 0;
        loop {
            let request = request.clone().of_rest(written);
            let (number, decision) = self.begin(&request)?;
            let rest = bytes.len() - written;
            let (part, end) = match decision {
                Decision::Partial(count, end) => (index(count).min(rest), Some(end)),
                Decision::ProceedAnd(end) => (rest, Some(end)),
                Decision::Proceed | Decision::Fail(_) | Decision::Crash => (rest, None),
            };
            let now_ns = self.shared.now_ns();
            let text = request.text();
            let mut machine = self.shared.lock();
            if machine.process(self.process).dead {
                return Err(crash());
            }
            let answer = match decision {
                Decision::Fail(errno) => Err(Refusal::Errno(errno)),
                Decision::Crash => Err(Refusal::Crash),
                Decision::Proceed | Decision::ProceedAnd(_) | Decision::Partial(..) => {
                    let stamp =
                        Stamp { now_ns, operation: format!("{number} `{text}`").into(), durable: false };
                    let opened = Vec::new();
                    let mut context = Context { machine: &mut machine, process: self.process, stamp, opened };
                    let done = effect(&mut context, written, &bytes[written..written + part]);
                    let opened = context.opened;
                    written += part;
                    let answer = match (end, done) {
                        (Some(End::Crashes), _) => Err(Refusal::Crash),
                        (None, Ok(done)) => Ok(done),
                        // A short count that happens to be the whole is a success.
                        (Some(End::Fails(Errno::EINTR)), Ok(done)) if written == bytes.len() => Ok(done),
                        (Some(End::Fails(errno)), Ok(_)) => Err(Refusal::Errno(errno)),
                        (_, Err(error)) => Err(Refusal::Own(error)),
                    };
                    if answer.is_err() {
                        opened.into_iter().for_each(|id| machine.close(id));
                    }
                    answer
                }
            };
            let error = answer.as_ref().err().map(Refusal::words);
            let directory = request.directory.to_owned();
            let record = OperationRecord { number, kind: request.kind, directory, text, error };
            machine.process(self.process).records.push(record);
            match answer {
                Ok(done) => return Ok(done),
                Err(Refusal::Errno(Errno::EINTR)) if request.kind.is_repeated_when_interrupted() => {}
                Err(Refusal::Errno(errno)) => return Err(errno.into()),
                Err(Refusal::Own(error)) => return Err(error),
                Err(Refusal::Crash) => {
                    machine.end(self.process);
                    return Err(crash());
                }
            }
        }
    }

    /// Counts the operation, lets the pauses that are due happen, and asks the faults.
    fn begin(&self, request: &Request<'_>) -> io::Result<(u64, Decision)> {
        let (number, decision, pauses) = {
            let mut machine = self.shared.lock();
            let process = machine.process(self.process);
            if process.dead {
                return Err(crash());
            }
            process.started += 1;
            let number = process.started;
            let (due, waiting) = std::mem::take(&mut process.pauses).into_iter().fold(
                (Vec::new(), Vec::new()),
                |(mut due, mut waiting), mut pause| {
                    if pause.point.is_due(number, request) {
                        due.push(pause)
                    } else {
                        waiting.push(pause)
                    }
                    (due, waiting)
                },
            );
            process.pauses = waiting;
            let mut decision = Decision::Proceed;
            let mut room = None;
            for (point, fault) in &mut process.faults {
                if !point.is_due(number, request) {
                    continue;
                }
                match (decide(fault.action(), request), decision) {
                    (None, _) => {
                        if let Action::Full { bytes } = fault.action() {
                            room = Some(bytes);
                        }
                    }
                    // The first in the list counts.
                    (Some(decided), Decision::Proceed) => decision = decided,
                    (Some(_), _) => {}
                }
            }
            machine.disk.room = room.or(machine.disk.room);
            (number, decision, due)
        };
        for pause in pauses {
            (pause.action)();
        }
        Ok((number, decision))
    }

    /// Owns a descriptor that an operation of this process has opened.
    pub(super) fn own(&self, opened: Opened) -> OpenDescriptor {
        OpenDescriptor { view: self.clone(), opened }
    }
}

/// `None` for what does not concern the one operation.
fn decide(action: Action, request: &Request<'_>) -> Option<Decision> {
    let writes = request.kind.writes_bytes();
    match action {
        Action::Error(errno) => Some(Decision::Fail(errno)),
        Action::ErrorAfter(errno) => Some(Decision::ProceedAnd(End::Fails(errno))),
        Action::Short { bytes, errno } if writes => Some(Decision::Partial(bytes, End::Fails(errno))),
        Action::Short { errno, .. } => Some(Decision::Fail(errno)),
        Action::Torn { bytes } if writes => Some(Decision::Partial(bytes, End::Crashes)),
        Action::Torn { .. } | Action::Crash => Some(Decision::Crash),
        Action::CrashAfter => Some(Decision::ProceedAnd(End::Crashes)),
        Action::Full { .. } => None,
    }
}

/// Why an operation does not answer what was asked.
enum Refusal {
    /// A fault.
    Errno(Errno),
    /// The file system's own rules.
    Own(io::Error),
    /// The process is gone.
    Crash,
}

impl Refusal {
    fn words(&self) -> String {
        match self {
            Refusal::Errno(errno) => errno.name().to_owned(),
            Refusal::Own(error) => error
                .raw_os_error()
                .and_then(|raw| Errno::ALL.iter().find(|errno| errno.raw() == raw))
                .map_or_else(|| error.to_string(), |errno| errno.name().to_owned()),
            Refusal::Crash => "crash".to_owned(),
        }
    }
}

impl Context<'_> {
    /// Opens an inode. The descriptor is owned by [`View::own`] once the operation is over: owning it here would
    /// close it, on the way out of a failure, under the machine's mutex.
    pub(super) fn open(&mut self, node: NodeId, purpose: Purpose) -> Opened {
        let id = self.machine.open(self.process, node, purpose);
        let forks = self.machine.process(self.process).forks;
        self.opened.push(id);
        Opened { id, node, purpose, forks }
    }

    /// # Errors
    /// `ENOENT`.
    pub(super) fn metadata(&self, node: NodeId) -> io::Result<Metadata> {
        self.machine.disk.live().metadata(node, self.machine.device)
    }
}

/// A descriptor that was opened and is not owned yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    id: DescriptorId,
    node: NodeId,
    purpose: Purpose,
    /// The number of forks that its process had behind it.
    forks: u64,
}

/// An open descriptor, closed by dropping it.
#[derive(Debug)]
pub(super) struct OpenDescriptor {
    view: View,
    opened: Opened,
}

impl OpenDescriptor {
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    pub(super) fn id(&self) -> DescriptorId {
        self.opened.id
    }

    pub(super) fn node(&self) -> NodeId {
        self.opened.node
    }

    /// Whether it is a lock file's and came through a fork, so that it is the parent's.
    pub(super) fn is_forked(&self) -> bool {
        self.is_parents(&mut self.view.shared.lock())
    }

    fn is_parents(&self, machine: &mut Machine) -> bool {
        self.opened.purpose == Purpose::Lock && machine.process(self.view.process).forks != self.opened.forks
    }
}

impl Drop for OpenDescriptor {
    fn drop(&mut self) {
        let mut machine = self.view.shared.lock();
        if !self.is_parents(&mut machine) {
            machine.close(self.opened.id);
        }
    }
}
