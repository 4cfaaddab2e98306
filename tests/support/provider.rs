//! A provider that keeps its own books: what it was asked to create, by key, is the judge of what a boundary did.

use std::collections::BTreeMap;

use gallivant_core::execution::Call;
use gallivant_core::json::Value as CoreValue;
use serde_json::{Value, json};

/// Stands in what the provider says, and may stand in no file.
pub(crate) const SECRET: &str = "hush-hush-0123456789";
/// A page has at most so many events.
pub(crate) const PAGE: usize = 3;

/// A job, as its provider knows it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) job_id: String,
    pub(crate) turn_id: String,
    pub(crate) session_id: String,
    pub(crate) input_head: Value,
    pub(crate) state: &'static str,
    pub(crate) completed_at: Option<u64>,
    pub(crate) events: Vec<String>,
    pub(crate) cost: f64,
    /// Whether somebody was told that it was cancelled.
    pub(crate) has_confirmed: bool,
}

impl Job {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, "succeeded" | "failed" | "cancelled")
    }
}

/// Jobs by the keys with which they were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) jobs: BTreeMap<String, Job>,
    /// How often each key was asked for, whatever came of it.
    pub(crate) creates: BTreeMap<String, u32>,
    /// How often a dispatch with each key was handed out.
    pub(crate) asked: BTreeMap<String, u32>,
    /// Whether it stops a job at once, or only takes note.
    pub(crate) confirms: bool,
    /// Its own clock, which does not go back with the coordinator's.
    pub(crate) latest: u64,
}

impl Provider {
    pub(crate) fn new() -> Self {
        Provider { confirms: true, ..Provider::default() }
    }

    /// The honest answer to a call at this time, and its effect.
    pub(crate) fn answer(&mut self, call: &Call, now: u64) -> Value {
        self.latest = self.latest.max(now);
        let (input, latest) = (input_of(call), self.latest);
        let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        match call.method {
            "prepare" => {
                json!({"boundary": "environment:none", "authority": "text-only", "grant": {"env": "g"}})
            }
            "submit" | "continue" => {
                let key = text("idempotencyKey");
                *self.creates.entry(key.clone()).or_default() += 1;
                let number = self.jobs.len() + 1;
                let session = input["sessionId"].as_str().map_or(format!("session-{number}"), str::to_owned);
                let job = Job {
                    job_id: input["previous"]["providerJobId"]
                        .as_str()
                        .map_or(format!("job-{number}"), str::to_owned),
                    turn_id: format!("turn-{number}"),
                    session_id: session,
                    input_head: input["inputHead"].clone(),
                    state: "running",
                    completed_at: None,
                    events: Vec::new(),
                    cost: 0.0,
                    has_confirmed: false,
                };
                let said = acknowledgement(&job);
                self.jobs.entry(key).or_insert(job);
                said
            }
            "lookup" => match self.jobs.get(&text("idempotencyKey")) {
                Some(job) => observation(job, &input["cursor"], now),
                None => Value::Null,
            },
            "recoverResponse" => self.jobs.get(&text("idempotencyKey")).map_or(Value::Null, acknowledgement),
            "inspect" => match self.owned(&input) {
                Some(job) => observation(job, &input["cursor"], now),
                None => json!({"nothing": "known"}),
            },
            "collect" => self.owned(&input).map_or(Value::Null, |job| result(job)),
            "cancel" => {
                let confirms = self.confirms;
                let Some(job) = self.owned(&input) else { return json!({"confirmed": false}) };
                if confirms && !job.is_over() {
                    job.state = "cancelled";
                    job.completed_at = Some(latest);
                }
                job.has_confirmed |= job.state == "cancelled";
                json!({"confirmed": job.state == "cancelled"})
            }
            other => panic!("no such method: {other}"),
        }
    }

    fn owned(&mut self, input: &Value) -> Option<&mut Job> {
        let (job_id, turn_id) = (&input["providerJobId"], &input["turnId"]);
        self.jobs.values_mut().find(|job| *job_id == job.job_id && *turn_id == job.turn_id)
    }

    /// The newest job goes on: it says so many more events, and comes to a state.
    pub(crate) fn goes_on(&mut self, key: &str, events: usize, state: &'static str, now: u64) {
        self.latest = self.latest.max(now);
        let latest = self.latest;
        let Some(job) = self.jobs.get_mut(key).filter(|job| !job.is_over()) else { return };
        for _ in 0..events {
            job.events.push(format!("{}-{}", job.turn_id, job.events.len() + 1));
            job.cost += 0.01;
        }
        job.state = state;
        if job.is_over() {
            job.completed_at = Some(latest);
        }
    }
}

pub(crate) fn input_of(call: &Call) -> Value {
    serde_json::from_str(&CoreValue::Object(call.input.clone()).to_json()).expect("JSON")
}

pub(crate) fn acknowledgement(job: &Job) -> Value {
    json!({"providerJobId": job.job_id, "turnId": job.turn_id, "sessionId": job.session_id, "cursor": 0})
}

/// The page behind the cursor. An end is told with the last page, and not before.
pub(crate) fn observation(job: &Job, cursor: &Value, now: u64) -> Value {
    let from = usize::try_from(cursor.as_u64().unwrap_or(0)).expect("small").min(job.events.len());
    let to = (from + PAGE).min(job.events.len());
    let event = |id: &String| json!({"eventId": id, "type": "output", "data": format!("said {SECRET}")});
    let has_told_all = to == job.events.len();
    let mut said = json!({
        "providerJobId": job.job_id, "turnId": job.turn_id, "sessionId": job.session_id,
        "state": if has_told_all || !job.is_over() { job.state } else { "running" },
        "observedAt": now, "events": job.events[from..to].iter().map(event).collect::<Vec<_>>(), "cursor": to,
    });
    if job.cost > 0.0 {
        said["costUsd"] = json!(job.cost);
    }
    if let Some(completed) = job.completed_at.filter(|_| has_told_all) {
        said["completedAt"] = json!(completed);
    }
    said
}

pub(crate) fn result(job: &Job) -> Value {
    json!({
        "providerJobId": job.job_id, "turnId": job.turn_id, "sessionId": job.session_id,
        "inputHead": job.input_head,
        "outcome": {"finished": true, "ok": job.state == "succeeded", "exit": 0, "denials": [], "cost": null},
        "summary": format!("done with {SECRET}"),
    })
}
