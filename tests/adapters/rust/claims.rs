//! The Rust conformance adapter of idempotent creates: one JSON request a line in, one JSON answer a line out.
//!
//! The protocol is described in `tests/vectors/idempotency/README.md`.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gallivant_core::Error;
use gallivant_core::idempotency::{
    Ask, Begin, Fingerprint, FinishedClaim, IdempotencyStore, Reservation, StoreOptions, Ticket, UnknownClaim,
};
use gallivant_core::testing::{TestHost, TestHostOptions};
use serde_json::{Map, Value, json};

type Request = Map<String, Value>;
type Answered = std::result::Result<Value, Value>;

fn main() -> io::Result<()> {
    let mut adapter = Adapter::default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(Value::Object(request)) => adapter.answer(&request),
            _ => json!({"ok": false, "error": "INPUT"}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// What an id names. A mutex each, so that threads of one process may use different ones at once.
enum Named {
    Reservation(Reservation),
    Claim(FinishedClaim),
    Ticket(Ticket),
    Unknown(UnknownClaim),
}

#[derive(Default)]
struct Adapter {
    // Dropped before the host: reservations look at its clock.
    named: Mutex<HashMap<String, Named>>,
    store: Option<std::result::Result<IdempotencyStore, Value>>,
    test_host: Option<TestHost>,
}

impl Adapter {
    fn answer(&mut self, request: &Request) -> Value {
        let answered = match text(request, "op") {
            "open" => self.open(request),
            "clock" => self.clock(request),
            "many" => self.many(request),
            "in_child" => self.in_child(request),
            _ => self.perform(request),
        };
        match answered {
            Ok(mut answer) => {
                answer["ok"] = true.into();
                answer
            }
            Err(refusal) => refusal,
        }
    }

    fn open(&mut self, request: &Request) -> Answered {
        self.named().clear();
        self.store = None;
        let none = Map::new();
        let options = request.get("options").and_then(Value::as_object).unwrap_or(&none);
        let wall_ms = request.get("now_ms").and_then(Value::as_u64);
        let host_options = TestHostOptions {
            wall_ms,
            machine: options.get("host").and_then(Value::as_str),
            boot: options.get("boot").and_then(Value::as_str),
            ..TestHostOptions::default()
        };
        let test_host = TestHost::new(host_options).map_err(|error| refusal(&error))?;
        test_host.stand_at(wall_ms.unwrap_or(0), 0);
        let opened = match options.get("engine").and_then(Value::as_str) {
            None | Some("sqlite") => {
                let path = Path::new(text(request, "dir")).join("idempotency.db");
                IdempotencyStore::open(path, &store_options(options), test_host.host())
                    .map_err(|error| refusal(&error))
            }
            Some(_) => Err(json!({"ok": false, "error": "UNSUPPORTED"})),
        };
        self.test_host = Some(test_host);
        let answered = opened.as_ref().map(|_| json!({})).map_err(Clone::clone);
        self.store = Some(opened);
        answered
    }

    fn clock(&mut self, request: &Request) -> Answered {
        let wall_ms = request.get("now_ms").and_then(Value::as_u64).unwrap_or(0);
        let slept_ms = request.get("slept_ms").and_then(Value::as_u64);
        if let Some(test_host) = &self.test_host {
            test_host.stand_at(wall_ms, slept_ms.unwrap_or(0));
        }
        if slept_ms.is_some()
            && let Ok(store) = self.store()
        {
            // A sleep is detected by whoever looks; here it is looked at once.
            store.notice_sleep();
        }
        Ok(json!({}))
    }

    fn many(&mut self, request: &Request) -> Answered {
        let count = request.get("count").and_then(Value::as_u64).unwrap_or(0);
        let inner = request.get("request").and_then(Value::as_object).ok_or_else(input)?;
        let adapter = &*self;
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|number| {
                    let mut one = inner.clone();
                    one.insert("id".to_owned(), format!("{}.{number}", text(inner, "id")).into());
                    scope.spawn(move || match adapter.perform(&one) {
                        Ok(mut answer) => {
                            answer["ok"] = true.into();
                            answer
                        }
                        Err(refusal) => refusal,
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
        });
        Ok(json!({ "answers": answers }))
    }

    /// Forks; what the child answers comes back through a pipe.
    fn in_child(&mut self, request: &Request) -> Answered {
        let inner = request.get("request").and_then(Value::as_object).ok_or_else(input)?.clone();
        let (mut reader, mut writer) = io::pipe().map_err(|_| input())?;
        // SAFETY: this process has one thread when it answers a request, and the child leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => {
                drop(reader);
                let opened = match request.get("reopen").and_then(Value::as_object) {
                    Some(reopen) => self.open(reopen),
                    None => Ok(json!({})),
                };
                let answer = match opened {
                    Ok(_) => self.answer(&inner),
                    Err(refusal) => refusal,
                };
                let _ = writer.write_all(answer.to_string().as_bytes());
                // SAFETY: ends the child without running anything of the parent's.
                unsafe { libc::_exit(0) }
            }
            child => {
                drop(writer);
                let mut answer = String::new();
                let _ = io::Read::read_to_string(&mut reader, &mut answer);
                // SAFETY: waits for the child that was just made.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                let child: Value = serde_json::from_str(&answer).map_err(|_| input())?;
                Ok(json!({ "child": child }))
            }
        }
    }

    fn perform(&self, request: &Request) -> Answered {
        let deadline = request.get("deadline_ms").and_then(Value::as_u64).map(Duration::from_millis);
        let id = text(request, "id");
        let refused = |error: Error| refusal(&error);
        match text(request, "op") {
            "begin" => {
                let scope = texts(request, "scope");
                let ask = Ask {
                    operation: text(request, "operation"),
                    scope: &scope,
                    key: text(request, "key"),
                    fingerprint: fingerprint(request),
                    deadline,
                };
                let begin = self.store()?.ask(&ask).map_err(refused)?;
                Ok(self.name(id, begin))
            }
            "wait" => {
                let Some(ticket) = (match self.named().get(id) {
                    Some(Named::Ticket(ticket)) => Some(ticket.clone()),
                    _ => None,
                }) else {
                    return Err(input());
                };
                let begin = ticket.wait(deadline.unwrap_or_default()).map_err(refused)?;
                Ok(self.name(id, begin))
            }
            "recreate" => {
                let Some(claim) = (match self.named().get(id) {
                    Some(Named::Claim(claim)) => Some(claim.clone()),
                    _ => None,
                }) else {
                    return Err(input());
                };
                let begin = claim.recreate_within(deadline).map_err(refused)?;
                Ok(self.name(id, begin))
            }
            "settle" => {
                let Some(claim) = (match self.named().get(id) {
                    Some(Named::Unknown(claim)) => Some(claim.clone()),
                    _ => None,
                }) else {
                    return Err(input());
                };
                let found = request.get("found").and_then(Value::as_str);
                let begin = claim.settle_within(found, deadline).map_err(refused)?;
                Ok(self.name(id, begin))
            }
            op @ ("complete" | "release" | "effect_starting" | "keep_alive") => {
                let taken = self.named().remove(id);
                let Some(Named::Reservation(mut reservation)) = taken else {
                    taken.map(|other| self.named().insert(id.to_owned(), other));
                    return Err(input());
                };
                let done = match op {
                    "complete" => {
                        let answer = bytes(request.get("answer"));
                        reservation.complete_within(text(request, "resource"), &answer, deadline)
                    }
                    "release" => reservation.release_within(deadline),
                    "effect_starting" => reservation.effect_starting_within(deadline),
                    _ => reservation.keep_alive_within(deadline),
                };
                self.named().insert(id.to_owned(), Named::Reservation(reservation));
                done.map(|()| json!({})).map_err(refused)
            }
            "abandon" => {
                let dropped = self.named().remove(id);
                drop(dropped);
                Ok(json!({}))
            }
            "inspect" => {
                let scope = texts(request, "scope");
                let store = self.store()?;
                let seen = store
                    .inspect(text(request, "operation"), &scope, text(request, "key"))
                    .map_err(refused)?;
                Ok(json!({"claim": seen.map(|claim| json!({
                    "state": claim.state.word(),
                    "resource": claim.resource,
                    "answer": claim.answer.map(|answer| hex(&answer)),
                }))}))
            }
            "sweep" => {
                let swept = self.store()?.sweep().map_err(refused)?;
                Ok(json!({"removed": swept.removed, "more": swept.has_more}))
            }
            "capability" => {
                let reason = match self.store() {
                    Err(refusal) => refusal.get("error").cloned(),
                    Ok(store) => store.capability().err().map(|error| error.code().name().into()),
                };
                Ok(json!({"keyed_creates": reason.is_none(), "reason": reason}))
            }
            "fill" => self.fill(request),
            _ => Err(input()),
        }
    }

    fn fill(&self, request: &Request) -> Answered {
        let store = self.store()?;
        let operation = request.get("operation").and_then(Value::as_str).unwrap_or("things.create");
        let mut scope = texts(request, "scope");
        if scope.is_empty() {
            scope = vec!["org", "ws"];
        }
        let from = request.get("from").and_then(Value::as_u64).unwrap_or(0);
        let count = request.get("count").and_then(Value::as_u64).unwrap_or(0);
        for number in from..from + count {
            let key = format!("{}{number}", text(request, "prefix"));
            match store.begin(operation, &scope, &key, b"").map_err(|error| refusal(&error))? {
                Begin::Create(mut reservation) => {
                    reservation.complete(&key, &[0]).map_err(|error| refusal(&error))?;
                }
                _ => return Err(input()),
            }
        }
        Ok(json!({}))
    }

    /// Gives the answer the id, and tells it.
    fn name(&self, id: &str, begin: Begin) -> Value {
        let mut answer = json!({"begin": begin.word(), "how": begin.how().word()});
        let named = match begin {
            Begin::Create(reservation) => Named::Reservation(reservation),
            Begin::Replay(claim) => {
                answer["resource"] = claim.resource().into();
                answer["answer"] = claim.answer().map(hex).into();
                Named::Claim(claim)
            }
            Begin::InProgress(ticket) => Named::Ticket(ticket),
            Begin::Unknown(claim) => Named::Unknown(claim),
        };
        let replaced = self.named().insert(id.to_owned(), named);
        drop(replaced);
        answer
    }

    fn named(&self) -> std::sync::MutexGuard<'_, HashMap<String, Named>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> std::result::Result<&IdempotencyStore, Value> {
        match &self.store {
            Some(Ok(store)) => Ok(store),
            Some(Err(refusal)) => Err(refusal.clone()),
            None => Err(input()),
        }
    }
}

