//! The Rust conformance adapter of journals: one JSON request a line in, one JSON answer a line out.
//!
//! The protocol is described in `tests/adapters/journal.md`.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use gallivant_core::journal::{
    Event, Frame, Journal, LogReader, Owner, Position, Projected, Projection, Replay, Row, RowContent,
    Window, check, read_run_result, retention_candidates,
};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::{TestHost, TestHostOptions};
use gallivant_core::{Code, Error, Host, Result};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut adapter = Adapter::default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = match adapter.answer(&request) {
            Ok(mut answer) => {
                answer["ok"] = true.into();
                answer
            }
            Err(error) => json!({"ok": false, "error": error.code().name(), "reason": error.reason()}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// One run, and what is open of it.
#[derive(Default)]
struct Adapter {
    directory: String,
    journal: Option<Journal>,
    projection: Option<Projection>,
    replay: Option<Replay>,
    // Dropped last: what is open looks at its clock.
    test_host: Option<TestHost>,
}

impl Adapter {
    fn answer(&mut self, request: &Value) -> Result<Value> {
        match text(request, "op") {
            "open" => self.open(request),
            "append" => {
                let appended = self.journal()?.append(&Event::page_from_json(text(request, "page"))?)?;
                let placed: Vec<_> = appended
                    .placed
                    .iter()
                    .map(|placed| json!([placed.sequence, placed.how.word()]))
                    .collect();
                Ok(json!({"placed": placed, "end": position(appended.end)}))
            }
            "recover" => {
                let found = self.journal()?.recover()?;
                Ok(json!({"kept": found.kept, "gap": found.gap, "end": position(found.end)}))
            }
            "project" => self.projection()?.catch_up().map(projected),
            "trim" => self.projection()?.trim(number(request, "keep_bytes")).map(projected),
            "tail" => self.reader()?.tail().map(window),
            "history" => self.reader()?.history(text(request, "before")).map(window),
            "lines" => {
                let limit = usize::try_from(number(request, "limit")).unwrap_or(usize::MAX);
                self.reader()?.lines(request["after"].as_str(), limit).map(window)
            }
            "replay" => {
                self.replay = None;
                self.replay = Some(Replay::open(&self.directory, request["after"].as_str(), self.host()?)?);
                Ok(json!({}))
            }
            "frames" => self.frames(request),
            "check" => {
                let checked = check(&self.directory, self.host()?)?;
                let gaps: Vec<_> = checked
                    .gaps
                    .iter()
                    .map(|gap| json!([gap.from, gap.to, gap.reason.word(), gap.bytes.start, gap.bytes.end]))
                    .collect();
                let pending = checked.pending.map(|batch| json!([batch.records, batch.kept]));
                let end = position(checked.end);
                Ok(json!({"end": end, "records": checked.records, "gaps": gaps, "pending": pending}))
            }
            "result" => {
                let view = read_run_result(&self.directory, self.host()?)?;
                Ok(json!({"result": view.map(|view| view.to_json())}))
            }
            "candidates" => {
                let candidates = retention_candidates(text(request, "root"), self.host()?)?;
                Ok(json!({"candidates": candidates}))
            }
            _ => Err(Error::new(Code::Input, "no such operation")),
        }
    }

    fn open(&mut self, request: &Value) -> Result<Value> {
        (self.journal, self.projection, self.replay) = (None, None, None);
        let options = TestHostOptions { wall_ms: request["now_ms"].as_u64(), ..TestHostOptions::default() };
        let test_host = self.test_host.insert(TestHost::new(options)?);
        let part = |name: &str| request["owner"][name].as_str().map(str::to_owned);
        let owner = Owner {
            task_id: part("taskId").unwrap_or_default(),
            run_id: part("runId").unwrap_or_default(),
            provider: part("provider").unwrap_or_default(),
            job_id: part("jobId"),
            turn_id: part("turnId"),
        };
        let secrets = request["secrets"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let redactor = Redactor::new(&Secrets::strict(secrets)?, Patterns::Recognised)?;
        text(request, "dir").clone_into(&mut self.directory);
        self.journal = Some(Journal::open(&self.directory, owner, test_host.host(), &redactor)?);
        Ok(json!({}))
    }

    fn frames(&mut self, request: &Value) -> Result<Value> {
        let replay = self.replay.as_mut().ok_or_else(nothing_open)?;
        let timeout = Duration::from_millis(number(request, "timeout_ms"));
        let mut frames = Vec::new();
        while frames.len() as u64 != number(request, "count") {
            let Some(frame) = replay.next(Some(timeout))? else { break };
            if !frame.is_heartbeat() {
                let sse = frame.to_sse();
                let Frame { id, event, data } = frame;
                frames.push(json!([id, event, data, sse]));
            }
        }
        Ok(json!({"frames": frames, "resume": replay.resume_point()}))
    }

    fn host(&self) -> Result<&Host> {
        self.test_host.as_ref().map(TestHost::host).ok_or_else(nothing_open)
    }

    fn journal(&mut self) -> Result<&mut Journal> {
        self.journal.as_mut().ok_or_else(nothing_open)
    }

    fn projection(&mut self) -> Result<&mut Projection> {
        if self.projection.is_none() {
            self.projection = Some(Projection::open(&self.directory, self.host()?)?);
        }
        self.projection.as_mut().ok_or_else(nothing_open)
    }

    fn reader(&self) -> Result<LogReader> {
        LogReader::open(&self.directory, self.host()?)
    }
}

fn nothing_open() -> Error {
    Error::new(Code::Input, "nothing is open")
}

fn position(position: Position) -> Value {
    json!([position.offset, position.sequence])
}

fn projected(projected: Projected) -> Value {
    json!({"projected": [projected.first, projected.next, projected.bytes]})
}

fn window(window: Window) -> Value {
    let row = |row: &Row| {
        let (text, reason) = match &row.content {
            RowContent::Line(text) => (Some(text), None),
            RowContent::Gap(reason) => (None, reason.map(|reason| reason.word())),
        };
        json!({"id": row.id, "kind": row.content.kind(), "text": text, "reason": reason})
    };
    let rows: Vec<_> = window.rows.iter().map(row).collect();
    json!({"rows": rows, "before": window.before, "after": window.after})
}

fn text<'a>(request: &'a Value, name: &str) -> &'a str {
    request[name].as_str().unwrap_or_default()
}

fn number(request: &Value, name: &str) -> u64 {
    request[name].as_u64().unwrap_or_default()
}
