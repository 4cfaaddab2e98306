//! Lanes: many tasks, at most so many at a time (EX-SCH-25 to EX-SCH-31).
//!
//! - [`Lane`]: which of its tasks may start now. It holds no timer, no thread and no task, and starts nothing, so that a host
//!   with promises, coroutines or callbacks paces its own work by it; [`Lane::run`] is the blocking driver over it;
//! - [`ProgressLane`]: the passes of the boundaries that are due;
//! - [`DispatchLane`]: dispatches that were refused by health, once more after the probe that was scheduled already.
//!
//! A coordinator's turn, for one account: what is due is marked before anything is dispatched, and the probe runs beside.
//!
//! ```
//! use gallivant_core::Host;
//! use gallivant_core::execution::{DispatchLane, HealthOptions, HealthScope, HealthStore, ProbeResult};
//! use gallivant_core::json::Value;
//!
//! # fn main() -> gallivant_core::Result<()> {
//! # let root = std::env::temp_dir().join(format!("gallivant-doc-{:x}", Host::system().random.next_u64()));
//! let host = Host::system();
//! let scope = HealthScope::new("provider", "account");
//! let options = HealthOptions { scopes: vec![scope.clone()], ..HealthOptions::new(&root) };
//! let health = HealthStore::new(options, &host)?;
//!
//! let mut refreshes = Vec::new();
//! for due in health.due(host.clock.wall_ms())? {
//!     refreshes.extend(health.begin(&due)?);
//! }
//! // Here passes and dispatches run in their lanes. Two dispatches of the account were refused:
//! let refused = ["op-1", "op-2"];
//! let mut lane = DispatchLane::new(&health, refused.map(|_| &scope), 4)?;
//! assert_eq!(lane.retry_next(), None);
//!
//! // Meanwhile the account was asked for.
//! for refresh in refreshes {
//!     refresh.record(ProbeResult::Success { evidence: Value::Null })?;
//! }
//! let mut retried = Vec::new();
//! while let Some(dispatch) = lane.retry_next() {
//!     retried.push(refused[dispatch]);
//!     lane.end(dispatch)?;
//! }
//! assert_eq!(retried, refused);
//! # std::fs::remove_dir_all(root).ok();
//! # Ok(())
//! # }
//! ```
//!
//! A task holds one slot from its start to its end and delays no other by more than that slot: what waits for something else
//! holds none. Two lanes share nothing. A driver runs its tasks on the caller's thread and on threads that end with the call.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::boundary::Boundary;
use super::health::HealthScope;
use super::health_store::HealthStore;
use super::ledger::lock::AbortToken;
use super::limits::EXECUTION_LIMITS;
use super::machine::Machine;
use crate::error::{Code, Error, Result};
use crate::json::Value;

/// Between two looks of a driver that waits for probes, which take seconds.
const PAUSE: Duration = Duration::from_millis(10);

/// The slots of a lane and who holds them.
#[derive(Debug)]
struct Slots {
    concurrency: usize,
    running: Vec<usize>,
}

impl Slots {
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `limits`.
    fn new(concurrency: u64) -> Result<Self> {
        let limit = EXECUTION_LIMITS.iter().find(|limit| limit.name == "concurrency");
        let is_allowed = limit.is_some_and(|limit| (limit.min..=limit.max).contains(&concurrency));
        match usize::try_from(concurrency) {
            Ok(concurrency) if is_allowed => Ok(Slots { concurrency, running: Vec::new() }),
            _ => Err(Error::new(Code::ExecutionInput, "the concurrency of a lane is out of its range")
                .with_reason("limits")),
        }
    }

    fn is_free(&self) -> bool {
        self.running.len() < self.concurrency
    }

    /// # Errors
    /// `EXECUTION_INPUT`.
    fn end(&mut self, task: usize) -> Result<()> {
        let at = self.running.iter().position(|running| *running == task);
        let at = at.ok_or_else(|| {
            Error::new(Code::ExecutionInput, format!("no such task runs in the lane, task=`{task}`"))
        })?;
        self.running.swap_remove(at);
        Ok(())
    }
}

