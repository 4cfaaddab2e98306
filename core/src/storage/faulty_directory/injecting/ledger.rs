//! What a list of faults makes of the operations on a real disk, and the trace of them.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::storage::faulty_directory::errno::Errno;
use crate::storage::faulty_directory::fault::{Action, Armed, Fault};
use crate::storage::faulty_directory::operation::{OperationKind, OperationRecord, Request};

#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    faults: Vec<(Armed, Fault)>,
    records: Vec<OperationRecord>,
    started: u64,
    /// Bytes of content for which there is still room, once the disk is to become full.
    room: Option<u64>,
}

/// What the faults make of one operation.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Proceed,
    Fail(Errno),
    FailAfter(Errno),
    /// Put down so many bytes, then fail so; without an error number the process is gone.
    Partial(u64, Option<Errno>),
    Crash,
    CrashAfter,
}

impl Ledger {
    pub(super) fn set_faults(&self, faults: impl IntoIterator<Item = Fault>) {
        let armed = faults.into_iter().map(|fault| (Armed::new(fault.point().clone()), fault)).collect();
        self.lock().faults = armed;
    }

    pub(super) fn operations(&self) -> Vec<OperationRecord> {
        self.lock().records.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an operation that writes no bytes.
    pub(super) fn perform<T>(
        &self,
        request: &Request<'_>,
        mut effect: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        self.perform_writing(request, &[], |_| effect())
    }

    /// Makes an operation that writes bytes; the effect is given those that are to be put down.
    pub(super) fn perform_writing<T>(
        &self,
        request: &Request<'_>,
        bytes: &[u8],
        mut effect: impl FnMut(&[u8]) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut done = 0;
        loop {
            let rest = &bytes[done..];
            let (number, verdict) = self.lock().judge(request, rest.len());
            let answer = match verdict {
                Verdict::Proceed => effect(rest),
                Verdict::Fail(errno) => Err(errno.into()),
                Verdict::FailAfter(errno) => effect(rest).and(Err(errno.into())),
                Verdict::Crash => die(),
                Verdict::CrashAfter => {
                    let _ = effect(rest);
                    die()
                }
                Verdict::Partial(count, errno) => {
                    let count = usize::try_from(count).unwrap_or(usize::MAX).min(rest.len());
                    let put_down = effect(&rest[..count]);
                    done += count;
                    match errno {
                        None => die(),
                        Some(Errno::EINTR) if count == rest.len() => put_down,
                        Some(errno) => put_down.and(Err(errno.into())),
                    }
                }
            };
            let error = answer.as_ref().err().map(ToString::to_string);
            let directory = request.directory.to_owned();
            let record =
                OperationRecord { number, kind: request.kind, directory, text: request.text(), error };
            self.lock().records.push(record);
            match answer {
                Err(error)
                    if error.raw_os_error() == Some(Errno::EINTR.raw())
                        && request.kind.is_repeated_when_interrupted() => {}
                answer => return answer,
            }
        }
    }
}

impl State {
    fn judge(&mut self, request: &Request<'_>, bytes: usize) -> (u64, Verdict) {
        self.started += 1;
        let number = self.started;
        let writes = request.kind.writes_bytes();
        let mut verdict = None;
        for (point, fault) in &mut self.faults {
            if !point.is_due(number, request) {
                continue;
            }
            let decided = match fault.action() {
                Action::Full { bytes } => {
                    self.room = Some(bytes);
                    continue;
                }
                Action::Error(errno) => Verdict::Fail(errno),
                Action::ErrorAfter(errno) => Verdict::FailAfter(errno),
                // Replacing a content begins anew each time: there is nothing that could go on after an interruption.
                Action::Short { errno: Errno::EINTR, .. }
                    if request.kind == OperationKind::SetLockContents =>
                {
                    Verdict::Proceed
                }
                Action::Short { bytes, errno } if writes => Verdict::Partial(bytes, Some(errno)),
                Action::Short { errno, .. } => Verdict::Fail(errno),
                Action::Torn { bytes } if writes => Verdict::Partial(bytes, None),
                Action::Torn { .. } | Action::Crash => Verdict::Crash,
                Action::CrashAfter => Verdict::CrashAfter,
            };
            // The first in the list counts.
            verdict = verdict.or(Some(decided));
        }
        if let (None, Some(room), true) = (verdict, &mut self.room, writes) {
            let wanted = bytes as u64;
            if wanted > *room {
                verdict = Some(Verdict::Partial(std::mem::take(room), Some(Errno::ENOSPC)));
            } else {
                *room -= wanted;
            }
        }
        (number, verdict.unwrap_or(Verdict::Proceed))
    }
}

/// What a crash is where the process is real.
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
