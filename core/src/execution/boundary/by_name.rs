//! The boundary's methods under their public names (EX-BND-01, EX-SEA-19), from JSON to JSON: one table for every language.

use super::input::{flag, id, missing, text, wrong};
use super::{Boundary, KillLook};
use crate::error::{Code, Error, Result};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::Machine;
use crate::journal::MAX_ROWS;
use crate::json::{Number, Object, Value};

/// What a method gives.
#[derive(Debug)]
pub enum Called {
    /// A machine that is to be started: the method may write, wait for the task's lock, or need a call.
    Machine(Box<Machine>),
    /// The answer: the method only reads.
    Answer(Value),
}

impl Boundary {
    /// Calls a method by its name: a machine for `submit`, `continue`, `prepare`, `recoverResponse`, `startup`, `reconcile`,
    /// `collect`, `cancel`, `requestCancel`, `preparationStop`, `timeoutStop`, `interrupt`, `adopt`, `settleAbsent`, and of local
    /// runs `start`, `settle` and `kill`; an
    /// answer for `inspect`, `outcome`, `preparationStatus`, `judgePreparation`, `capabilities`, `dirOf`, `read`, `current`, `check`,
    /// `resultView`, `healthStatus`, `isDue`, `isGone`, `isKillDue`, `lookForKill` (which takes `looks` besides, and gives `{gone,
    /// killDue, pauseMs}`) and `lines` (which takes `after` and `limit` besides), whose input is `{runId}` where they take one.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a name that is none and for an argument of the wrong shape, and those of a method that reads.
    pub fn call(&self, method: &str, input: Object, abort: AbortToken) -> Result<Called> {
        let machine = match method {
            "submit" => self.submit(input, abort),
            "continue" => self.continue_run(input, abort),
            "prepare" => self.prepare(input, abort),
            "recoverResponse" => {
                let operation_id = text(&input, "operationId")?.ok_or_else(|| missing("operationId"))?;
                let lost = input.get("input").and_then(Value::as_object).cloned();
                self.recover_response(operation_id, lost.ok_or_else(|| missing("input"))?, abort)
            }
            "startup" => self.startup(abort),
            "reconcile" => self.reconcile(flag(&input, "force")?, abort),
            "collect" => self.collect(run_id(&input)?, abort),
            "cancel" => self.cancel(input, abort),
            "interrupt" => self.interrupt(input, abort),
            "requestCancel" => self.request_cancel(input, abort),
            "preparationStop" => self.preparation_stop(input, abort),
            "timeoutStop" => self.timeout_stop(input, abort),
            "start" => self.start(input, abort),
            "settle" => self.settle(run_id(&input)?, abort),
            "kill" => self.kill(input, abort),
            "adopt" => self.adopt(input, abort),
            "settleAbsent" => self.settle_absent(input, abort),
            _ => return self.answer(method, &input).map(Called::Answer),
        };
        Ok(Called::Machine(Box::new(machine)))
    }

    fn answer(&self, method: &str, input: &Object) -> Result<Value> {
        let job = |job: Option<Object>| job.map_or(Value::Null, Value::Object);
        match method {
            "inspect" => self.inspect(),
            "outcome" => self.outcome(&run_id(input)?),
            "preparationStatus" => Ok(self.preparation_status(&run_id(input)?)?.to_value()),
            "judgePreparation" => Ok(Value::from(self.judge_preparation(&run_id(input)?)?.word())),
            "capabilities" => Ok(self.capabilities()),
            "dirOf" => Ok(Value::from(self.dir_of(&run_id(input)?)?.to_string_lossy().into_owned())),
            "read" => self.read(&run_id(input)?).map(job),
            "current" => self.current().map(job),
            "check" => self.check(&run_id(input)?),
            "resultView" => self.result_view(&run_id(input)?),
            "healthStatus" => Ok(self.health_status()?.map_or(Value::Null, |record| record.to_value())),
            "isGone" => self.is_gone(&run_id(input)?).map(Value::from),
            "isKillDue" => self.is_kill_due(&run_id(input)?).map(Value::from),
            "lookForKill" => {
                let looks = input.get("looks").and_then(Value::as_number).and_then(Number::as_u64);
                let looks = looks.ok_or_else(|| wrong("looks is no number of looks"))?;
                let KillLook { is_gone, is_kill_due, pause } =
                    self.look_for_kill(&run_id(input)?, u32::try_from(looks).unwrap_or(u32::MAX))?;
                let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                let members: [(&str, Value); 3] =
                    [("gone", is_gone.into()), ("killDue", is_kill_due.into()), ("pauseMs", pause_ms.into())];
                Ok(Value::Object(members.into_iter().collect()))
            }
            "lines" => {
                let limit = match input.get("limit") {
                    None | Some(Value::Null) => MAX_ROWS,
                    Some(limit) => limit
                        .as_number()
                        .and_then(|limit| usize::try_from(limit.as_u64()?).ok())
                        .ok_or_else(|| wrong("limit is no number of lines"))?,
                };
                let window = self.lines(&run_id(input)?, text(input, "after")?.as_deref(), limit)?;
                Value::parse(&window.to_json())
                    .map_err(|_| Error::new(Code::Internal, "a window of lines is JSON"))
            }
            "isDue" => self.is_due().map(Value::from),
            _ => Err(wrong(&format!("no such method, method=`{method}`"))),
        }
    }
}

fn run_id(input: &Object) -> Result<String> {
    id(input, "runId")?.ok_or_else(|| missing("runId"))
}
