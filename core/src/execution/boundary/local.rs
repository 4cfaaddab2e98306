//! Process runs: their start, and what a pass or a stop does about one (EX-REC-35, EX-REC-49, EX-CAN-29 to EX-CAN-43).
//!
//! The process host is a port: it starts, observes and signals, and reads the harness's own output, each as a call of the
//! machine. A pass observes at most once, then sends at most one signal, then reads at most one outcome.

use std::sync::{Arc, PoisonError};

use super::dispatch::outcome;
use super::pass::Pass;
use super::process_host;
use super::task::Task;
use crate::error::{Code, Error, Result};
use crate::execution::contract::{ErrorKind, TransportError};
use crate::execution::job::{self, number};
use crate::execution::ledger::record::{Acceptance, Cancellation, CancellationStatus, Execution, Operation};
use crate::execution::machine::{Ended, Line, Port, Request};
use crate::execution::states::ProviderState;
use crate::execution::transition::local::{self as transition, Exit, Settlement};
use crate::journal::{Collected, RESULT, private_result};
use crate::json::{Number, Object, Value};
use crate::storage::Directory;

/// The longest reply of the process host, as that of a transport's smaller methods (EX-TRA-06).
const REPLY_BYTES: u64 = 65_536;

/// What is started, and for which operation.
pub(super) struct Start<'a> {
    pub(super) operation_id: &'a str,
    pub(super) run_id: &'a str,
    pub(super) spec: &'a Value,
    pub(super) prompt: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) is_resumed: bool,
}

