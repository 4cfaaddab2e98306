//! The lock of a task among real processes: a dead owner holds nothing, a living one keeps what it has.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gallivant_core::execution::{AbortToken, Boundary, ExecutionOptions, NoFaults, Step};
use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Host};

use crate::{start, wait_for};

const OPTIONS: &str = r#"{"taskId":"t-1","provider":"prov","account":"acct","budgetUsd":8,"health":"external",
    "limits":{"lockWaitMs":2000},"transport":{"methods":["submit","inspect","collect"]},
    "capabilities":{"provider":"prov","transport":"managed-rest","location":"remote",
    "newDispatch":{"available":true},"authentication":{"scheme":"none","secretNames":[]},
    "environments":{"required":false,"allowed":null},"models":"refused","policies":{"required":false,"allowed":[]},
    "continuation":"none","observability":"states","cancel":false,"interrupt":false,
    "cost":{"reports":false,"hardCap":false}}}"#;

fn object(text: &str) -> Object {
    match Value::parse(text).expect("JSON") {
        Value::Object(object) => object,
        _ => panic!("no object"),
    }
}

fn boundary(root: &Path) -> Boundary {
    let options = ExecutionOptions::from_object(root, &object(OPTIONS), Arc::new(NoFaults));
    Boundary::new(options.expect("options"), &Host::system()).expect("a boundary")
}

fn submit(boundary: &Boundary) -> Step {
    let input = object(r#"{"operationId":"op-1","prompt":"p","reservationUsd":1}"#);
    boundary.submit(input, AbortToken::new()).start()
}

/// The role of a process that has saved its intent, and calls for ever.
pub(crate) fn dispatcher(root: &Path) {
    let boundary = boundary(root);
    let input = object(r#"{"operationId":"op-1","prompt":"p","reservationUsd":1}"#);
    let mut machine = boundary.submit(input, AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it calls") };
    println!("\ncalling {}", call.method);
    std::thread::sleep(Duration::from_secs(600));
    drop(machine);
}

#[test]
fn ex_led_17_a_dead_owner_holds_nothing_and_a_stopped_one_keeps_its_lock() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut holder = start("dispatcher", root.path(), 0);
    assert!(wait_for(&mut holder, "calling").contains("submit"));
    // SAFETY: the child is this test's own.
    assert_eq!(unsafe { libc::kill(i32::try_from(holder.id()).expect("a pid"), libc::SIGSTOP) }, 0);
    let here = boundary(root.path());
    let Step::Done(Err(busy)) = submit(&here) else { panic!("it is held") };
    assert_eq!(busy.code(), Code::ExecutionBusy);
    assert!(busy.message().contains(&holder.id().to_string()), "the hint names the holder: {busy}");
    holder.kill().expect("SIGKILL");
    holder.wait().expect("reaped");
    let killed = Instant::now();
    let Step::Done(Err(unknown)) = submit(&here) else { panic!("nothing is dispatched again") };
    assert_eq!(unknown.code(), Code::ExecutionAcceptanceUnknown, "the intent of the dead process stands");
    assert!(killed.elapsed() < Duration::from_secs(60), "{:?}", killed.elapsed());
}
