//! EX-TRA: what the check of a transport finds. A provider in memory goes wrong in one way, and the check names it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gallivant_core::execution::contract::{ErrorKind, Methods};
use gallivant_core::execution::limits::Limits;
use gallivant_core::execution::transport::{Subject, Witness, check_transport};
use gallivant_core::execution::{
    AbortToken, Method, NoFaults, ProviderState, Transport, TransportCall, TransportError, drive,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::testing::{MEMORY_CAPABILITY, MemoryTransport, Mishap};

use crate::support::memory_task::{START, Task, object, submit, work};

/// A subject with these members besides.
fn subject(more: &str) -> Subject {
    let subject = format!(
        r#"{{"taskId":"t-1","provider":"memory","account":"a-1","nonce":"n-1","capabilities":{MEMORY_CAPABILITY}}}"#
    );
    let mut subject = object(&subject);
    for (name, value) in object(more) {
        subject.insert(name, value);
    }
    Subject::from_object(&subject).expect("it is a subject")
}

/// What is found, as `clause method: seen`.
fn check<T: Transport + 'static>(transport: T, task: &Task, subject: &Subject) -> Vec<String> {
    let found = check_transport(&Arc::new(transport), &*task.transport, subject, &task.host);
    task.transport.release();
    found.iter().map(ToString::to_string).collect()
}

fn found(method: Method, mishap: Mishap) -> Vec<String> {
    let task = Task::new();
    task.transport.always(method, mishap);
    check((*task.transport).clone(), &task, &subject("{}"))
}

/// The provider in memory behind a transport that spoils calls and replies, or adds what only the provider's end shows.
struct Spoilt<F>(MemoryTransport, F);

impl<F: Fn(&TransportCall, Result<String, TransportError>) -> Result<String, TransportError> + Send + Sync>
    Transport for Spoilt<F>
{
    fn methods(&self) -> Methods {
        Transport::methods(&self.0)
    }

    fn call(&self, call: &TransportCall) -> Result<String, TransportError> {
        (self.1)(call, self.0.call(call))
    }
}

