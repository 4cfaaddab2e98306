//! A publication on a disk that crashes: what is durable before each call is handed out, and every operation of it failing or
//! being the last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use gallivant_core::execution::{Boundary, NoFaults};
use gallivant_core::testing::{
    Action, CrashImage, Errno, Fault, FaultyFileSystem, Point, Simulation, simulated_host,
};
use gallivant_core::{Code, Error};
use serde_json::{Value as Json, json};

use crate::boundary::{ROOT, boundary};
use crate::execution::some;
use crate::support::publication::{Field, plan};
use crate::support::task::TaskRoot;

/// The files of a task whose run may be published, made once on the real disk.
fn prepared() -> (BTreeMap<String, Vec<u8>>, Json) {
    let task = TaskRoot::publishable(json!({}));
    (task.tree(), task.options.clone())
}

/// A machine on which those files are durable.
fn machine(files: &BTreeMap<String, Vec<u8>>) -> Simulation {
    let (_, machine) = simulated_host(3);
    machine.files.plant_directory(ROOT).expect("planted");
    for (path, bytes) in files {
        match path.strip_suffix('/') {
            Some(directory) => machine.files.plant_directory(format!("{ROOT}/{directory}")),
            None => machine.files.plant_file(format!("{ROOT}/{path}"), bytes.clone()),
        }
        .expect("planted");
    }
    machine.clock.advance(std::time::Duration::from_secs(60 * 60 * 24 * 365 * 60));
    machine.files.sync_everything();
    machine
}

fn opened(machine: &Simulation, options: &Json) -> Boundary {
    boundary(ROOT, options, &machine.host(), Arc::new(NoFaults))
}

/// The checkpoint as a disk holds it, which is whole; null where there is none.
fn checkpoint(files: &FaultyFileSystem) -> Json {
    let path = format!("{ROOT}/run-1/result-application.json");
    files.contents(path).map_or(Json::Null, |bytes| serde_json::from_slice(&bytes).expect("it is whole"))
}

fn field(machine: &Simulation) -> Field {
    Field { disk: Some(machine.files.clone()), ..Field::new() }
}

#[track_caller]
fn check(field: &Field, at: &str) {
    assert!(field.commits <= 1 && field.pushes <= 1 && field.pull_requests.len() <= 1, "{at}: {field:?}");
    assert!(field.ran.values().all(|count| *count <= 1), "{at}: a command ran twice");
}

/// Publishes again on a machine that is well.
#[track_caller]
fn resume(machine: &Simulation, options: &Json, field: &mut Field, at: &str) -> Json {
    field.disk = Some(machine.files.clone());
    let boundary = opened(machine, options);
    let answer = field.publish(&boundary, &plan()).expect("nobody is gone");
    check(field, at);
    let answer = answer.unwrap_or_else(|error: Error| panic!("{at}: {error}"));
    match answer["status"].as_str() {
        Some("published") => {
            assert_eq!((field.commits, field.pushes, field.pull_requests.len()), (1, 1, 1), "{at}");
        }
        _ => {
            assert_eq!(answer["reason"], "verification-interrupted", "{at}");
            assert_eq!(field.pushes, 0, "{at}");
        }
    }
    answer
}

/// How many operations a publication makes when nothing fails.
fn undisturbed(files: &BTreeMap<String, Vec<u8>>, options: &Json) -> u64 {
    let machine = machine(files);
    let mut field = field(&machine);
    let boundary = opened(&machine, options);
    let answer = field.publish(&boundary, &plan()).expect("nobody is gone").expect("published");
    assert_eq!(answer["status"], "published");
    machine.files.last_number()
}

#[test]
fn publication_ex_art_38_what_a_call_relies_on_is_durable_before_it_is_handed_out() {
    let (files, options) = prepared();
    let machine = machine(&files);
    let mut field = field(&machine);
    let mut images = 0;
    let boundary = opened(&machine, &options);
    let mut expected = |call: &str, field: &mut Field| {
        let wanted = match (call, field.called("verification.verify")) {
            ("git.apply" | "git.commit", _) => "applying",
            ("verification.verify", _) => "verifying",
            ("git.state" | "coordinator.entryStopped", 0) => "",
            _ => "verified",
        };
        for CrashImage { description, files } in machine.files.images_after_crash().seeded(1, 16) {
            images += 1;
            let found = checkpoint(&files);
            assert_eq!(found["status"].as_str().unwrap_or_default(), wanted, "{call}, {description}");
            assert!(wanted != "verifying" || found["appliedHead"].is_string(), "{call}, {description}");
        }
    };
    field.publish_watched(&boundary, &plan(), &mut expected).expect("nobody is gone").expect("published");
    for CrashImage { description, files } in machine.files.images_after_crash().seeded(1, 16) {
        assert_eq!(checkpoint(&files)["status"], "published", "{description}");
    }
    assert!(images > 10, "only {images} images");
}

#[test]
fn publication_recovers_from_a_crash_of_process_or_machine_at_every_operation() {
    let (files, options) = prepared();
    let (mut points, mut images, mut published) = (0, 0, 0);
    for number in 1..=undisturbed(&files, &options) {
        let machine = machine(&files);
        machine.files.set_faults([Fault::crash_after(number)]);
        let mut before = field(&machine);
        let boundary = opened(&machine, &options);
        let alive = machine.files.clone();
        let _ = before.publish_while(&boundary, &plan(), &mut |_, _| !alive.is_dead());
        drop(boundary);
        points += 1;
        check(&before, &format!("operation {number}"));
        // Before anybody goes on upon this disk.
        for CrashImage { description, files } in some(machine.files.images_after_crash().seeded(number, 2)) {
            images += 1;
            let at = format!("operation {number}, {description}");
            resume(&machine.rebooted(&files), &options, &mut before.clone(), &at);
        }
        let at = format!("operation {number}, the process");
        let answer = resume(&machine.another_process(), &options, &mut before, &at);
        published += u32::from(answer["status"] == "published");
    }
    println!(
        "publication: {points} operations, {images} images, {published} published after the process died"
    );
    assert!(points > 40 && images > 60 && published > 20, "{points} {images} {published}");
}

#[test]
fn publication_ex_art_48_every_operation_that_fails_is_an_error_that_claims_nothing() {
    let (files, options) = prepared();
    let mut failed = 0;
    for number in 1..=undisturbed(&files, &options) {
        for errno in [Errno::EIO, Errno::ENOSPC] {
            let Ok(fault) = Fault::new(Point::at(number), Action::Error(errno)) else { continue };
            let machine = machine(&files);
            machine.files.set_faults([fault]);
            let mut field = field(&machine);
            let boundary = opened(&machine, &options);
            let outcome = field.publish(&boundary, &plan()).expect("nobody is gone");
            let at = format!("operation {number} fails with {errno:?}");
            check(&field, &at);
            match outcome {
                Ok(answer) => assert_eq!(answer["status"], "published", "{at}"),
                Err(error) => {
                    failed += 1;
                    let known = [Code::ExecutionIo, Code::ExecutionCapability];
                    assert!(known.contains(&error.code()) && !error.remedy().is_empty(), "{at}: {error:?}");
                    let is_blocked = checkpoint(&machine.files)["status"] == "blocked";
                    assert!(!is_blocked, "{at}: an error of the disk is no block");
                }
            }
            machine.files.set_faults([]);
            resume(&machine, &options, &mut field, &at);
        }
    }
    assert!(failed > 20, "only {failed} calls failed");
}