/// What a start has come to.
pub(super) enum Started {
    /// The process runs, and the run is accepted.
    Running(Value),
    /// It is certain that no process exists (EX-LOC-25).
    NotSent(TransportError),
    /// It is not known, for this reason and with this failure of the process host.
    Lost(&'static str, Option<TransportError>),
}

/// Starts the process of an intent that is saved, once (EX-LOC-02): the job record has the process before the ledger has the
/// acceptance, so that a crash in between is recognised.
///
/// # Errors
/// What could not be saved.
pub(super) async fn start(task: &mut Task, line: &Line, start: &Start<'_>) -> Result<Started> {
    let Start { operation_id, run_id, spec, .. } = *start;
    let (end, gate) = match task.inner.options.process_host.clone() {
        Some(host) => process_host::spawn(task, &host, start),
        None => {
            let members = [
                ("runId", Value::from(run_id)),
                ("operationId", Value::from(operation_id)),
                ("spec", spec.clone()),
            ];
            (line.call(request("spawn", members.into_iter().collect())).await, None)
        }
    };
    let reply = match end.ended {
        Ended::Value(text) => Value::parse(&text).ok(),
        Ended::Error(error) if error.kind == ErrorKind::NotSent && !end.sending => {
            return Ok(Started::NotSent(error));
        }
        Ended::Error(error) => return Ok(Started::Lost(error.cause().1, Some(error))),
        Ended::Deadline => return Ok(Started::Lost("deadline", None)),
        Ended::Aborted => return Ok(Started::Lost("aborted", None)),
        Ended::Oversized => return Ok(Started::Lost("oversized", None)),
    };
    task.point("dispatch.reply")?;
    task.point("local.spawned")?;
    let Some(process) = reply.as_ref().and_then(|reply| process_of(reply, task.now())) else {
        return Ok(Started::Lost("shape", None));
    };
    let session = reply.as_ref().and_then(|reply| reply.get("sessionId")?.as_str().map(str::to_owned));
    if session.as_deref() == Some("") {
        return Ok(Started::Lost("session", None));
    }
    task.change_job(run_id, |job| {
        job.insert("process", process);
        if let Some(session) = &session {
            job.insert("sessionId", Value::from(session.as_str()));
        }
    })?;
    if let Some(gate) = gate {
        // The process is on disk, and may do something now. Where its supervisor is gone it never will, and a pass finds its end.
        let _ = gate.open();
    }
    accept(task, operation_id, session)?;
    let operation = task.ledger.operations.get(operation_id);
    Ok(Started::Running(operation.map_or(Value::Null, |operation| outcome(&task.ledger, operation, false))))
}

/// The run is accepted, and the pointer to the current local run is set behind that (EX-LOC-18).
fn accept(task: &mut Task, operation_id: &str, session: Option<String>) -> Result<()> {
    let now = task.now();
    let progress_ms = task.inner.options.limits.progress_ms;
    let next = transition::started(&task.ledger, operation_id, session, now, now, progress_ms)?;
    task.persist(next)?;
    task.point("dispatch.accepted")?;
    let run_id = task.ledger.operations.get(operation_id).map(|operation| operation.run_id.clone());
    let run_id = run_id.unwrap_or_default();
    task.align(&run_id);
    task.point_at(&run_id)
}

/// `{pid, identity, group, startedAt}` of the process that was started (EX-LOC-03), and what its host tells of it besides: its
/// supervisor, and the harness's profile.
fn process_of(reply: &Value, now: u64) -> Option<Value> {
    let pid = reply.get("pid")?.as_number()?.clone();
    pid.as_u64().filter(|pid| *pid > 1)?;
    let identity = reply.get("identity")?.as_str().filter(|identity| !identity.is_empty())?;
    let group = reply.get("group").filter(|group| !group.is_null()).cloned();
    let members = [
        ("pid", Value::Number(pid.clone())),
        ("identity", Value::from(identity)),
        ("group", group.unwrap_or(Value::Number(pid))),
        ("startedAt", number(now)),
    ];
    let mut process: Object = members.into_iter().collect();
    for key in ["supervisor", "harness"] {
        if let Some(told) = reply.get(key).filter(|told| !told.is_null()) {
            process.insert(key, told.clone());
        }
    }
    Some(Value::Object(process))
}

/// What the process host has seen.
struct Seen {
    tree: Tree,
    exit: Exit,
    /// Who is alive, where the host tells.
    pids: Value,
}

impl Seen {
    /// The harness runs; nobody else was looked for.
    fn led() -> Self {
        let exit = Exit { exit: None, signal: Value::Null, ended_at: None };
        Seen { tree: Tree::Alive, exit, pids: Value::Array(Vec::new()) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tree {
    Alive,
    Gone,
    Unreadable,
}

impl Pass {
    /// What a pass, or a stop, does about the current process run.
    ///
    /// # Errors
    /// What is a reason to come again.
    pub(super) async fn local(&mut self) -> Result<()> {
        let Some((mut run, mut operation)) = self.current_local() else { return Ok(()) };
        if let Some(lost) = operation.as_ref().filter(|lost| lost.acceptance == Acceptance::Unknown) {
            // L1: a job record of this run and operation, with a process, is the exact acceptance; L2 otherwise.
            let Some(session) = self.recorded_process(&run)? else { return Ok(()) };
            accept(&mut self.task, &lost.operation_id, session)?;
            let Some(accepted) = self.current_local() else { return Ok(()) };
            (run, operation) = accepted;
        }
        let is_timed_out = transition::has_own_timeout(&self.task.ledger, &run.run_id);
        let is_absent = operation.as_ref().is_some_and(|known| known.acceptance == Acceptance::Absent);
        if is_absent || (run.is_settled() && !is_timed_out) {
            return Ok(());
        }
        if run.state == ProviderState::RetrievingResults && run.exit_snapshot.is_some() && !is_timed_out {
            return self.settle(&run, operation.as_ref()).await;
        }
        self.task.point_at(&run.run_id)?;
        let stop = run.cancellation.clone().filter(|stop| !stop.status.is_final());
        // Who is of the tree is asked for where a stop may save them.
        let is_led = stop.is_none() && !is_timed_out && process_host::is_led(&self.task, &run.run_id);
        let seen = if is_led { Seen::led() } else { self.observe_tree(&run).await? };
        let now = self.task.now();
        match seen.tree {
            Tree::Unreadable => {
                Err(Error::new(Code::ExecutionIo, "the process table cannot be read")
                    .with_reason("unreadable"))
            }
            Tree::Alive => self.press(&run, stop.as_ref(), is_timed_out, seen.pids).await,
            Tree::Gone if is_timed_out => self.settle_timeout(&run, operation.as_ref(), &seen.exit).await,
            Tree::Gone if was_stopped(stop.as_ref(), &seen.exit) => {
                let next = transition::stopped(&self.task.ledger, &run.run_id, now);
                self.task.persist(next)?;
                self.task.align(&run.run_id);
                Ok(())
            }
            Tree::Gone => {
                let next = transition::exited(&self.task.ledger, &run.run_id, &seen.exit, now);
                self.task.persist(next)?;
                self.task.align(&run.run_id);
                let Some((run, operation)) = self.current_local() else { return Ok(()) };
                self.settle(&run, operation.as_ref()).await
            }
        }
    }

    /// The current process run with its operation, which one from before the ledger does not have.
    fn current_local(&self) -> Option<(Execution, Option<Operation>)> {
        let run = self.task.ledger.current().filter(|_| self.task.inner.options.is_local())?;
        Some((run.clone(), self.task.ledger.operation_of(run).cloned()))
    }

    /// The session of a job record that matches run and operation and names a process; none where it does not.
    fn recorded_process(&self, run: &Execution) -> Result<Option<Option<String>>> {
        let Some(job) = self.task.read_job(&run.run_id)? else { return Ok(None) };
        let text = |key: &str| job.get(key).and_then(Value::as_str);
        let has_process = job.get("process").and_then(|process| process.get("identity")?.as_str()).is_some();
        let matches =
            text("runId") == Some(&run.run_id) && text("operationId") == run.operation_id.as_deref();
        Ok((has_process && matches).then(|| text("sessionId").map(str::to_owned)))
    }

    /// The tree lives: a stop that is due goes to it, and KILL once its time has come (EX-LOC-10 to EX-LOC-13).
    async fn press(
        &mut self,
        run: &Execution,
        stop: Option<&Cancellation>,
        is_timed_out: bool,
        pids: Value,
    ) -> Result<()> {
        let now = self.task.now();
        let can_stop = self.task.inner.capability.cancel
            && stop.is_some_and(|stop| stop.status != CancellationStatus::Unsupported);
        let job = self.task.read_job(&run.run_id)?.unwrap_or_default();
        let kill_at = job.get("killAfter").and_then(|kill| kill.get("at")?.as_number()?.as_u64());
        // Whoever stops again with a shorter time of its own has it come earlier, and never later.
        let kill_after_ms = self.kill_after_ms.unwrap_or(self.task.inner.options.limits.kill_after_ms);
        let wanted_at = now.saturating_add(kill_after_ms);
        let is_hurried = self.kill_after_ms.is_some() && kill_at.is_some_and(|at| wanted_at < at);
        let kill_at = if is_hurried { Some(wanted_at) } else { kill_at };
        // A stop that is pending was not sent, or its reply was lost: a crash may have come between `killAfter` and the signal.
        let is_pending = can_stop && stop.is_some_and(|stop| stop.status == CancellationStatus::Pending);
        let signal = match kill_at {
            None if can_stop || (is_timed_out && self.task.inner.capability.cancel) => Some("TERM"),
            Some(at) if now >= at => Some("KILL"),
            Some(_) if is_pending => Some("TERM"),
            _ => None,
        };
        if is_hurried {
            self.task.change_job(&run.run_id, |job| {
                let mut kill = job.get("killAfter").and_then(Value::as_object).cloned().unwrap_or_default();
                kill.insert("at", number(wanted_at));
                job.insert("killAfter", Value::Object(kill));
            })?;
        }
        let progress_ms = self.task.inner.options.limits.progress_ms;
        let Some(signal) = signal else {
            let next = transition::alive(&self.task.ledger, &run.run_id, now, progress_ms);
            self.task.persist(next)?;
            self.task.align(&run.run_id);
            return Ok(());
        };
        if signal == "TERM" {
            let attempted =
                crate::execution::transition::cancel::attempted(&self.task.ledger, &run.run_id, now);
            self.task.persist(attempted)?;
            self.task.point("cancel.attempt")?;
            let members = [("at", number(wanted_at)), ("signal", Value::from("KILL")), ("pids", pids)];
            let kill = Value::Object(members.into_iter().collect());
            if kill_at.is_none() {
                self.task.change_job(&run.run_id, |job| {
                    job.insert("killAfter", kill);
                })?;
            }
        }
        let mut input = self.process_input(run, &job);
        input.insert("signal", Value::from(signal));
        let sent = match self.host("signal", input).await? {
            Some(reply) => reply.get("sent").and_then(Value::as_bool) == Some(true),
            None => false,
        };
        self.task.point("cancel.reply")?;
        if !sent {
            return Err(
                Error::new(Code::ExecutionIo, "the process tree could not be signalled").with_reason("tree")
            );
        }
        let next = transition::signalled(&self.task.ledger, &run.run_id, self.task.now(), progress_ms);
        self.task.persist(next)?;
        self.task.align(&run.run_id);
        Ok(())
    }

    async fn observe_tree(&mut self, run: &Execution) -> Result<Seen> {
        let job = self.task.read_job(&run.run_id)?.unwrap_or_default();
        let input = self.process_input(run, &job);
        let reply = self.host("observe", input).await?.unwrap_or(Value::Null);
        let tree = match reply.get("tree").and_then(Value::as_str) {
            Some("alive") => Tree::Alive,
            Some("gone") => Tree::Gone,
            _ => Tree::Unreadable,
        };
        let pids = reply.get("pids").filter(|pids| pids.as_array().is_some()).cloned();
        let pids = pids.unwrap_or_else(|| Value::Array(Vec::new()));
        let number = |key: &str| reply.get(key).and_then(Value::as_number);
        let exit = Exit {
            exit: number("exit").and_then(Number::as_i64),
            signal: reply.get("signal").cloned().unwrap_or(Value::Null),
            ended_at: number("endedAt").and_then(Number::as_u64),
        };
        Ok(Seen { tree, exit, pids })
    }

    /// Reads what the harness's own output says, saves it as the result, and settles the run (EX-LOC-20 to EX-LOC-22).
    async fn settle(&mut self, run: &Execution, operation: Option<&Operation>) -> Result<()> {
        let directory = self.run_directory()?;
        let saved = job::read_object(&*directory, RESULT).ok().flatten();
        let own = saved.filter(|saved| {
            saved.get("runId").and_then(Value::as_str) == Some(&run.run_id)
                && saved.get("providerJobId").and_then(Value::as_str) == Some(&run.run_id)
        });
        let (settlement, exit) = match own.as_ref().and_then(|saved| saved.get("outcome")) {
            Some(outcome) => {
                let exit = outcome.get("exit").cloned().unwrap_or(Value::Null);
                (settlement(outcome), exit)
            }
            None => {
                let exit = run.exit_snapshot.as_ref().and_then(|snapshot| snapshot.exit);
                let (settlement, told) = self.read_outcome(run, exit).await?;
                transition::check_session(run, &settlement)?;
                let ended_at = run.exit_snapshot.as_ref().and_then(|snapshot| snapshot.ended_at);
                self.save_result(&*directory, run, operation, told, ended_at)?;
                (settlement, exit.map_or(Value::Null, integer))
            }
        };
        let next = transition::settled(&self.task.ledger, &run.run_id, &settlement, self.task.now())?;
        self.task.persist(next)?;
        self.task.point("collect.ledger")?;
        self.task.align_with_exit(&run.run_id, &exit);
        Ok(())
    }

    /// EX-CAN-42: a timeout is a failure, whatever the run would say of itself later.
    async fn settle_timeout(
        &mut self,
        run: &Execution,
        operation: Option<&Operation>,
        exit: &Exit,
    ) -> Result<()> {
        let directory = self.run_directory()?;
        let (mut settlement, mut told) = self.read_outcome(run, exit.exit).await?;
        transition::check_session(run, &settlement)?;
        settlement.ok = false;
        told.insert("ok", Value::Bool(false));
        told.insert("reason", Value::from("timeout"));
        if !run.collected {
            self.save_result(&*directory, run, operation, told, exit.ended_at)?;
        }
        let now = self.task.now();
        let next = transition::timed_out(&self.task.ledger, &run.run_id, &settlement, exit, now)?;
        self.task.persist(next)?;
        self.task.point("collect.ledger")?;
        self.task.align_with_exit(&run.run_id, &exit.exit.map_or(Value::Null, integer));
        Ok(())
    }

    /// What the adapter makes of the native output, as a settlement and as the outcome that is saved. An exit that nobody recorded
    /// is a failure (EX-LOC-17).
    async fn read_outcome(&mut self, run: &Execution, exit: Option<i64>) -> Result<(Settlement, Object)> {
        let mut input = Object::new();
        input.insert("runId", Value::from(run.run_id.as_str()));
        input.insert("exit", exit.map_or(Value::Null, integer));
        let reply = self.host("outcome", input).await?.unwrap_or(Value::Null);
        let Some(ok) = reply.get("ok").and_then(Value::as_bool) else {
            return Err(Error::new(Code::ExecutionResult, "an outcome does not say whether it is well")
                .with_reason("incomplete"));
        };
        let is_uncertain =
            exit.is_none() && run.exit_snapshot.as_ref().is_none_or(|snapshot| snapshot.signal.is_null());
        let mut told = Object::new();
        told.insert("finished", Value::Bool(true));
        told.insert("ok", Value::Bool(ok && !is_uncertain));
        told.insert("cost", reply.get("cost").cloned().unwrap_or(Value::Null));
        told.insert("denials", reply.get("denials").cloned().unwrap_or(Value::Array(Vec::new())));
        told.insert("exit", exit.map_or(Value::Null, integer));
        if is_uncertain {
            told.insert("reason", Value::from("exit-unknown"));
        }
        if let Some(session) = reply.get("sessionId") {
            told.insert("sessionId", session.clone());
        }
        let mut settlement = settlement(&Value::Object(told.clone()));
        settlement.session_id = reply.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        told.remove("sessionId");
        Ok((settlement, told))
    }

    fn save_result(
        &mut self,
        directory: &dyn Directory,
        run: &Execution,
        operation: Option<&Operation>,
        outcome: Object,
        ended_at: Option<u64>,
    ) -> Result<()> {
        let inner = Arc::clone(&self.task.inner);
        let mut reply = Object::new();
        reply.insert("providerJobId", Value::from(run.run_id.as_str()));
        reply.insert("turnId", Value::Null);
        reply.insert("sessionId", Value::from(run.session_id.as_deref()));
        reply.insert(
            "inputHead",
            Value::from(operation.and_then(|operation| operation.input_head.as_deref())),
        );
        reply.insert("outcome", Value::Object(outcome));
        reply.insert("completedAt", Value::from(ended_at));
        let collected = Collected {
            task_id: &inner.owner.task_id,
            run_id: &run.run_id,
            provider: &inner.owner.provider,
            collected_at_ms: self.task.now(),
        };
        let mut text = private_result(&collected, &reply, &inner.redactor).to_json();
        text.push('\n');
        {
            let mut files = inner.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.writer.persist(directory, &format!("{}/", run.run_id), RESULT, &text)?;
        }
        self.task.point("collect.result")
    }

    fn process_input(&self, run: &Execution, job: &Object) -> Object {
        let mut input = Object::new();
        input.insert("runId", Value::from(run.run_id.as_str()));
        input.insert("process", job.get("process").cloned().unwrap_or(Value::Null));
        input
    }

    /// Makes a call of the process host; none where it has nothing to say.
    async fn host(&mut self, method: &'static str, input: Object) -> Result<Option<Value>> {
        let failed = |code, reason, what: &str| Err(Error::new(code, what.to_owned()).with_reason(reason));
        let ended = match self.task.inner.options.process_host.clone() {
            Some(host) => process_host::answer(&self.task, &host, method, &input),
            None => self.line().call(request(method, input)).await.ended,
        };
        match ended {
            Ended::Value(text) => match Value::parse(&text) {
                Ok(Value::Null) => Ok(None),
                Ok(value @ Value::Object(_)) => Ok(Some(value)),
                _ => failed(Code::ExecutionProtocol, "shape", "a reply of the process host is no object"),
            },
            Ended::Oversized => {
                failed(Code::ExecutionProtocol, "shape", "a reply of the process host is too long")
            }
            Ended::Deadline => {
                failed(Code::ExecutionDeadline, "deadline", "the process host did not answer in its time")
            }
            Ended::Aborted => failed(Code::ExecutionIo, "aborted", "a call of the process host was aborted"),
            Ended::Error(error) => {
                let (code, reason) = error.cause();
                failed(code, reason, "the process host failed")
            }
        }
    }
}

/// Whether a stop has brought the tree down: it was signalled, or it is not known how the tree ended (EX-CAN-34).
fn was_stopped(stop: Option<&Cancellation>, exit: &Exit) -> bool {
    stop.is_some_and(|stop| match stop.status {
        CancellationStatus::Acknowledged => true,
        CancellationStatus::Pending => stop.attempts > 0 || !exit.is_recorded(),
        _ => false,
    })
}

fn settlement(outcome: &Value) -> Settlement {
    Settlement {
        ok: outcome.get("ok").and_then(Value::as_bool) == Some(true),
        cost: outcome.get("cost").cloned().unwrap_or(Value::Null),
        session_id: None,
    }
}

fn integer(number: i64) -> Value {
    Number::parse(&number.to_string()).map_or(Value::Null, Value::Number)
}

fn request(method: &'static str, input: Object) -> Request {
    Request { port: Port::Process, method, input, limit: REPLY_BYTES, patience_ms: None }
}