/// A bounded worker set over tasks that are numbered from 0. It keeps the numbers that run, and nothing for each task.
#[derive(Debug)]
pub struct Lane {
    slots: Slots,
    tasks: usize,
    started: usize,
}

impl Lane {
    /// A lane over so many tasks, of which at most `concurrency` run at one time: the limit of that name, from 1 to 64.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `limits` for a concurrency out of that range.
    pub fn new(tasks: usize, concurrency: u64) -> Result<Self> {
        Ok(Lane { slots: Slots::new(concurrency)?, tasks, started: 0 })
    }

    /// The task that starts now, in the order of their numbers; none while every slot is held, and when all have started. The
    /// caller starts it, and says when it has ended, however it has.
    pub fn start_next(&mut self) -> Option<usize> {
        let task = Some(self.started).filter(|task| *task < self.tasks && self.slots.is_free())?;
        self.started += 1;
        self.slots.running.push(task);
        Some(task)
    }

    /// A task has ended, well or not: its slot is free.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a task that does not run. Nothing has changed then.
    pub fn end(&mut self, task: usize) -> Result<()> {
        self.slots.end(task)
    }

    /// The tasks that run now, in no order.
    #[must_use]
    pub fn running(&self) -> &[usize] {
        &self.slots.running
    }

    /// Whether every task has started and ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.started == self.tasks && self.slots.running.is_empty()
    }

    /// Does the work of each task, at most `concurrency` at a time, and gives what each came to in the order of the tasks.
    /// Blocks until all have ended. A task that panics has failed with `EXECUTION_IO` and the reason `internal`, and no other
    /// has. Where threads are short, fewer tasks run at a time.
    ///
    /// # Errors
    /// As [`Lane::new`]; nothing has run then.
    pub fn run<T: Sync, R: Send>(
        tasks: &[T],
        concurrency: u64,
        work: impl Fn(&T) -> R + Sync,
    ) -> Result<Vec<Result<R>>> {
        let lane = Mutex::new(Lane::new(tasks.len(), concurrency)?);
        let turn = || locked(&lane).start_next().map_or(Turn::Over, Turn::Task);
        let ended = |task| locked(&lane).end(task);
        let mut results = work_off(tasks.len(), concurrency, turn, |task| work(&tasks[task]), ended);
        results.sort_unstable_by_key(|(task, _)| *task);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

/// What one boundary's pass came to in a lane.
#[derive(Debug)]
pub struct Progress {
    /// Which of the boundaries, counted from 0.
    pub boundary: usize,
    /// Its report (EX-BND-12), or why there was no pass.
    pub report: Result<Value>,
}

/// The lane of passes.
#[derive(Clone, Copy, Debug)]
pub struct ProgressLane;

impl ProgressLane {
    /// Runs one pass of each boundary that is due, at most `concurrency` at a time, and gives their reports in the order of the
    /// boundaries. When a pass is due, the boundary's own ledger says, and nothing else: how often this is called changes no
    /// cadence (EX-SCH-32). A settled run stays due (EX-REC-05), and its pass calls nobody: a caller leaves it out. A pass that is slow, fails or panics holds its one slot and nothing of another task's.
    ///
    /// `drive` carries a machine of the boundary with this number to its end, such as by [`drive`](super::drive) with its
    /// transport. A host that does not block uses a [`Lane`] and asks [`Boundary::is_due`] of each task that starts.
    ///
    /// # Errors
    /// As [`Lane::new`]; nothing has run then.
    pub fn run(
        boundaries: &[Boundary],
        concurrency: u64,
        abort: &AbortToken,
        drive: impl Fn(usize, Machine) -> Result<Value> + Sync,
    ) -> Result<Vec<Progress>> {
        let numbered: Vec<_> = boundaries.iter().enumerate().collect();
        let passes = Lane::run(&numbered, concurrency, |(number, boundary)| {
            match boundary.is_due() {
                Ok(false) => None,
                Ok(true) => Some(drive(*number, boundary.reconcile(false, abort.clone()))),
                // The pass would refuse for the same reason, and under the task's lock.
                Err(error) => Some(Err(error)),
            }
        })?;
        let run = passes.into_iter().enumerate().filter_map(|(boundary, pass)| {
            let report = pass.and_then(|pass| pass.transpose()).transpose()?;
            Some(Progress { boundary, report })
        });
        Ok(run.collect())
    }
}

/// What became of a dispatch that was refused by health.
#[derive(Debug, PartialEq, Eq)]
pub enum Dispatched<R> {
    /// It was tried once more, with this outcome.
    Retried(R),
    /// It stays refused and as it was, for the next interval: no probe was scheduled for its account, the probe failed or was
    /// given up, or it had not ended in time.
    Refused,
}

/// Dispatches that were refused by health, and the probes that they wait for. Like a [`Lane`] it starts nothing by itself: the
/// caller runs what it is told to run, and asks again when something has ended. It never begins a probe.
#[derive(Debug)]
pub struct DispatchLane {
    store: HealthStore,
    slots: Slots,
    probes: Vec<Awaited>,
}

/// A probe that was scheduled when the dispatches came, and those that wait for it, in their order.
#[derive(Debug)]
struct Awaited {
    scope: HealthScope,
    number: u64,
    dispatches: VecDeque<usize>,
}

impl DispatchLane {
    /// Joins, for each dispatch, the probe that is scheduled now for its account. Those without one are refused at once: they are
    /// never told to be retried (EX-SCH-31). Dispatches are numbered from 0, in the order of their scopes here.
    ///
    /// # Errors
    /// As [`Lane::new`].
    pub fn new<'a>(
        store: &HealthStore,
        scopes: impl IntoIterator<Item = &'a HealthScope>,
        concurrency: u64,
    ) -> Result<Self> {
        let slots = Slots::new(concurrency)?;
        let mut probes = BTreeMap::new();
        for (dispatch, scope) in scopes.into_iter().enumerate() {
            if let Some(number) = store.number(scope) {
                probes.entry((scope.clone(), number)).or_insert_with(VecDeque::new).push_back(dispatch);
            }
        }
        let awaited =
            probes.into_iter().map(|((scope, number), dispatches)| Awaited { scope, number, dispatches });
        Ok(DispatchLane { store: store.clone(), slots, probes: awaited.collect() })
    }

    /// The dispatch that is to be retried now: the first of those whose probe is over and has left its account with authority, as
    /// far as a slot is free. Others whose probe is over stay refused. None means that there is nothing to start now;
    /// [`DispatchLane::is_waiting`] says whether there may be later.
    ///
    /// The retry is the caller's own dispatch with all its checks (EX-SCH-30). Each is told once.
    pub fn retry_next(&mut self) -> Option<usize> {
        if !self.slots.is_free() {
            return None;
        }
        let store = &self.store;
        let mut first: Option<usize> = None;
        self.probes.retain(|probe| {
            let Some(dispatch) = probe.dispatches.front().copied() else { return false };
            if store.is_under_way(&probe.scope, probe.number) {
                return true;
            }
            if !store.authorize(&probe.scope).unwrap_or(false) {
                return false;
            }
            first = Some(first.map_or(dispatch, |first| first.min(dispatch)));
            true
        });
        let dispatch = first?;
        let holds = |probe: &&mut Awaited| probe.dispatches.front() == Some(&dispatch);
        self.probes.iter_mut().find(holds)?.dispatches.pop_front();
        self.slots.running.push(dispatch);
        Some(dispatch)
    }

    /// A retry has ended, well or not.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a dispatch that does not run. Nothing has changed then.
    pub fn end(&mut self, dispatch: usize) -> Result<()> {
        self.slots.end(dispatch)
    }

    /// Whether a dispatch waits for its probe, or for a slot.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.probes.iter().any(|probe| !probe.dispatches.is_empty())
    }

    /// Waits for probes no longer: the dispatches of those that are still under way stay refused.
    pub fn give_up(&mut self) {
        let store = &self.store;
        self.probes.retain(|probe| !store.is_under_way(&probe.scope, probe.number));
    }

    /// Retries each dispatch once after the probe that is scheduled for its account, at most `concurrency` at a time, and gives
    /// what became of each in the order of `dispatches`. Blocks until all have ended, and for probes no longer than `wait` on
    /// the awake clock, or until the token fires. One that waits for its probe holds no slot. A retry that panics has failed with
    /// `EXECUTION_IO` and the reason `internal`.
    ///
    /// # Errors
    /// As [`Lane::new`]; nothing has run then.
    pub fn run<T: Sync, R: Send>(
        store: &HealthStore,
        dispatches: &[(HealthScope, T)],
        concurrency: u64,
        wait: Duration,
        abort: &AbortToken,
        retry: impl Fn(&T) -> R + Sync,
    ) -> Result<Vec<Dispatched<Result<R>>>> {
        let scopes = dispatches.iter().map(|(scope, _)| scope);
        let lane = Mutex::new(DispatchLane::new(store, scopes, concurrency)?);
        let clock = &*store.host().clock;
        let end = clock.awake().saturating_add(wait);
        let turn = || {
            let mut lane = locked(&lane);
            if let Some(dispatch) = lane.retry_next() {
                return Turn::Task(dispatch);
            }
            if clock.awake() >= end || abort.is_aborted() || clock.is_cancelled() {
                lane.give_up();
            }
            if lane.is_waiting() { Turn::Wait } else { Turn::Over }
        };
        let turn = || match turn() {
            // Behind the guard of the lane, which the others need.
            Turn::Wait => {
                clock.sleep(PAUSE);
                Turn::Wait
            }
            turn => turn,
        };
        let ended = |dispatch| locked(&lane).end(dispatch);
        let retried =
            work_off(dispatches.len(), concurrency, turn, |dispatch| retry(&dispatches[dispatch].1), ended);
        let mut outcomes: Vec<_> = dispatches.iter().map(|_| Dispatched::Refused).collect();
        for (dispatch, outcome) in retried {
            outcomes[dispatch] = Dispatched::Retried(outcome);
        }
        Ok(outcomes)
    }
}

