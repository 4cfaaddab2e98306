//! Local runs in one object whose calls block: start, watch, stop and settle a harness process (EX-BND-24 to EX-BND-31).
//!
//! It drives the machines of a boundary with the built-in process host, which hand out no call, and it is where a wait for a
//! dying tree sleeps.

use std::path::PathBuf;
use std::time::Duration;

use super::boundary::Boundary;
use super::contract::{ErrorKind, TransportError};
use super::ledger::lock::AbortToken;
use super::machine::{Machine, Reply, Step};
use super::options::ExecutionOptions;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::journal::Window;
use crate::json::{Object, Value};

/// The local runs of one task.
#[derive(Clone, Debug)]
pub struct LocalRuns {
    boundary: Boundary,
}

impl LocalRuns {
    /// Opens the runs of a task. Creates no file and starts nothing.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for options without the built-in process host, and those of [`Boundary::new`].
    pub fn open(options: ExecutionOptions, host: &Host) -> Result<Self> {
        if options.process_host.is_none() {
            return Err(no_process_host());
        }
        Ok(LocalRuns { boundary: Boundary::new(options, host)? })
    }

    /// The runs of a boundary that was made already.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a boundary without the built-in process host.
    pub fn of(boundary: &Boundary) -> Result<Self> {
        if !boundary.has_process_host() {
            return Err(no_process_host());
        }
        Ok(LocalRuns { boundary: boundary.clone() })
    }

    /// The boundary of the task, for every other call.
    #[must_use]
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Prepares an intake turn and gives `{receipt, native}`: the harness was asked for its version, and `native` is the command
    /// line that enforces the boundary, which the turn is started with.
    ///
    /// # Errors
    /// As [`Boundary::prepare`].
    pub fn prepare(&self, input: Object, abort: &AbortToken) -> Result<Object> {
        let prepared = drive(self.boundary.prepare(input, abort.clone()))?;
        Ok(prepared.as_object().cloned().unwrap_or_default())
    }

    /// Starts a run and gives its job record. Its process is on disk before it does anything (EX-LOC-03).
    ///
    /// # Errors
    /// As [`Boundary::submit`].
    pub fn start(&self, input: Object, abort: &AbortToken) -> Result<Object> {
        let job = drive(self.boundary.start(input, abort.clone()))?;
        Ok(job.as_object().cloned().unwrap_or_default())
    }

    /// Starts a further turn of the current run's session, and gives the outcome of [`Boundary::continue_run`].
    ///
    /// # Errors
    /// As [`Boundary::continue_run`].
    pub fn resume(&self, input: Object, abort: &AbortToken) -> Result<Value> {
        drive(self.boundary.continue_run(input, abort.clone()))
    }

    /// The job record that `latest-run` names.
    ///
    /// # Errors
    /// As [`Boundary::current`].
    pub fn current(&self) -> Result<Option<Object>> {
        self.boundary.current()
    }

    /// The job record of a run.
    ///
    /// # Errors
    /// As [`Boundary::read`].
    pub fn read(&self, run_id: &str) -> Result<Option<Object>> {
        self.boundary.read(run_id)
    }

    /// The public lines of a run.
    ///
    /// # Errors
    /// As [`Boundary::lines`].
    pub fn lines(&self, run_id: &str, after: Option<&str>, limit: usize) -> Result<Window> {
        self.boundary.lines(run_id, after, limit)
    }

    /// Where the files of a run are.
    ///
    /// # Errors
    /// As [`Boundary::dir_of`].
    pub fn dir_of(&self, run_id: &str) -> Result<PathBuf> {
        self.boundary.dir_of(run_id)
    }

    /// One pass, due or not: looks at the tree, kills what is due, settles what has ended, takes output in.
    ///
    /// # Errors
    /// As [`Boundary::reconcile`].
    pub fn pass(&self, abort: &AbortToken) -> Result<Value> {
        drive(self.boundary.reconcile(true, abort.clone()))
    }

    /// The outcome of a run that has ended; null while it lives.
    ///
    /// # Errors
    /// As [`Boundary::settle`].
    pub fn settle(&self, run_id: &str, abort: &AbortToken) -> Result<Value> {
        drive(self.boundary.settle(run_id.to_owned(), abort.clone()))
    }

    /// Stops a run's tree. Once it has returned the stop is recorded and the first signal is sent.
    ///
    /// # Errors
    /// As [`Boundary::kill`].
    pub fn kill(&self, input: Object, abort: &AbortToken) -> Result<Value> {
        drive(self.boundary.kill(input, abort.clone()))
    }

    /// Waits until the whole tree of a run is gone: true then, and false once `timeout` has passed or `abort` has fired. What a
    /// stop has left is killed when its time comes, and never because this wait is over (EX-LOC-19). Without a stop nobody is
    /// signalled.
    ///
    /// # Errors
    /// As [`Boundary::look_for_kill`], and those of [`LocalRuns::pass`] but for `EXECUTION_BUSY`.
    pub fn wait_for_kill(&self, run_id: &str, timeout: Duration, abort: &AbortToken) -> Result<bool> {
        let clock = self.boundary.clock();
        let until = clock.awake().saturating_add(timeout);
        let mut looks = 0;
        loop {
            let look = self.boundary.look_for_kill(run_id, looks)?;
            if look.is_gone {
                return Ok(true);
            }
            if look.is_kill_due {
                match self.pass(abort) {
                    // Whoever holds the lock kills it just as well; the next look tells.
                    Err(busy) if busy.code() == Code::ExecutionBusy => {}
                    passed => drop(passed?),
                }
            }
            let left = until.saturating_sub(clock.awake());
            if left.is_zero() || abort.is_aborted() || clock.is_cancelled() {
                return Ok(false);
            }
            clock.sleep(look.pause.min(left));
            looks += 1;
        }
    }
}

fn no_process_host() -> Error {
    Error::new(Code::ExecutionInput, "runner is no object with the options of the built-in host")
}

/// Runs a machine whose process host answers in the core to its end.
///
/// # Errors
/// Those of its call.
pub fn drive(mut machine: Machine) -> Result<Value> {
    let mut step = machine.start();
    loop {
        match step {
            Step::Done(outcome) => return outcome,
            Step::Call(call) => {
                let nobody = TransportError::of(ErrorKind::Io, "nobody answers the calls of this machine");
                step = machine.reply(call.id, Reply::Error(nobody))?;
            }
        }
    }
}
