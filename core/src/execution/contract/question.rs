//! What a method that asks about a job, or stops it, is asked: the `input` of its call, with exactly the members of the
//! contract (EX-TRA-15, EX-TRA-18, EX-TRA-19, EX-TRA-22).

use super::request::Scope;
use crate::execution::cursor::Cursor;
use crate::json::{Object, Value};

/// A run of a provider, by what is recorded of it.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The provider's job.
    pub provider_job_id: &'a str,
    /// The session, where one is recorded.
    pub session_id: Option<&'a str>,
    /// The root turn.
    pub turn_id: &'a str,
}

impl Job<'_> {
    /// The `input` of `inspect`. `cursor` is the last validated one (EX-CUR-09), `started_at_ms` milliseconds since 1970.
    #[must_use]
    pub fn inspect(&self, scope: &Scope<'_>, cursor: Option<&Cursor>, started_at_ms: u64) -> Value {
        let mut input = scope.members();
        self.put(&mut input);
        input.insert("cursor", Value::from(cursor.map(Cursor::to_value)));
        input.insert("startedAt", Value::from(started_at_ms));
        Value::from(input)
    }

    /// The `input` of `collect`. `terminal_state` is the word of the recorded outcome.
    #[must_use]
    pub fn collect(&self, task_id: &str, input_head: Option<&str>, terminal_state: &str) -> Value {
        let mut input = Object::new();
        input.insert("taskId", Value::from(task_id));
        self.put(&mut input);
        input.insert("inputHead", Value::from(input_head));
        input.insert("terminalState", Value::from(terminal_state));
        Value::from(input)
    }

    /// The `input` of `cancel`, with the run's cancellation key.
    #[must_use]
    pub fn cancel(&self, scope: &Scope<'_>, cancellation_key: &str) -> Value {
        let mut input = scope.members();
        self.put(&mut input);
        input.insert("idempotencyKey", Value::from(cancellation_key));
        Value::from(input)
    }

    fn put(&self, input: &mut Object) {
        input.insert("runId", Value::from(self.run_id));
        input.insert("providerJobId", Value::from(self.provider_job_id));
        input.insert("sessionId", Value::from(self.session_id));
        input.insert("turnId", Value::from(self.turn_id));
    }
}

/// A saved intent, by which a provider finds the job that it became.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The operation.
    pub operation_id: &'a str,
    /// The operation's key.
    pub idempotency_key: &'a str,
    /// The revision that the work begins at; none for intake.
    pub input_head: Option<&'a str>,
    /// When the intent was saved, in milliseconds since 1970.
    pub intent_at_ms: u64,
    /// The session that was sent, if it was a continue.
    pub continued_session: Option<&'a str>,
}

impl Intent<'_> {
    /// The `input` of `lookup`. `sessionId` is there only for a continue.
    #[must_use]
    pub fn lookup(&self, scope: &Scope<'_>, cursor: Option<&Cursor>) -> Value {
        let mut input = scope.members();
        input.insert("runId", Value::from(self.run_id));
        input.insert("operationId", Value::from(self.operation_id));
        input.insert("idempotencyKey", Value::from(self.idempotency_key));
        input.insert("inputHead", Value::from(self.input_head));
        input.insert("intentAt", Value::from(self.intent_at_ms));
        let action = if self.continued_session.is_some() { "continue" } else { "submit" };
        input.insert("action", Value::from(action));
        if let Some(session) = self.continued_session {
            input.insert("sessionId", Value::from(session));
        }
        input.insert("cursor", Value::from(cursor.map(Cursor::to_value)));
        Value::from(input)
    }
}
