//! One try of a call, on libuv's pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gallivant_core::{Code, Error, Result};
use napi::bindgen_prelude::{AsyncTask, ToNapiValue};
use napi::{Env, Task};

use crate::answer::Answer;
use crate::barrier;
use crate::waiting::{NativeWait, Patience, Wait};

/// A promise of an answer.
pub(crate) type Promised<T> = AsyncTask<Job<T>>;

/// Work for a worker. It never rejects its promise: an error is an answer.
pub struct Job<T> {
    work: Option<Box<dyn FnOnce() -> Result<T> + Send>>,
    /// Where it may wait.
    wait: Option<(Arc<Wait>, Patience)>,
}

/// Runs `work` on the pool as one try of the call `wait`.
pub(crate) fn promise<T: Send + ToNapiValue + 'static>(
    wait: &NativeWait,
    patience: Patience,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Promised<T> {
    AsyncTask::new(Job::new(Arc::clone(&wait.wait), patience, work))
}

impl<T> Job<T> {
    /// One try of the call `wait`.
    pub(crate) fn new(
        wait: Arc<Wait>,
        patience: Patience,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Self {
        Job { work: Some(Box::new(work)), wait: Some((wait, patience)) }
    }

    /// What takes no lock, so that there is no wait to end.
    pub(crate) fn at_once(work: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        Job { work: Some(Box::new(work)), wait: None }
    }

    /// Makes the try. What unwinds is caught by whoever is the task.
    pub(crate) fn attempt(&mut self) -> Result<Answer<T>> {
        let Some(work) = self.work.take() else {
            return Err(Error::new(Code::Internal, "a job was computed twice"));
        };
        let Some((wait, patience)) = &self.wait else { return barrier::run(work).map(Answer::Value) };
        let Some(result) = wait.run(*patience, || barrier::run(work)) else {
            return Ok(Answer::Aborted);
        };
        match result {
            Ok(value) => Ok(Answer::Value(value)),
            Err(error) if error.code() == Code::Cancelled => Ok(if wait.rest() {
                Answer::Again { pause_ms: wait.next_pause_ms() }
            } else {
                Answer::Aborted
            }),
            Err(error) => Err(error),
        }
    }
}

/// The answer of a try, whatever has become of it.
pub(crate) fn answered<T>(attempt: std::thread::Result<Result<Answer<T>>>) -> Answer<T> {
    let result = attempt.unwrap_or_else(|_| Err(Error::new(Code::Internal, "a job panicked")));
    result.unwrap_or_else(|error| Answer::failed(&error))
}

impl<T: Send + ToNapiValue + 'static> Task for Job<T> {
    type Output = Answer<T>;
    type JsValue = Answer<T>;

    fn compute(&mut self) -> napi::Result<Answer<T>> {
        Ok(answered(catch_unwind(AssertUnwindSafe(|| self.attempt()))))
    }

    fn resolve(&mut self, _env: Env, answer: Answer<T>) -> napi::Result<Answer<T>> {
        Ok(answer)
    }
}
