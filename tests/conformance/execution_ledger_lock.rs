//! The locks of a task: EX-LED-16 to EX-LED-19, EX-LED-68 to EX-LED-71. Dead and living owners are real processes in
//! `tests/races/execution.rs`.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

use gallivant_core::execution::ledger::lock::AbortToken;
use gallivant_core::execution::{Boundary, ExecutionOptions, Machine, NoFaults, Reply, Step};
use gallivant_core::testing::{Simulation, simulated_host};
use gallivant_core::{Code, Host};
use serde_json::{Value as Json, json};

use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::task::{TaskRoot, dispatch, dispatch_with, object, remote_options};
use crate::support::{NOW, in_forked_child};

/// A task whose calls wait for so long.
fn waiting(ms: u64) -> TaskRoot {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"lockWaitMs": ms});
    task
}

/// A machine that waits for the end of its call, and so holds the lock.
fn in_call(boundary: &Boundary, n: u32) -> (Machine, u64) {
    let mut machine = boundary.submit(object(&dispatch(n)), AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it calls") };
    (machine, call.id)
}

fn simulated(lock_wait_ms: u64, host: &Host) -> Boundary {
    let mut options = remote_options();
    options["limits"] = json!({"lockWaitMs": lock_wait_ms});
    let options = ExecutionOptions::from_object("/task", &object(&options), std::sync::Arc::new(NoFaults));
    Boundary::new(options.expect("options"), host).expect("a boundary")
}

fn submit_code(boundary: &Boundary) -> (Code, Option<&'static str>) {
    match boundary.submit(object(&dispatch(1)), AbortToken::new()).start() {
        Step::Done(Err(error)) => (error.code(), error.reason()),
        step => panic!("{step:?}"),
    }
}

fn tries(simulation: &Simulation) -> usize {
    simulation.files.trace().iter().filter(|line| line.contains("try_lock")).count()
}

#[test]
fn ex_led_16_the_lock_file_is_permanent_and_its_text_decides_nothing() {
    let task = waiting(BRIEF_WAIT_MS);
    task.plant("execution.lock", "{\"version\":1,\"pid\":1,\"since\":0,\"token\":\"somebody's\"");
    let path = task.path().join("execution.lock");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("chmod");
    let inode = path.metadata().expect("there").ino();
    let holding = task.boundary();
    let (machine, _) = in_call(&holding, 1);
    let text: Json =
        serde_json::from_str(&task.text("execution.lock")).expect("the holder introduces itself");
    let mut members: Vec<_> = text.as_object().expect("an object").keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["identity", "pid", "since", "token", "version"]);
    assert_eq!(
        (&text["version"], &text["pid"], &text["since"]),
        (&json!(1), &json!(std::process::id()), &json!(NOW))
    );
    assert!(
        !text["identity"].as_str().expect("a text").is_empty()
            && !text["token"].as_str().expect("a text").is_empty()
    );
    // Close-on-exec: a child that is started meanwhile does not have the descriptor.
    let listing = "for fd in /proc/self/fd/*; do readlink $fd; done";
    let listed = std::process::Command::new("sh").args(["-c", listing]).output().expect("sh runs").stdout;
    assert!(
        !String::from_utf8_lossy(&listed).contains("execution.lock"),
        "{}",
        String::from_utf8_lossy(&listed)
    );
    // Whoever damages the text takes nothing from the holder.
    std::fs::write(&path, "nobody").expect("written");
    assert_eq!(submit_code(&task.boundary()).0, Code::ExecutionBusy);
    drop(machine);
    assert_eq!(submit_code(&task.boundary()).0, Code::ExecutionAcceptanceUnknown, "released by closing");
    assert_eq!(path.metadata().expect("there").ino(), inode, "neither deleted nor replaced");
    assert_eq!(path.metadata().expect("there").mode() & 0o7777, 0o640);
    // A text that cannot be written is no reason to refuse.
    let task = TaskRoot::new();
    task.machine
        .set_faults(r#"[{"on":"write_lock","repeat":true,"do":"error","errno":"ENOSPC"}]"#)
        .expect("faults");
    task.accepted(1);
    assert_eq!(task.text("execution.lock"), "");
}

#[test]
fn ex_led_17_a_living_owners_lock_is_never_taken_and_a_second_boundary_is_excluded_too() {
    let task = waiting(60);
    let first = task.boundary();
    let (mut machine, call) = in_call(&first, 1);
    let file = File::options().write(true).open(task.path().join("execution.lock")).expect("it opens");
    for text in ["", "{\"version\":1,\"pid\":4194304,\"identity\":\"gone\",\"token\":\"t\",\"since\":0}"] {
        // As old as a lock can look, and of a process that is not there.
        std::fs::write(task.path().join("execution.lock"), text).expect("written");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("touched");
        task.machine.set_wall_ms(NOW + 10 * 365 * 86_400_000);
        assert_eq!(submit_code(&task.boundary()).0, Code::ExecutionBusy, "another boundary");
        assert_eq!(submit_code(&first).0, Code::ExecutionBusy, "the same boundary");
    }
    task.machine.set_wall_ms(NOW);
    let reply = Reply::Value(crate::support::task::acknowledgement(1).to_string());
    let Step::Done(Ok(_)) = machine.reply(call, reply).expect("outstanding") else {
        panic!("it is accepted")
    };
    assert_eq!(task.operation(1)["acceptance"], "accepted", "the holder goes on unharmed");
}

#[test]
fn ex_led_18_the_documentation_says_that_the_lock_is_no_lease_between_hosts() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for page in [
        "core/src/execution/boundary/calls.rs",
        "core/src/execution/ledger/lock.rs",
        "docs/format/execution.md",
    ] {
        let text = std::fs::read_to_string(root.join(page)).expect(page);
        let words = text.replace("//!", " ").replace("///", " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("no lease between hosts"), "{page}");
        assert!(words.contains("local file system"), "{page}");
    }
}

#[test]
fn ex_led_19_a_wait_is_bounded_and_says_who_holds_the_task() {
    let task = waiting(80);
    let held = task.hold("execution.lock");
    std::fs::write(task.path().join("execution.lock"), "{\"version\":1,\"pid\":4711}").expect("written");
    let before = task.tree();
    let started = Instant::now();
    let error = task.submit(dispatch(1), []).error();
    assert_eq!(error.code(), Code::ExecutionBusy);
    assert!(started.elapsed() >= Duration::from_millis(80), "it waited");
    assert!(error.message().contains("4711"), "the hint: {error}");
    assert!(before == task.tree(), "nothing is written");
    // A publication that is in progress has its own code, and its try-lock is let go of at once.
    let publication = task.hold("publication.lock");
    assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionPublicationBusy);
    drop(publication);
    drop(task.hold("publication.lock"));
    assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionBusy);
    drop(held);
    let _publication = task.hold("publication.lock");
    task.accepted(1);
}

