//! EX-JRN-32 to EX-JRN-37: the queue of earlier local runs, and what a pass serves.

use std::time::Duration;

use gallivant_core::Code;
use gallivant_core::journal::{LocalRun, OutputPoint, OutputQueue, Source};
use gallivant_core::redaction::Secrets;
use gallivant_core::testing::{Errno, Fault, OperationKind, Simulation, simulated_host};

use crate::support::output::{DAY, ENDED, LIVE, local_owner, redactions, said_in};

const QUEUE: &str = "/task/local-output-queue.json";

/// A task whose runs have said this.
fn task(runs: &[(&str, &str)]) -> Simulation {
    let (_, machine) = simulated_host(11);
    machine.files.plant_directory("/task").expect("planted");
    for (run, raw) in runs {
        machine.files.plant_directory(format!("/task/{run}")).expect("planted");
        plant(&machine, run, "provider.log", raw);
        plant(&machine, run, "sensitive-redactions.json", &redactions(&[]));
    }
    machine
}

fn plant(machine: &Simulation, run: &str, name: &str, text: &str) {
    machine.files.plant_file(format!("/task/{run}/{name}"), text).expect("planted");
}

fn queue(machine: &Simulation) -> OutputQueue {
    OutputQueue::open("/task", &machine.host()).expect("opens")
}

fn stands(machine: &Simulation) -> String {
    String::from_utf8(machine.files.contents(QUEUE).unwrap_or_default()).expect("UTF-8")
}

fn said(machine: &Simulation, run: &str) -> usize {
    said_in(&machine.files, &format!("/task/{run}/events.jsonl")).len()
}

fn source(live: &'static str) -> impl FnMut(&str) -> gallivant_core::Result<Source> {
    move |run_id| {
        let run: LocalRun = if run_id == live { LIVE } else { ENDED };
        Ok(Source { run, owner: local_owner(run_id), secrets: Secrets::none() })
    }
}

fn pass(machine: &Simulation, current: Option<&'static str>) -> gallivant_core::Result<(u64, u64)> {
    let pass = queue(machine).pass(current, &mut source(current.unwrap_or_default()))?;
    let bytes =
        |served: Option<(String, gallivant_core::journal::Served)>| served.map_or(0, |turn| turn.1.bytes);
    Ok((bytes(pass.queued), bytes(pass.current)))
}

#[test]
fn ex_sea_07_the_points_of_a_page_lie_behind_what_is_durable() {
    let machine = task(&[("a", "x\n")]);
    let mut reached = Vec::new();
    let mut at = |point: OutputPoint| {
        reached.push((point.name(), said(&machine, "a")));
        if point == OutputPoint::Events {
            return Err(gallivant_core::Error::new(Code::ExecutionIo, "a test says so"));
        }
        Ok(())
    };
    queue(&machine).pass_at(Some("a"), &mut source("a"), &mut at).expect_err("it fails at the point");
    assert_eq!(reached, [("output.page", 0), ("output.events", 1)]);
    // The page stands and goes on: its events are there once.
    pass(&machine, Some("a")).expect("served");
    assert_eq!(said(&machine, "a"), 1);
}

#[test]
fn ex_jrn_32_the_file_is_a_version_and_the_runs_in_order() {
    let machine = task(&[("a", "x\n"), ("b", "y\n")]);
    assert!(queue(&machine).runs().expect("read").is_empty());
    assert!(queue(&machine).hold("b", ENDED).expect("held"));
    assert!(queue(&machine).hold("a", ENDED).expect("held"));
    assert_eq!(stands(&machine), "{\"version\":1,\"runs\":[\"b\",\"a\"]}\n");
    assert_eq!(machine.files.metadata(QUEUE).expect("it stands").mode & 0o777, 0o600);
    // Held twice it is there once, and nothing is written.
    let next = machine.another_process();
    assert!(queue(&next).hold("b", ENDED).expect("held"));
    assert_eq!(next.files.counts().get(&OperationKind::Create), None);
    // What a later package wrote stays.
    machine.files.plant_file(QUEUE, "{\"version\":1,\"runs\":[\"a\"],\"later\":{\"b\":1}}").expect("planted");
    queue(&machine).hold("b", ENDED).expect("held");
    assert_eq!(stands(&machine), "{\"version\":1,\"runs\":[\"a\",\"b\"],\"later\":{\"b\":1}}\n");
}