fn store_options(options: &Request) -> StoreOptions {
    let mut chosen = StoreOptions::default();
    let number = |key: &str| options.get(key).and_then(Value::as_u64);
    if let Some(ms) = number("window_ms") {
        chosen.window = Duration::from_millis(ms);
    }
    if let Some(ms) = number("max_reservation_ms") {
        chosen.max_reservation = Duration::from_millis(ms);
    }
    if let Some(ms) = number("busy_ms") {
        chosen.busy = Duration::from_millis(ms);
    }
    if let Some(bytes) = number("max_answer_bytes") {
        chosen.max_answer_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    chosen
}

fn fingerprint(request: &Request) -> Fingerprint {
    match request.get("body_parts").and_then(Value::as_array) {
        Some(parts) => {
            let mut builder = Fingerprint::builder();
            parts.iter().for_each(|part| builder.update(&bytes(Some(part))));
            builder.finish()
        }
        None => Fingerprint::of(&bytes(request.get("body"))),
    }
}

fn refusal(error: &Error) -> Value {
    let mut answer = json!({"ok": false, "error": error.code().name(), "remedy": error.remedy()});
    answer["message"] = error.message().into();
    answer["reason"] = error.reason().into();
    answer["resource"] = error.resource().into();
    answer["file"] = error.file().map(|file| file.display().to_string()).into();
    answer
}

fn input() -> Value {
    json!({"ok": false, "error": "INPUT"})
}

fn text<'a>(request: &'a Request, key: &str) -> &'a str {
    request.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'a>(request: &'a Request, key: &str) -> Vec<&'a str> {
    let list = request.get(key).and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: Option<&Value>) -> Vec<u8> {
    let hex = hex.and_then(Value::as_str).unwrap_or_default();
    (0..hex.len() / 2).filter_map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()).collect()
}
