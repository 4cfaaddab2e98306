//! A task of the execution layer: a run with its result, and an operation whose acceptance is not known.

use std::path::Path;
use std::sync::Arc;

use gallivant_core::Code;
use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, FixedJitter, Machine, Method, NoFaults, drive,
};
use gallivant_core::journal::read_run_result;
use gallivant_core::json::{Object, Value};
use gallivant_core::testing::{MEMORY_CAPABILITY, MemoryTransport, Mishap, TestHost};

use crate::{Domain, every_version};

pub(crate) const DOMAIN: Domain = Domain { folder: "execution", write };

fn object(text: &str) -> Object {
    match Value::parse(text) {
        Ok(Value::Object(object)) => object,
        other => panic!("{text}: {other:?}"),
    }
}

fn boundary(root: &Path, host: &TestHost) -> Boundary {
    let options = object(&format!(
        r#"{{"taskId":"t-1","provider":"memory","account":"a-1","budgetUsd":8,"health":"external",
             "capabilities":{MEMORY_CAPABILITY},"transport":{{"methods":
             ["prepare","submit","inspect","continue","collect","cancel","lookup","recoverResponse"]}}}}"#
    ));
    let mut options =
        ExecutionOptions::from_object(root, &options, Arc::new(NoFaults)).expect("the options are right");
    options.jitter = Some(Arc::new(FixedJitter(1.0)));
    Boundary::new(options, host.host()).expect("the options fit each other")
}

fn submit(boundary: &Boundary, operation: &str) -> Machine {
    let work = object(&format!(
        r#"{{"operationId":"{operation}","runId":"run-{operation}","prompt":"do it","reservationUsd":0.5}}"#
    ));
    boundary.submit(work, AbortToken::new())
}

fn ledger(root: &Path) -> Value {
    Value::parse(&std::fs::read_to_string(root.join("execution.json")).expect("a ledger")).expect("JSON")
}

fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('/').fold(value, |value, key| value.get(key).unwrap_or_else(|| panic!("no {key} of {path}")))
}

fn write(root: &Path, host: &TestHost) {
    let (boundary, transport, abort) =
        (boundary(root, host), Arc::new(MemoryTransport::new(host.host())), AbortToken::new());
    drive(submit(&boundary, "op-1"), &transport, &abort).expect("it is accepted");
    assert!(transport.emit("turn-1", "output", Value::from("one")));
    assert!(transport.finish("turn-1", true, "done"));
    drive(boundary.reconcile(true, abort.clone()), &transport, &abort).expect("a pass");
    transport.next(Method::Submit, Mishap::LoseReply);
    drive(submit(&boundary, "op-2"), &transport, &abort).expect_err("its reply is lost");
}

#[test]
fn the_ledger_of_another_release_is_read_and_work_goes_on() {
    every_version(&DOMAIN, |version, root, host| {
        let (boundary, abort) = (boundary(root, host), AbortToken::new());
        // A provider that knows nothing of what was sent.
        let transport = Arc::new(MemoryTransport::new(host.host()));
        let read = ledger(root);
        for (path, word) in [
            ("executions/run-op-1/terminalState", "succeeded"),
            ("operations/op-1/acceptance", "accepted"),
            ("operations/op-2/acceptance", "unknown"),
        ] {
            assert_eq!(at(&read, path).as_str(), Some(word), "{version}: {path}");
        }
        let result = read_run_result(root.join("run-op-1"), host.host()).expect("read");
        assert_eq!(at(&result.expect("a result"), "outcome/ok").as_bool(), Some(true), "{version}");

        // What may have been sent is not sent again, and fences what is new.
        let again = drive(submit(&boundary, "op-2"), &transport, &abort).expect_err("not known");
        assert_eq!(again.code(), Code::ExecutionAcceptanceUnknown, "{version}");
        let fenced = drive(submit(&boundary, "op-3"), &transport, &abort).expect_err("fenced");
        assert_eq!(fenced.code(), Code::ExecutionUnresolved, "{version}: {fenced}");
        assert_eq!(transport.creates(), 0, "{version}");
        let absent = object(r#"{"operationId":"op-2","evidence":"the provider has no such job"}"#);
        drive(boundary.settle_absent(absent, abort.clone()), &transport, &abort).expect("settled");
        // The task knows the first names of this provider's jobs as another run's.
        let reply = r#"{"providerJobId":"job-9","turnId":"turn-9","sessionId":"session-9"}"#;
        transport.next(Method::Submit, Mishap::Reply(reply.into()));
        drive(submit(&boundary, "op-3"), &transport, &abort).expect("it is accepted");
        assert_eq!(transport.creates(), 1, "{version}");
        assert_eq!(at(&ledger(root), "operations/op-3/sequence").to_json(), "3", "{version}");
    });
}