#[test]
fn ex_jrn_33_an_old_run_is_held_as_long_as_anything_of_it_is_left() {
    // Not taken in; drained with its files; empty; only the redaction data; nothing at all.
    let machine = task(&[("full", "x\n"), ("drained", "x\n"), ("empty", ""), ("rest", ""), ("gone", "x\n")]);
    for run in ["drained", "gone"] {
        pass(&machine, Some(run)).expect("served");
        pass(&machine, Some(run)).expect("served");
    }
    machine.files.unplant("/task/rest/provider.log").expect("removed");
    for name in ["provider.log", "sensitive-redactions.json"] {
        machine.files.unplant(format!("/task/gone/{name}")).expect("removed");
    }
    for (run, held) in [("full", true), ("drained", true), ("empty", true), ("rest", true), ("gone", false)] {
        assert_eq!(queue(&machine).hold(run, ENDED).expect("held"), held, "{run}");
    }
    assert_eq!(queue(&machine).runs().expect("read"), ["full", "drained", "empty", "rest"]);
    // It is durable once it has returned.
    for image in machine.files.images_after_crash().seeded(5, 16) {
        assert_eq!(image.files.contents(QUEUE).unwrap_or_default(), stands(&machine).as_bytes());
    }
    assert!(!queue(&machine).hold("never-was", ENDED).expect("nothing to hold"));
    assert_eq!(queue(&machine).hold("../task", ENDED).expect_err("no name").code(), Code::ExecutionInput);
}

#[test]
fn ex_jrn_34_a_queue_that_cannot_be_believed_or_saved_refuses_a_new_intent() {
    let refused = |text: &str, code: Code| {
        let machine = task(&[("a", "x\n"), ("old", "x\n")]);
        machine.files.plant_file(QUEUE, text).expect("planted");
        for error in [
            queue(&machine).check().expect_err(text),
            queue(&machine).hold("old", ENDED).expect_err(text),
            pass(&machine, None).expect_err(text),
        ] {
            assert_eq!(error.code(), code, "{text}");
            assert!(error.remedy().contains("matching") && !error.message().contains('\n'), "{text}");
        }
        assert_eq!(stands(&machine), text, "kept");
        assert!(machine.files.contents("/task/old/provider.log").is_ok(), "diagnostics are kept");
    };
    for version in ["2", "\"1\"", "1.5", "null"] {
        refused(&format!("{{\"version\":{version},\"runs\":[]}}"), Code::ExecutionVersion);
    }
    refused("{\"runs\":[]}", Code::ExecutionVersion);
    for runs in ["null", "{}", "[7]", "[\"\"]", "[\"..\"]", "[\"a/b\"]", "[\"a\",\"a\"]"] {
        refused(&format!("{{\"version\":1,\"runs\":{runs}}}"), Code::ExecutionQueue);
    }
    for text in ["", "[]", "{\"version\":1,\"runs\":[\"a\""] {
        refused(text, Code::ExecutionQueue);
    }
    // The cursor of a run that waits, and that of the run that is to wait.
    for run in ["a", "old"] {
        let machine = task(&[("a", "x\n"), ("old", "x\n")]);
        queue(&machine).hold("a", ENDED).expect("held");
        let before = stands(&machine);
        plant(
            &machine,
            run,
            "local-output.json",
            "{\"version\":1,\"cursor\":-4,\"pending\":true,\"discarding\":false}",
        );
        let error = queue(&machine).hold("old", ENDED).expect_err("refused");
        assert_eq!((error.code(), error.reason()), (Code::ExecutionQueue, Some("output-state")));
        assert_eq!(queue(&machine).check().is_err(), run == "a");
        assert_eq!(stands(&machine), before);
    }
    // It cannot be saved.
    for kind in [OperationKind::Create, OperationKind::Write, OperationKind::Sync, OperationKind::Rename] {
        let machine = task(&[("old", "x\n")]);
        machine.files.set_faults([Fault::error_on(kind, Errno::ENOSPC)]);
        let error = queue(&machine).hold("old", ENDED).expect_err("refused");
        assert_eq!(
            (error.code(), error.reason(), error.os_error()),
            (Code::ExecutionQueue, Some("io"), Some(28))
        );
        assert_eq!(stands(&machine), "");
    }
}

