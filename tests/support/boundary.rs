//! A boundary of one task on a simulated machine, inputs for its calls, and the loop that drives a machine.

use std::sync::Arc;

use gallivant_core::execution::{
    AbortToken, Boundary, Call, ExecutionOptions, Faults, FixedJitter, Ledger, Machine, Reply, Step,
    TransportError,
};
use gallivant_core::json::{Object, Value as CoreValue};
use gallivant_core::testing::FaultyFileSystem;
use gallivant_core::{Host, Result};
use serde_json::{Value, json};

use crate::provider::SECRET;

/// The task's root on a simulated machine.
pub(crate) const ROOT: &str = "/task";
pub(crate) const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// Every method of a transport.
pub(crate) const METHODS: [&str; 8] =
    ["prepare", "submit", "inspect", "continue", "collect", "cancel", "lookup", "recoverResponse"];

/// The options of a boundary that may do everything, in their JSON form.
pub(crate) fn options() -> Value {
    json!({
        "taskId": "t-1", "provider": "prov", "account": "acct", "budgetUsd": 1_000, "health": "external",
        "secrets": [SECRET],
        "limits": {"lockWaitMs": 0},
        "transport": {"methods": METHODS},
        "capabilities": {
            "provider": "prov", "transport": "managed-rest", "location": "remote",
            "newDispatch": {"available": true, "reason": null},
            "authentication": {"scheme": "key", "secretNames": ["PROV_KEY"]},
            "environments": {"required": false, "allowed": null},
            "models": "native", "policies": {"required": false, "allowed": []},
            "preparation": {"version": 1, "authority": "text-only", "boundary": "environment:none", "environment": "none"},
            "continuation": "native", "observability": "events", "cancel": true, "interrupt": false,
            "cost": {"reports": true, "hardCap": false}, "qualification": null
        },
    })
}

pub(crate) fn boundary(root: &str, options: &Value, host: &Host, faults: Arc<dyn Faults>) -> Boundary {
    let mut options =
        ExecutionOptions::from_object(root, &object(options), faults).expect("the options are well");
    options.jitter = Some(Arc::new(FixedJitter(1.0)));
    Boundary::new(options, host).expect("a boundary")
}

pub(crate) fn object(value: &Value) -> Object {
    match CoreValue::parse(&value.to_string()).expect("JSON") {
        CoreValue::Object(object) => object,
        _ => panic!("no object"),
    }
}

pub(crate) fn no_abort() -> AbortToken {
    AbortToken::new()
}

pub(crate) fn dispatch_input(operation_id: &str) -> Value {
    json!({"operationId": operation_id, "prompt": format!("do {operation_id}"), "inputHead": HEAD, "reservationUsd": 0.5})
}

/// What a host feeds a machine.
#[derive(Clone, Debug)]
pub(crate) enum Fed {
    Reply(Reply),
    Deadline,
    Abort,
    /// Nothing any more: the machine is dropped.
    Gone,
}

impl Fed {
    pub(crate) fn value(value: &Value) -> Self {
        Fed::Reply(Reply::Value(value.to_string()))
    }

    pub(crate) fn error(kind: &str) -> Self {
        Fed::Reply(Reply::Error(TransportError::from_value(
            &CoreValue::parse(&json!({"kind": kind, "message": "no"}).to_string()).expect("JSON"),
        )))
    }
}

/// Runs a machine to its end; none where its host went away before that.
pub(crate) fn drive(mut machine: Machine, mut answer: impl FnMut(&Call) -> Fed) -> Option<Result<CoreValue>> {
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(outcome) => return Some(outcome),
            Step::Call(call) => call,
        };
        step = match answer(&call) {
            Fed::Reply(reply) => machine.reply(call.id, reply).expect("outstanding"),
            Fed::Deadline => machine.deadline(call.id).expect("outstanding"),
            Fed::Abort => machine.abort(call.id).expect("outstanding"),
            Fed::Gone => return None,
        };
    }
}

/// The ledger as it stands, which is whole; none where there is none.
pub(crate) fn ledger(files: &FaultyFileSystem) -> Option<Ledger> {
    let bytes = files.contents(format!("{ROOT}/execution.json")).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(Ledger::parse(&bytes).unwrap_or_else(|error| panic!("{error}: {text}")))
}

/// Every file below the root with its bytes, the two lock files left out.
pub(crate) fn files_below(files: &FaultyFileSystem, path: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for name in files.names(path).unwrap_or_default() {
        let below = format!("{path}/{name}");
        match files.contents(&below) {
            Ok(bytes) if !name.ends_with(".lock") => found.push((below, bytes)),
            Ok(_) => {}
            Err(_) => found.extend(files_below(files, &below)),
        }
    }
    found
}