#[test]
fn ex_tra_15_an_observation_that_a_pass_refuses_does_not_pass_the_check() {
    let event = |members: &str| Value::parse(members).expect("it is JSON");
    for (member, value, reason) in [
        ("observedAt", Value::from("yesterday"), "time"),
        ("observedAt", (START / 1000).into(), "stale"),
        ("observedAt", (START + 3_600_000).into(), "future"),
        ("observedAt", event("1780000000000.5"), "time"),
        ("state", "marvellous".into(), "state"),
        ("cursor", event(r#"{"an":"object"}"#), "cursor"),
        ("completedAt", START.into(), "completion"),
        ("events", event(r#"[{"nonsense":true}]"#), "event"),
        ("providerJobId", "another".into(), "foreign"),
        ("sessionId", "another".into(), "session"),
    ] {
        let found = found(Method::Inspect, Mishap::Replace(member, value));
        let first = found.first().unwrap_or_else(|| panic!("{member} is not found"));
        let wanted = format!("EX-TRA-15: inspect: a pass would refuse it, reason=`{reason}`");
        assert!(first.starts_with(&wanted), "{member}: {first}");
    }
    let lots = found(Method::Inspect, Mishap::Replace("costUsd", "lots".into()));
    assert_eq!(lots, ["EX-OBS-22: inspect: a cost that is no amount counts as not known, member=`costUsd`"]);
}

#[test]
fn ex_tra_23_a_look_up_is_judged_as_an_inspection_and_claims_no_job_of_an_unknown_key() {
    let stale = found(Method::Lookup, Mishap::Replace("observedAt", 1_u64.into()));
    assert!(stale[0].starts_with("EX-TRA-23: lookup: a pass would refuse it, reason=`stale`"), "{stale:?}");

    // It takes the newest job for the one that is meant.
    let task = Task::new();
    let provider = (*task.transport).clone();
    let newest = Spoilt(provider.clone(), move |call: &TransportCall, reply| match call.method {
        Method::Lookup => {
            let job = provider.jobs().pop().expect("it has made one");
            let asked: Object = [("idempotencyKey", Value::from(job.idempotency_key))].into_iter().collect();
            provider.call(&TransportCall::new(Method::Lookup, asked, call.deadline_at_ms, call.limits))
        }
        _ => reply,
    });
    let found = check(newest, &task, &subject("{}"));
    assert_eq!(found, ["EX-TRA-22: lookup: it claims a job for a key that nobody has sent"]);
}

#[test]
fn ex_tra_07_no_method_but_a_dispatch_makes_a_job_and_none_leaves_a_handle() {
    for method in [Method::Inspect, Method::Collect, Method::Lookup] {
        let word = method.word();
        assert_eq!(found(method, Mishap::MakeJob)[0], format!("EX-TRA-07: {word}: it makes a job, jobs=`1`"));
        let handles = format!("EX-TRA-07: {word}: it leaves handles open, handles=`1`");
        assert_eq!(found(method, Mishap::LeaveHandle), [handles]);
    }
    let twice = "EX-TRA-07: continue: one call makes more than one job, jobs=`2`";
    assert_eq!(found(Method::Continue, Mishap::MakeJob), [twice]);
}

/// Counts two requests for each submit.
struct Twice<'a>(&'a MemoryTransport, AtomicU64);

impl Witness for Twice<'_> {
    fn requests(&self) -> u64 {
        let submits = self.0.calls().iter().filter(|method| **method == Method::Submit).count() as u64;
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.requests() + submits
    }
    fn jobs(&self) -> u64 {
        self.0.jobs().len() as u64
    }
    fn cancellations(&self) -> u64 {
        self.0.cancellations()
    }
    fn open_handles(&self) -> u64 {
        self.0.open_handles()
    }
}

#[test]
fn ex_tra_07_a_submit_that_sends_two_requests_with_one_key_does_not_pass_the_check() {
    let task = Task::new();
    let witness = Twice(&task.transport, AtomicU64::new(0));
    let found = check_transport(&task.transport, &witness, &subject("{}"), &task.host);
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["EX-TRA-07: submit: one call is more than one request, requests=`2`"]);
    assert!(witness.1.load(Ordering::Relaxed) > 0);
}

/// Sends without a word to whoever has called it.
struct Silent(MemoryTransport);

impl Transport for Silent {
    fn methods(&self) -> Methods {
        Transport::methods(&self.0)
    }
    fn call(&self, call: &TransportCall) -> Result<String, TransportError> {
        self.0.call(&TransportCall::new(call.method, call.input.clone(), call.deadline_at_ms, call.limits))
    }
}

#[test]
fn ex_tra_29_a_dispatch_that_does_not_say_that_it_sends_does_not_pass_the_check() {
    let task = Task::new();
    let found = check(Silent((*task.transport).clone()), &task, &subject("{}"));
    let silent = |method: &str| {
        format!("EX-TRA-29: {method}: it sends without having said so before: sending() is not called")
    };
    assert_eq!(found, [silent("submit"), silent("continue")]);
}

#[test]
fn ex_tra_17_a_turn_that_goes_on_is_a_new_one_in_the_same_session() {
    let first = found(Method::Continue, Mishap::Replace("turnId", "turn-1".into()));
    assert!(
        first[0].starts_with("EX-TRA-17: continue: a pass would refuse it, reason=`identity`"),
        "{first:?}"
    );
    let moved = found(Method::Continue, Mishap::Replace("sessionId", "another".into()));
    assert!(
        moved[0].starts_with("EX-TRA-16: continue: a pass would refuse it, reason=`session`"),
        "{moved:?}"
    );

    // No reply of its transport names a session.
    let task = Task::new();
    let mute =
        Spoilt((*task.transport).clone(), |_: &TransportCall, reply: Result<String, TransportError>| {
            let mut reply = reply?;
            if let Ok(Value::Object(mut members)) = Value::parse(&reply) {
                members.remove("sessionId");
                reply = Value::Object(members).to_json();
            }
            Ok(reply)
        });
    let found = check(mute, &task, &subject("{}"));
    assert_eq!(
        found,
        ["EX-LED-56: continue: no reply has named a session, so that no turn can go on, member=`sessionId`"]
    );
}

#[test]
fn ex_tra_18_a_result_is_judged_with_the_end_that_was_observed() {
    // The provider ends each job at its second look, and has the result right away.
    let run = |spoil: fn(&mut Object)| {
        let task = Task::new();
        let provider = (*task.transport).clone();
        let looks = AtomicU64::new(0);
        let transport =
            Spoilt(provider.clone(), move |call: &TransportCall, reply: Result<String, TransportError>| {
                let is_ending = call.text("runId").is_some_and(|run| run.contains("ending"));
                if call.method == Method::Inspect && is_ending && looks.fetch_add(1, Ordering::Relaxed) == 1 {
                    provider.finish(call.text("turnId").unwrap_or_default(), true, "done");
                }
                if call.method != Method::Collect || !is_ending {
                    return reply;
                }
                let Ok(Value::Object(mut result)) = Value::parse(&reply?) else { panic!("it is an object") };
                spoil(&mut result);
                Ok(Value::Object(result).to_json())
            });
        let head = "a".repeat(40);
        let more = format!(r#"{{"endingPrompt":"end soon","inputHead":"{head}"}}"#);
        let found = check(transport, &task, &subject(&more));
        let calls: Vec<_> = task.transport.calls().iter().map(|method| method.word()).collect();
        (found, calls.join(" "))
    };
    let (found, calls) = run(|_| {});
    assert_eq!(found, Vec::<String>::new());
    assert!(calls.ends_with("submit inspect inspect inspect collect continue inspect cancel"), "{calls}");
    let (found, _) = run(|result| drop(result.remove("inputHead")));
    assert!(
        found[0].starts_with("EX-TRA-18: collect: a pass would refuse it, reason=`foreign`"),
        "{found:?}"
    );
    assert!(found[0].ends_with("member=`inputHead`"), "{found:?}");
    let (found, _) = run(|result| drop(result.remove("outcome")));
    assert!(found[0].contains("reason=`incomplete`"), "{found:?}");
}

#[test]
fn ex_tra_21_a_job_that_ended_before_its_stop_is_named_as_that() {
    for method in [Method::Inspect, Method::Cancel] {
        let task = Task::new();
        let provider = (*task.transport).clone();
        // It has ended before it is looked at, or between the look and the stop.
        let early = Early(provider, method);
        let found = check(early, &task, &subject("{}"));
        let ended = "EX-TRA-21: cancel: the job ended by itself before its stop";
        assert!(found.len() == 1 && found[0].starts_with(ended), "{found:?}");
        assert!(found[0].contains("state=`succeeded`"), "{found:?}");
    }
}

/// The first turn ends just before this method is called.
struct Early(MemoryTransport, Method);

impl Transport for Early {
    fn methods(&self) -> Methods {
        Transport::methods(&self.0)
    }
    fn call(&self, call: &TransportCall) -> Result<String, TransportError> {
        if call.method == self.1 && !self.0.calls().contains(&self.1) {
            self.0.finish("turn-1", true, "done");
        }
        self.0.call(call)
    }
}

#[test]
fn ex_tra_20_a_stop_is_confirmed_when_the_provider_says_cancelled() {
    let task = Task::new();
    let provider = (*task.transport).clone();
    let liar = Spoilt(provider.clone(), move |call: &TransportCall, reply| {
        if call.method == Method::Cancel {
            provider.set_state(call.text("turnId").unwrap_or_default(), ProviderState::Running);
        }
        reply
    });
    let found = check(liar, &task, &subject("{}"));
    let wanted = "EX-TRA-20: cancel: it is confirmed, and the turn is not cancelled, state=`running`";
    assert!(found.iter().any(|found| found == wanted), "{found:?}");
    let wrong = self::found(Method::Cancel, Mishap::Replace("confirmed", "yes".into()));
    assert!(wrong[0].starts_with("EX-TRA-20: cancel: a pass would refuse it, reason=`shape`"), "{wrong:?}");
}

#[test]
fn ex_tra_33_a_failure_is_told_with_the_transports_own_words_and_without_secrets() {
    let task = Task::new();
    let failure = TransportError::of(ErrorKind::Auth, "key hunter2-hunter2 was revoked").with_code("revoked");
    task.transport.always(Method::Inspect, Mishap::Fail(failure));
    let subject = subject(r#"{"secrets":["hunter2-hunter2"]}"#);
    let found = check((*task.transport).clone(), &task, &subject);
    assert_eq!(found.len(), 1, "a finding is told once: {found:?}");
    assert!(
        found[0].starts_with("EX-TRA-26: inspect: it fails, kind=`auth` code=`revoked` said=`key "),
        "{found:?}"
    );
    assert!(found[0].ends_with(" was revoked`") && !found[0].contains("hunter2"), "{found:?}");
}

#[test]
fn ex_tra_33_what_a_transport_says_of_its_failure_is_told_redacted_and_saved_nowhere() {
    let refused = |kind, code: &str, words: &str| {
        let task = Task::new();
        let boundary = task.boundary_with(r#"{"secrets":["hunter2-hunter2"]}"#, Arc::new(NoFaults));
        let failure = TransportError::of(kind, words).with_code(code);
        task.transport.next(Method::Submit, Mishap::Fail(failure));
        let error = drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new()).unwrap_err();
        assert!(!task.ledger().to_json().contains("not set"), "{}", task.ledger().to_json());
        error.message()
    };
    let unknown = refused(ErrorKind::Auth, "", "hunter2-hunter2\nis not set");
    assert!(unknown.contains("operation=`op-1`: the transport failed, said=`"), "{unknown}");
    assert!(unknown.ends_with(" is not set`") && !unknown.contains("hunter2"), "{unknown}");
    let not_sent = refused(ErrorKind::NotSent, "unconfigured", "the key is not set");
    assert!(
        not_sent.ends_with("operation=`op-1` code=`unconfigured` said=`the key is not set`"),
        "{not_sent}"
    );
    // The prompt of the dispatch is in no error, whoever repeats it (EX-ERR-06).
    let repeated = refused(ErrorKind::Io, "", "it is not set to do it");
    assert!(repeated.contains("said=`it is not set to ") && !repeated.contains("do it"), "{repeated}");
    assert_eq!(refused(ErrorKind::Io, "", "").matches('`').count(), 2, "nothing is said where nothing was");
}

#[test]
fn ex_tra_17_a_repeated_turn_is_named_by_its_refusal() {
    let task = Task::new();
    let boundary = task.boundary();
    let abort = AbortToken::new();
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("it is accepted");
    task.transport.finish("turn-1", true, "done");
    drive(boundary.startup(abort.clone()), &task.transport, &abort).expect("it is collected");
    task.transport.next(Method::Continue, Mishap::Replace("turnId", "turn-1".into()));
    let again =
        drive(boundary.continue_run(work("op-2"), abort.clone()), &task.transport, &abort).unwrap_err();
    assert_eq!(again.reason(), Some("identity"));
    assert!(again.message().ends_with(": another operation has the same job and root turn"), "{again}");
}

#[test]
fn ex_obs_17_the_events_that_fit_a_page_are_counted_as_a_pass_counts_them() {
    use gallivant_core::execution::observation::{Observation, Recorded, fitting};
    let event = |number: usize, bytes: usize| {
        let text = format!(r#"{{"eventId":"e-{number}","type":"output","data":"{}"}}"#, "x".repeat(bytes));
        Value::parse(&text).expect("it is JSON")
    };
    let limits = Limits { event_page_records: 20, event_page_bytes: 65_536, ..Limits::default() };
    let is_taken = |events: &[Value]| {
        let head = r#"{"providerJobId":"j","turnId":"t","state":"running","observedAt":1,"events":"#;
        let text = format!("{head}{}}}", Value::from(events.to_vec()).to_json());
        let recorded = Recorded {
            provider_job_id: None,
            turn_id: None,
            session_id: None,
            started_at: 1,
            observed_at: None,
        };
        Observation::receive(Method::Inspect, &text, &recorded, &limits, 1).is_ok()
    };
    let events: Vec<Value> = (0..30).map(|number| event(number, 5_000)).collect();
    let count = fitting(&events, &limits);
    assert!(is_taken(&events[..count]) && !is_taken(&events[..=count]), "{count}");
    let small: Vec<Value> = (0..30).map(|number| event(number, 1)).collect();
    assert_eq!(fitting(&small, &limits), 20);
    assert_eq!((fitting(&[event(0, 90_000)], &limits), fitting(&[], &limits)), (0, 0));
    // To the byte.
    let overhead = event(0, 0).to_canonical().len() + 2;
    let exact = vec![event(0, 65_536 - overhead)];
    assert_eq!((fitting(&exact, &limits), is_taken(&exact)), (1, true));
    let longer = vec![event(0, 65_537 - overhead)];
    assert_eq!((fitting(&longer, &limits), is_taken(&longer)), (0, false));
}