#[test]
fn ex_led_68_a_lock_file_that_was_replaced_is_locked_again_on_the_new_one() {
    let task = waiting(60_000);
    let old = task.hold("execution.lock");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| task.accepted(1));
        std::thread::sleep(Duration::from_millis(60));
        std::fs::remove_file(task.path().join("execution.lock")).expect("an operator's rm");
        let new = task.hold("execution.lock");
        drop(old);
        std::thread::sleep(Duration::from_millis(150));
        assert!(!waiting.is_finished() && !task.exists("execution.json"), "the orphan's lock is not enough");
        drop(new);
        assert_eq!(waiting.join().expect("no panic")["acceptance"], "accepted");
    });
    // Within the same wait.
    let task = waiting(200);
    let old = task.hold("execution.lock");
    let started = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| task.submit(dispatch(1), []).error().code());
        std::thread::sleep(Duration::from_millis(60));
        std::fs::remove_file(task.path().join("execution.lock")).expect("an operator's rm");
        let _new = task.hold("execution.lock");
        drop(old);
        assert_eq!(waiting.join().expect("no panic"), Code::ExecutionBusy);
    });
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn ex_led_69_the_first_lock_proves_that_locks_exclude() {
    let (host, simulation) = simulated_host(1);
    simulation.files.set_locks_exclude(false);
    let boundary = simulated(0, &host);
    assert!(
        simulation.files.metadata("/task").is_err(),
        "making a boundary proves nothing and creates nothing"
    );
    assert_eq!(submit_code(&boundary), (Code::ExecutionCapability, Some("locking")));
    assert_eq!(
        simulation.files.names("/task").expect("listed"),
        ["execution.lock"],
        "nothing else is written"
    );
    assert_eq!(simulation.files.contents("/task/execution.lock").expect("there"), b"");
    let task = TaskRoot::new();
    task.machine
        .set_faults(r#"[{"on":"try_lock","repeat":true,"do":"error","errno":"EOPNOTSUPP"}]"#)
        .expect("faults");
    assert_eq!(task.submit(dispatch(1), []).refusal(), (Code::ExecutionCapability, Some("locking")));
    assert!(task.tree().is_empty());
    // The first lock is tried a second time through another open; those after it are not.
    let (host, simulation) = simulated_host(1);
    let boundary = simulated(0, &host);
    drop(in_call(&boundary, 1));
    assert_eq!(tries(&simulation), 2);
    assert_eq!(submit_code(&boundary).0, Code::ExecutionAcceptanceUnknown);
    assert_eq!(tries(&simulation), 3);
    // A first try that is refused as busy is proof enough.
    let (_, simulation) = simulated_host(1);
    let second = simulation.another_process();
    let holding = simulated(0, &second.host());
    let (holder, _) = in_call(&holding, 1);
    let boundary = simulated(0, &simulation.host());
    assert_eq!(submit_code(&boundary).0, Code::ExecutionBusy);
    drop(holder);
    assert_eq!(tries(&simulation), 1);
    assert_eq!(submit_code(&boundary).0, Code::ExecutionAcceptanceUnknown);
    assert_eq!(tries(&simulation), 2, "no second try is needed any more");
}

#[test]
fn ex_led_70_waiting_polls_by_real_time_and_ends_when_the_caller_aborts() {
    // The test's clock stands still all the while.
    let task = waiting(60_000);
    let held = task.hold("execution.lock");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| task.accepted(1));
        std::thread::sleep(Duration::from_millis(300));
        let tries = || task.machine.operations().iter().filter(|line| line.contains("try_lock")).count();
        while tries() < 5 {
            assert!(!waiting.is_finished(), "it waits");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(tries() < 20_000, "{} tries in 300 ms", tries());
        drop(held);
        let released = Instant::now();
        waiting.join().expect("no panic");
        assert!(released.elapsed() < Duration::from_secs(30), "{:?}", released.elapsed());
    });
    let held = task.hold("execution.lock");
    let abort = AbortToken::new();
    let before = task.tree();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let boundary = task.boundary();
            let mut machine = boundary.submit(object(&dispatch(2)), abort.clone());
            let Step::Done(Err(error)) = machine.start() else { panic!("it is refused") };
            (error.code(), error.reason())
        });
        std::thread::sleep(Duration::from_millis(50));
        let started = Instant::now();
        abort.abort();
        assert_eq!(waiting.join().expect("no panic"), (Code::ExecutionBusy, Some("aborted")));
        assert!(started.elapsed() < Duration::from_secs(30));
    });
    assert!(before == task.tree());
    drop(held);
    let task = waiting(100);
    let _held = task.hold("execution.lock");
    let started = Instant::now();
    assert_eq!(submit_code(&task.boundary()).0, Code::ExecutionBusy);
    assert!(started.elapsed() >= Duration::from_millis(100));
}

