//! Look-up and inspection: what a provider says of the current run, judged and adopted (EX-REC-08 to EX-REC-13).

use std::sync::Arc;

use super::no_method;
use super::pass::{Pass, journal_owner};
use crate::error::{Code, Error, Result};
use crate::execution::contract::Method;
use crate::execution::contract::question::{Intent, Job};
use crate::execution::cursor::{Cursor, gap_id};
use crate::execution::ledger::record::{Acceptance, Action, Execution, Operation};
use crate::execution::machine::Ended;
use crate::execution::observation::{Observation, Recorded};
use crate::execution::transition::observe;
use crate::journal::{AppendPoint, Event, GapReason, Projection, Provenance};

impl Pass {
    /// Look-up or inspection, never both, with the stop between them (EX-REC-08, EX-REC-11, EX-REC-12).
    pub(super) async fn observe(&mut self, is_forced: bool) -> Result<()> {
        let Some((run, operation)) = self.task.current_remote() else { return Ok(()) };
        if run.is_settled() || run.terminal_state.is_some() {
            return Ok(());
        }
        let is_owned = operation.acceptance == Acceptance::Accepted
            && run.provider_job_id.is_some()
            && run.turn_id.is_some();
        if !is_owned {
            self.look_up(&run, &operation).await?;
            return self.stop(is_forced).await.map(drop);
        }
        if self.stop(is_forced).await? {
            return Ok(());
        }
        // The attempt has been saved meanwhile.
        let Some((run, operation)) = self.task.current_remote() else { return Ok(()) };
        self.inspect(&run, &operation).await
    }

    async fn look_up(&mut self, run: &Execution, operation: &Operation) -> Result<()> {
        let inner = Arc::clone(&self.task.inner);
        if operation.acceptance == Acceptance::Absent || !inner.options.has(Method::Lookup) {
            return Ok(());
        }
        let intent = Intent {
            run_id: &run.run_id,
            operation_id: &operation.operation_id,
            idempotency_key: &operation.idempotency_key,
            input_head: operation.input_head.as_deref(),
            intent_at_ms: operation.intent_at,
            continued_session: operation
                .session_id
                .as_deref()
                .filter(|_| operation.action == Action::Continue),
        };
        let call = intent.lookup(&inner.scope(), cursor_of(run).as_ref());
        let observation = match self.call(Method::Lookup, call).await {
            Ended::Value(text) => self.judge(Method::Lookup, &text, run)?,
            ended => return Err(self.lost(Method::Lookup, ended)),
        };
        let Some(observation) = observation else {
            let message =
                format!("the provider does not know the key yet, operation=`{}`", operation.operation_id);
            return Err(Error::new(Code::ExecutionAcceptanceUnknown, message)
                .with_reason("unresolved")
                .with_operation_id(&operation.operation_id));
        };
        let now = self.task.now();
        let owned = observe::owned(&self.task.ledger, &operation.operation_id, &observation, now)?;
        self.task.point("pass.lookup")?;
        self.task.persist(owned)?;
        self.task.point("pass.owned")?;
        self.take(run, operation, &observation)
    }

    async fn inspect(&mut self, run: &Execution, operation: &Operation) -> Result<()> {
        let inner = Arc::clone(&self.task.inner);
        if !inner.options.has(Method::Inspect) {
            return Err(no_method(Method::Inspect.word()));
        }
        let job = Job {
            run_id: &run.run_id,
            provider_job_id: run.provider_job_id.as_deref().unwrap_or_default(),
            session_id: run.session_id.as_deref(),
            turn_id: run.turn_id.as_deref().unwrap_or_default(),
        };
        let call = job.inspect(&inner.scope(), cursor_of(run).as_ref(), run.started_at);
        let observation = match self.call(Method::Inspect, call).await {
            Ended::Value(text) => self.judge(Method::Inspect, &text, run)?,
            ended => return Err(self.lost(Method::Inspect, ended)),
        };
        let shape = || Error::new(Code::ExecutionProtocol, "an observation is null").with_reason("shape");
        let observation = observation.ok_or_else(shape)?;
        self.task.point("pass.observed")?;
        self.take(run, operation, &observation)
    }

    fn judge(&self, method: Method, text: &str, run: &Execution) -> Result<Option<Observation>> {
        let recorded = Recorded {
            provider_job_id: run.provider_job_id.as_deref(),
            turn_id: run.turn_id.as_deref(),
            session_id: run.session_id.as_deref(),
            started_at: run.started_at,
            observed_at: run.observed_at,
        };
        let limits = &self.task.inner.options.limits;
        Observation::receive(method, text, &recorded, limits, self.task.now())
    }

    /// Adopts a valid observation: its events first, then everything else in one Persist (EX-REC-13).
    fn take(&mut self, run: &Execution, operation: &Operation, observation: &Observation) -> Result<()> {
        self.append(run, observation)?;
        self.task.point("pass.events")?;
        let progress_ms = self.task.inner.options.limits.progress_ms;
        let now = self.task.now();
        let mut next =
            observe::observed(&self.task.ledger, &operation.operation_id, observation, now, progress_ms)?;
        // An ended run has no stop that is to be sent again. While there is one, its failure stays told (EX-ERR-05).
        self.stop_failure.take_if(|_| observation.state.is_terminal());
        if let Some(failure) = &self.stop_failure {
            next = observe::noted(&next, &run.run_id, failure, now);
        }
        self.task.persist(next)?;
        self.task.point("pass.state")?;
        self.task.align(&run.run_id);
        Ok(())
    }

    fn append(&mut self, run: &Execution, observation: &Observation) -> Result<()> {
        let mut page = Vec::with_capacity(observation.events.len() + 1);
        if observation.gap {
            let id = gap_id(observation.cursor.as_ref(), cursor_of(run).as_ref());
            page.push(Event::gap(id, GapReason::Provider, Provenance::Provider));
        }
        page.extend(observation.events.iter().cloned());
        let identities = &observation.identities;
        let task = &self.task;
        task.inner.with_journal(
            journal_owner(&task.inner, run, Some(&identities.provider_job_id), Some(&identities.turn_id)),
            &task.run_path(&run.run_id),
            |journal| {
                let mut append = journal.begin(&page)?;
                while let Some(point) = journal.advance(&mut append)? {
                    if task.fails_at(point.name()) && point != AppendPoint::Checkpoint {
                        journal.fail(&mut append)?;
                    }
                }
                journal.end(append).map(drop)
            },
        )?;
        if page.is_empty() {
            return Ok(());
        }
        // The projection can be made again at any time, and its failure fails no pass.
        let _ = Projection::open(task.run_path(&run.run_id), &task.inner.host)
            .and_then(|mut projection| projection.catch_up());
        Ok(())
    }
}

/// The last validated cursor. The ledger's were checked before the pass began.
fn cursor_of(run: &Execution) -> Option<Cursor> {
    Cursor::from_value(&run.cursor).ok()
}