#[test]
fn ex_jrn_35_a_pass_serves_the_first_queued_run_and_the_current_one() {
    let raw = "x\n".repeat(150);
    let machine = task(&[("a", &raw), ("b", &raw), ("now", &raw)]);
    for run in ["a", "b"] {
        queue(&machine).hold(run, ENDED).expect("held");
    }
    assert_eq!(pass(&machine, Some("now")).expect("served"), (200, 200));
    assert_eq!(["a", "b", "now"].map(|run| said(&machine, run)), [100, 0, 100]);
    // Without a current run the queue is served all the same.
    assert_eq!(pass(&machine, None).expect("served"), (200, 0));
    assert_eq!(["a", "b", "now"].map(|run| said(&machine, run)), [100, 100, 100]);
    // A current run that stands first in the queue is served once, and a pass has at most two pages.
    assert_eq!(pass(&machine, Some("a")).expect("served"), (100, 0));
    assert_eq!(said(&machine, "a"), 150);
    // One that cannot be served holds up neither the current run nor those behind it.
    plant(&machine, "b", "local-output.json", "{\"version\":1,\"cursor\":-4}");
    assert_eq!(queue(&machine).runs().expect("read"), ["b", "a"]);
    assert_eq!(pass(&machine, Some("now")).expect_err("b").code(), Code::ExecutionQueue);
    assert_eq!(said(&machine, "now"), 150);
    assert_eq!(queue(&machine).runs().expect("read"), ["a", "b"]);
}

#[test]
fn ex_jrn_37_a_served_run_goes_to_the_end_and_leaves_with_its_last_file() {
    let raw = "x\n".repeat(150);
    let machine = task(&[("a", &raw), ("b", "y\n")]);
    for run in ["a", "b"] {
        queue(&machine).hold(run, ENDED).expect("held");
        plant(&machine, run, "result.json", "{\"version\":1}");
    }
    let order = |machine: &Simulation| queue(machine).runs().expect("read").concat();
    let mut orders = Vec::new();
    for _ in 0..4 {
        pass(&machine, None).expect("served");
        orders.push(order(&machine));
    }
    assert_eq!(orders, ["ba", "ab", "ba", "ab"], "drained, and the private files are there");
    machine.clock.advance(Duration::from_millis(DAY));
    pass(&machine, None).expect("served");
    assert_eq!(order(&machine), "b");
    // Where one file cannot go it stays, and nothing is written for a queue of one.
    machine.files.set_faults([Fault::error_on(OperationKind::Remove, Errno::EIO)]);
    pass(&machine, None).expect("served");
    machine.files.set_faults([]);
    assert_eq!(order(&machine), "b");
    pass(&machine, None).expect("served");
    assert_eq!(stands(&machine), "{\"version\":1,\"runs\":[]}\n");
    assert_eq!((said(&machine, "a"), said(&machine, "b")), (150, 1));
    // A run whose directory is gone leaves too.
    machine.files.plant_file(QUEUE, "{\"version\":1,\"runs\":[\"gone\"]}").expect("planted");
    pass(&machine, None).expect("served");
    assert_eq!(order(&machine), "");
}