#[test]
fn ex_led_71_a_forked_child_refuses_and_closes_its_copies_without_unlocking() {
    let task = waiting(0);
    let boundary = task.boundary();
    let (mut machine, call) = in_call(&boundary, 1);
    let before = task.tree();
    let path = task.path().join("execution.lock");
    let has_lock = || {
        let is_it = |fd: std::fs::DirEntry| std::fs::read_link(fd.path()).is_ok_and(|found| found == path);
        std::fs::read_dir("/proc/self/fd").expect("listed").flatten().any(is_it)
    };
    assert!(has_lock(), "the parent has it");
    let outcome = in_forked_child(|| {
        let has_lock = has_lock();
        let forked = |error: &gallivant_core::Error| {
            error.code() == Code::ExecutionInput && error.reason() == Some("forked")
        };
        let started = boundary.submit(object(&dispatch_with(2, json!({}))), AbortToken::new()).start();
        let submits = matches!(started, Step::Done(Err(error)) if forked(&error));
        let replies = machine.reply(call, Reply::Value("{}".to_owned())).is_err_and(|error| forked(&error));
        let reads = boundary.inspect().is_err_and(|error| forked(&error));
        u8::from(!has_lock) + 2 * u8::from(submits) + 4 * u8::from(replies) + 8 * u8::from(reads)
    });
    assert_eq!(outcome, 15, "one bit for each of what the child found");
    assert!(before == task.tree());
    assert_eq!(submit_code(&task.boundary()).0, Code::ExecutionBusy, "the parent's lock is still held");
    let reply = Reply::Value(crate::support::task::acknowledgement(1).to_string());
    let Step::Done(Ok(_)) = machine.reply(call, reply).expect("outstanding") else {
        panic!("it is accepted")
    };
}

#[test]
fn a_token_that_has_fired_ends_a_call_before_it_begins() {
    let task = TaskRoot::new();
    let abort = AbortToken::new();
    abort.abort();
    let boundary = task.boundary();
    let mut machine = boundary.submit(object(&dispatch(1)), abort);
    let Step::Done(Err(error)) = machine.start() else { panic!("nobody is called") };
    assert_eq!((error.code(), error.reason()), (Code::ExecutionBusy, Some("aborted")));
    assert!(!task.path().exists(), "nothing is made");
}
