//! A provider in memory: its jobs, and what each method of the contract does to them when nothing goes wrong.

use crate::execution::contract::{ErrorKind, TransportError};
use crate::execution::transport::TransportCall;
use crate::execution::{Nanos, ProviderState};
use crate::json::{Object, Value};

/// A root turn that the provider works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryJob {
    /// The key that it was asked for with.
    pub idempotency_key: String,
    /// The provider's job.
    pub provider_job_id: String,
    /// The root turn.
    pub turn_id: String,
    /// The session.
    pub session_id: String,
    /// What it does.
    pub state: ProviderState,
    /// The most that is known to have been spent on it.
    pub cost: Option<Nanos>,
    pub(super) input_head: Value,
    pub(super) events: Vec<Value>,
    pub(super) completed_at: Option<u64>,
    pub(super) text: Option<String>,
}

/// All that the provider has.
#[derive(Debug, Default)]
pub(super) struct Provider {
    pub(super) jobs: Vec<MemoryJob>,
    pub(super) cancellations: u64,
    grants: u64,
}

pub(super) type Answer = Result<Value, TransportError>;

impl Provider {
    pub(super) fn job(&mut self, turn_id: &str) -> Option<&mut MemoryJob> {
        self.jobs.iter_mut().find(|job| job.turn_id == turn_id)
    }

    fn asked(&mut self, call: &TransportCall) -> Result<&mut MemoryJob, TransportError> {
        let (job, turn) = (call.text("providerJobId"), call.text("turnId"));
        let is_asked = |known: &&mut MemoryJob| {
            Some(known.provider_job_id.as_str()) == job && Some(known.turn_id.as_str()) == turn
        };
        let unknown = || TransportError::of(ErrorKind::Protocol, "no such job");
        self.jobs.iter_mut().find(is_asked).ok_or_else(unknown)
    }

    fn by_key(&self, call: &TransportCall) -> Option<&MemoryJob> {
        let key = call.text("idempotencyKey")?;
        self.jobs.iter().find(|job| job.idempotency_key == key)
    }

    /// Boundary and authority as [`MEMORY_CAPABILITY`](super::MEMORY_CAPABILITY) declares them, and a grant.
    pub(super) fn prepare(&mut self) -> Value {
        self.grants += 1;
        let grant = object([("token", format!("grant-{}", self.grants).into())]);
        object([("boundary", "memory:none".into()), ("authority", "text-only".into()), ("grant", grant)])
    }

    /// Makes a job, or finds the one that this key has made already.
    pub(super) fn dispatch(&mut self, call: &TransportCall) -> Value {
        if let Some(job) = self.by_key(call) {
            return job.acknowledgement();
        }
        let number = self.jobs.len() + 1;
        let previous = call.input.get("previous").and_then(|previous| previous.get("providerJobId"));
        let job = MemoryJob {
            idempotency_key: call.text("idempotencyKey").unwrap_or_default().to_owned(),
            provider_job_id: previous
                .and_then(Value::as_str)
                .map_or_else(|| format!("job-{number}"), str::to_owned),
            turn_id: format!("turn-{number}"),
            session_id: call.text("sessionId").map_or_else(|| format!("session-{number}"), str::to_owned),
            state: ProviderState::Running,
            cost: None,
            input_head: call.input.get("inputHead").cloned().unwrap_or(Value::Null),
            events: Vec::new(),
            completed_at: None,
            text: None,
        };
        let acknowledgement = job.acknowledgement();
        self.jobs.push(job);
        acknowledgement
    }

    pub(super) fn inspect(&mut self, call: &TransportCall, now_ms: u64, repeat: bool) -> Answer {
        let cursor = call.text("cursor").filter(|_| !repeat);
        let read = cursor.and_then(|cursor| cursor.strip_prefix("c-")?.parse().ok()).unwrap_or(0);
        let page = usize::try_from(call.limits.event_page_records).unwrap_or(usize::MAX);
        Ok(self.asked(call)?.observation(read, page, now_ms))
    }

    /// The job of a key, or null.
    pub(super) fn lookup(&self, call: &TransportCall, now_ms: u64) -> Value {
        self.by_key(call).map_or(Value::Null, |job| job.observation(0, 0, now_ms))
    }

    /// The acknowledgement of a key, or null.
    pub(super) fn recover(&self, call: &TransportCall) -> Value {
        self.by_key(call).map_or(Value::Null, MemoryJob::acknowledgement)
    }

    /// The result of a job that has ended by itself, or null.
    pub(super) fn collect(&mut self, call: &TransportCall) -> Answer {
        let job = self.asked(call)?;
        let ok = job.state == ProviderState::Succeeded;
        if !ok && job.state != ProviderState::Failed {
            return Ok(Value::Null);
        }
        let outcome = object([
            ("finished", true.into()),
            ("ok", ok.into()),
            ("cost", job.cost()),
            ("denials", Vec::new().into()),
        ]);
        let mut result = job.identities();
        result.insert("inputHead", job.input_head.clone());
        result.insert("outcome", outcome);
        result.insert("completedAt", job.completed_at.into());
        result.insert("text", job.text.clone().into());
        Ok(result.into())
    }

    /// Cancels a job that runs. The same key again does nothing more; what has ended stays as it is.
    pub(super) fn cancel(&mut self, call: &TransportCall, now_ms: u64) -> Answer {
        let job = self.asked(call)?;
        let runs = job.completed_at.is_none();
        if runs {
            job.state = ProviderState::Cancelled;
            job.completed_at = Some(now_ms);
        }
        let confirmed = job.state == ProviderState::Cancelled;
        self.cancellations += u64::from(runs);
        Ok(object([("confirmed", confirmed.into())]))
    }
}

impl MemoryJob {
    fn identities(&self) -> Object {
        let members = [
            ("providerJobId", Value::from(self.provider_job_id.as_str())),
            ("turnId", self.turn_id.as_str().into()),
            ("sessionId", self.session_id.as_str().into()),
        ];
        members.into_iter().collect()
    }

    fn acknowledgement(&self) -> Value {
        self.identities().into()
    }

    fn cost(&self) -> Value {
        self.cost.map_or(Value::Null, |cost| Value::Number(cost.to_number()))
    }

    fn observation(&self, read: usize, page: usize, now_ms: u64) -> Value {
        let events: Vec<Value> = self.events.iter().skip(read).take(page).cloned().collect();
        let mut seen = self.identities();
        seen.insert("state", self.state.word().into());
        seen.insert("observedAt", now_ms.into());
        seen.insert("completedAt", self.completed_at.into());
        seen.insert("costUsd", self.cost());
        if page > 0 {
            seen.insert("cursor", format!("c-{}", read + events.len()).into());
        }
        seen.insert("events", events.into());
        seen.into()
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().collect())
}
