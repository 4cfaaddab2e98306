//! The raw output of process runs in a pass (EX-JRN-35): one page of the first queued run and one of the current one, taken into
//! their journals behind everything else that the pass does.

use std::sync::Arc;

use super::pass::journal_owner;
use super::task::Task;
use crate::error::{Code, Error, Result};
use crate::journal::{LocalRun, OutputPoint, OutputQueue, Projection, Source};

/// Serves the queue. Runs of a process host of the host program's own are that program's to serve.
///
/// # Errors
/// Those of [`OutputQueue::pass`]. Nothing of the ledger depends on it, and the next pass goes on where this one has stopped.
pub(super) fn serve(task: &Task) -> Result<()> {
    let inner = &task.inner;
    if inner.options.process_host.is_none() || task.ledger.created_at.is_none() {
        return Ok(());
    }
    let seen = std::mem::take(&mut task.files().seen.output);
    let path = inner.options.root.clone();
    let mut queue = OutputQueue::over(Arc::clone(&task.root), path, &inner.host, seen);
    let current = task.ledger.current().filter(|run| run.provider_job_id.is_some());
    let mut source = |run_id: &str| {
        let run = task.ledger.executions.get(run_id).ok_or_else(|| {
            Error::new(Code::ExecutionUnknownRun, format!("there is no such run, run=`{run_id}`"))
        })?;
        Ok(Source {
            run: LocalRun { started_at_ms: run.started_at, has_exited: run.is_settled() },
            owner: journal_owner(inner, run, run.provider_job_id.as_deref(), run.turn_id.as_deref()),
            secrets: inner.options.secrets.clone(),
        })
    };
    let mut at = |point: OutputPoint| task.point(point.name());
    let served = queue.pass_at(current.map(|run| run.run_id.as_str()), &mut source, &mut at);
    task.files().seen.output = queue.into_seen();
    let served = served?;
    for (run_id, served) in [served.queued, served.current].into_iter().flatten() {
        if served.records > 0 {
            // The projection can be made again at any time.
            let _ = Projection::open(task.run_path(&run_id), &inner.host)
                .and_then(|mut projection| projection.catch_up());
        }
    }
    Ok(())
}