/// What a worker does next.
enum Turn {
    Task(usize),
    Wait,
    Over,
}

/// Lets workers take turns until each is told that it is over: the caller's thread, and others beside it, together no more than
/// there are slots or tasks. Gives what the tasks came to, in no order.
fn work_off<R: Send>(
    tasks: usize,
    concurrency: u64,
    turn: impl Fn() -> Turn + Sync,
    work: impl Fn(usize) -> R + Sync,
    ended: impl Fn(usize) -> Result<()> + Sync,
) -> Vec<(usize, Result<R>)> {
    let results = Mutex::new(Vec::new());
    let worker = || {
        loop {
            match turn() {
                Turn::Over => return,
                Turn::Wait => {}
                Turn::Task(task) => {
                    let result = catch_unwind(AssertUnwindSafe(|| work(task))).map_err(|_| panicked());
                    let result = ended(task).and(result);
                    locked(&results).push((task, result));
                }
            }
        }
    };
    let others = usize::try_from(concurrency).unwrap_or(usize::MAX).min(tasks).saturating_sub(1);
    thread::scope(|scope| {
        for _ in 0..others {
            // Without it the others do its work.
            let name = thread::Builder::new().name("gallivant-lane".to_owned());
            if name.spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panicked() -> Error {
    Error::new(Code::ExecutionIo, "a task of the lane has failed").with_reason("internal")
}
