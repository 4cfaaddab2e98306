//! EX-JRN-38, EX-JRN-46 to EX-JRN-49, EX-JRN-51 and EX-JRN-52: what is lost, what expires, what is refused.

use std::time::Duration;

use gallivant_core::journal::{
    LocalRun, LogReader, Next, Projection, RowContent, check, read_run_result, retention_candidates,
};
use gallivant_core::testing::{Action, Errno, Fault, OperationKind, Point, Simulation};
use gallivant_core::{Code, Result};

use crate::support::output::{
    DAY, ENDED, LIVE, RAW, REDACTIONS, RESULT, STARTED, STATE, drain, output, redactions, said, say, serve,
    stands, state, with_output,
};
use crate::support::run::{LOG, RUN};

const A_RESULT: &str = "{\"version\":1,\"outcome\":{\"finished\":true,\"ok\":true}}";

fn expire(machine: &Simulation) {
    machine.clock.advance(Duration::from_millis(DAY));
}

fn is_there(machine: &Simulation, path: &str) -> bool {
    machine.files.metadata(path).is_ok()
}

#[test]
fn ex_jrn_38_of_a_drained_run_only_the_expiry_is_looked_at() {
    let machine = with_output("one\ntwo\n");
    drain(&machine, ENDED);
    let (log, before) = (machine.files.contents(LOG).expect("a log"), machine.files.contents(STATE).ok());
    let next = machine.another_process();
    let served = serve(&next, ENDED).expect("served");
    assert_eq!((served.records, served.bytes, served.is_left), (0, 0, true));
    let counts = next.files.counts();
    for kind in [OperationKind::ReadAt, OperationKind::WriteAt, OperationKind::Create, OperationKind::Rename]
    {
        assert_eq!(counts.get(&kind), None, "{:?}", next.files.trace());
    }
    assert_eq!(
        (machine.files.contents(LOG).expect("a log"), machine.files.contents(STATE).ok()),
        (log, before)
    );
}

#[test]
fn ex_jrn_46_the_private_files_live_a_day_from_the_start_of_the_run() {
    for (redactions, lived_ms, goes) in [
        (Some(redactions(&[])), DAY - 1, false),
        (Some(redactions(&[])), DAY, true),
        // The file's own expiry counts, and the start of the run where there is none to be read.
        (Some(format!("{{\"version\":1,\"expiresAt\":{}}}", STARTED + 500)), 500, true),
        (Some("{\"version\":1,\"expi".to_owned()), DAY - 1, false),
        (None, DAY - 1, false),
        (None, DAY, true),
    ] {
        let machine = with_output("one\n");
        drain(&machine, ENDED);
        machine.files.plant_file(RESULT, A_RESULT).expect("planted");
        match &redactions {
            Some(text) => machine.files.plant_file(REDACTIONS, text.as_str()).expect("planted"),
            None => machine.files.unplant(REDACTIONS).expect("removed"),
        }
        machine.clock.advance(Duration::from_millis(lived_ms));
        let served = serve(&machine, ENDED).expect("served");
        assert_eq!((served.is_left, is_there(&machine, RAW)), (!goes, !goes), "{redactions:?} {lived_ms}");
        assert_eq!(is_there(&machine, REDACTIONS), !goes && redactions.is_some());
    }
}

#[test]
fn ex_jrn_47_they_go_only_behind_a_durable_result_and_are_tried_again() {
    let machine = with_output("one\n");
    drain(&machine, ENDED);
    expire(&machine);
    assert!(serve(&machine, ENDED).expect("served").is_left, "no result");
    assert!(is_there(&machine, RAW) && is_there(&machine, REDACTIONS));
    machine.files.plant_file(RESULT, A_RESULT).expect("planted");
    for name in ["provider.log", "sensitive-redactions.json"] {
        let fault = Fault::new(Point::on(OperationKind::Remove).named(name), Action::Error(Errno::EIO));
        machine.files.set_faults([fault.expect("a fault")]);
        assert!(serve(&machine, ENDED).expect("a failed removal is no error").is_left, "{name}");
        machine.files.set_faults([]);
    }
    assert!(is_there(&machine, REDACTIONS));
    assert!(!serve(&machine, ENDED).expect("served").is_left);
    assert!(!is_there(&machine, RAW) && !is_there(&machine, REDACTIONS));
    assert_eq!(said(&machine), ["0:one"], "what goes after it was taken in is no gap");
    // What was not taken in yet is not removed from under the reader either: the gap comes first.
    let machine = with_output("one\n");
    machine.files.plant_file(RESULT, A_RESULT).expect("planted");
    expire(&machine);
    assert!(!serve(&machine, ENDED).expect("served").is_left);
    assert_eq!(said(&machine), ["0!local-output-expired"]);
}

/// A process that died between the rename and the sync of the directory leaves a result that a crash may take back.
#[test]
fn ex_jrn_47_a_result_whose_name_is_not_durable_is_made_so_before_anything_goes() {
    let removal = Fault::new(Point::on(OperationKind::Remove).named("provider.log"), Action::CrashAfter);
    for fault in [Vec::new(), vec![removal.expect("a fault")]] {
        let machine = with_output("one\n");
        drain(&machine, ENDED);
        machine.files.sync_everything();
        let run = machine.host().files.open(RUN.as_ref()).expect("opens");
        let mut staged = run.create("staged").expect("created");
        staged.write_all(A_RESULT.as_bytes()).and_then(|()| staged.sync()).expect("written");
        run.rename("staged", "result.json").expect("renamed");
        expire(&machine);
        machine.files.set_faults(fault);
        let _ = serve(&machine, ENDED);
        for image in machine.files.images_after_crash().seeded(3, 16) {
            let gone = image.files.contents(RAW).is_err();
            assert!(!gone || image.files.contents(RESULT).is_ok(), "{}", image.description);
        }
    }
}

/// What is taken in after `prepare` has changed a run of which 4 bytes were taken in and 4 were not.
fn lost(run: LocalRun, prepare: impl FnOnce(&Simulation)) -> Simulation {
    let machine = with_output("one\n");
    drain(&machine, LIVE);
    say(&machine, "one\ntwo\n");
    output(&machine).note_pending().expect("noted");
    prepare(&machine);
    for _ in 0..3 {
        serve(&machine, run).expect("served");
    }
    machine
}

#[test]
fn ex_jrn_48_what_cannot_be_taken_in_is_one_gap_with_its_reason() {
    type Prepare = fn(&Simulation);
    let cases: [(&str, Prepare); 6] = [
        ("local-output-expired", expire),
        ("local-output-missing", |machine| machine.files.unplant(RAW).expect("removed")),
        ("local-output-truncated", |machine| say(machine, "on")),
        ("redaction-missing", |machine| machine.files.unplant(REDACTIONS).expect("removed")),
        ("redaction-missing", |machine| {
            machine.files.plant_file(REDACTIONS, "{\"version\":1,\"expiresAt\":1").expect("planted");
        }),
        ("redaction-missing", |machine| {
            let text = format!("{{\"version\":1,\"expiresAt\":{},\"secrets\":[7]}}", STARTED + DAY);
            machine.files.plant_file(REDACTIONS, text).expect("planted");
        }),
    ];
    for (reason, prepare) in cases {
        for run in [LIVE, ENDED] {
            let machine = lost(run, prepare);
            assert_eq!(said(&machine), ["0:one".to_owned(), format!("4!{reason}")], "{run:?}");
            let (cursor, pending, _, page) = state(&machine);
            assert_eq!((cursor, pending, page), (4, false, false), "{reason}");
            let next = output(&machine).next(run).expect("looked at");
            assert_eq!(next, if run.has_exited { Next::Drained } else { Next::Waiting });
            // The state is written once, and the files that remain wait for their expiry.
            let another = machine.another_process();
            let served = serve(&another, run).expect("served");
            assert_eq!(another.files.counts().get(&OperationKind::Create), None, "{reason}");
            let remains = is_there(&machine, RAW) || is_there(&machine, REDACTIONS);
            assert!(remains && served.is_left, "{reason}");
        }
    }
    // A run of which nothing was read: one that lives has not spoken yet, one that has ended has lost it.
    let machine = with_output("");
    machine.files.unplant(RAW).expect("removed");
    serve(&machine, LIVE).expect("served");
    assert!(said(&machine).is_empty());
    serve(&machine, ENDED).expect("served");
    assert_eq!(said(&machine), ["0!local-output-missing"]);
    // A page that was saved needs neither the bytes nor what they hide.
    let machine = with_output("one\n");
    let Next::Page(page) = output(&machine).next(LIVE).expect("looked at") else { panic!("no page") };
    output(&machine).save(&page).expect("saved");
    machine.files.unplant(RAW).expect("removed");
    machine.files.unplant(REDACTIONS).expect("removed");
    serve(&machine, ENDED).expect("served");
    assert_eq!(said(&machine), ["0:one"]);
}

#[test]
fn ex_jrn_49_the_public_history_survives_and_no_reader_starts_the_clean_up() -> Result<()> {
    let machine = with_output("one\ntwo\n");
    drain(&machine, ENDED);
    Projection::open(RUN, &machine.host())?.catch_up()?;
    machine.files.plant_file(RESULT, A_RESULT).expect("planted");
    expire(&machine);
    let files = || {
        let names = machine.files.names(RUN).expect("listed");
        names
            .into_iter()
            .map(|name| (machine.files.contents(format!("{RUN}/{name}")).ok(), name))
            .collect::<Vec<_>>()
    };
    let before = files();
    let texts = || {
        let rows = LogReader::open(RUN, &machine.host()).expect("opens").tail().expect("read").rows;
        rows.into_iter().map(|row| row.content).collect::<Vec<_>>()
    };
    let history = texts();
    assert_eq!(history, [RowContent::Line("one".to_owned()), RowContent::Line("two".to_owned())]);
    check(RUN, &machine.host())?;
    read_run_result(RUN, &machine.host())?.expect("a result");
    output(&machine).next(ENDED)?;
    retention_candidates("/task", &machine.host())?;
    assert_eq!(files(), before, "a reader has changed something");
    serve(&machine, ENDED)?;
    assert!(!is_there(&machine, RAW) && !is_there(&machine, REDACTIONS));
    assert_eq!(texts(), history);
    assert_eq!(machine.files.contents(RESULT).expect("a result"), A_RESULT.as_bytes());
    assert_eq!(said(&machine), ["0:one", "4:two"]);
    Ok(())
}

#[test]
fn ex_jrn_51_a_state_that_contradicts_itself_is_refused_and_kept() {
    let page = |start: &str, end: &str, events: &str| {
        format!(
            "{{\"version\":1,\"cursor\":4,\"pending\":true,\"discarding\":false,\"page\":{{\"start\":{start},\
             \"end\":{end},\"discarding\":false,\"events\":[{events}]}}}}"
        )
    };
    let plain = |cursor: &str, discarding: &str| {
        format!(
            "{{\"version\":1,\"cursor\":{cursor},\"pending\":true,\"discarding\":{discarding},\"page\":null}}"
        )
    };
    let event = |id: &str| format!("{{\"eventId\":\"{id}\",\"type\":\"output\",\"data\":\"x\"}}");
    let states = [
        plain("4", "\"no\""),
        plain("4", "null"),
        plain("4", "0"),
        plain("-1", "false"),
        plain("1.5", "false"),
        plain("\"4\"", "false"),
        plain("null", "false"),
        plain("99999999999999999999", "false"),
        "{\"version\":1}".to_owned(),
        page("0", "8", &event("byte:0")),
        page("4", "3", ""),
        page("4", "262149", ""),
        page("4", "8", &event("byte:9")),
        page("4", "8", &event("byte:04")),
        page("4", "8", &format!("{},{}", event("byte:6"), event("byte:4"))),
        page("4", "8", &event("gap-1")),
        page("4", "8", "7"),
        page("4", "4", ""),
        page("4", "4", &event("byte:4")),
    ];
    for text in &states {
        let machine = with_output("one\ntwo\n");
        stands(&machine, text);
        for error in [
            output(&machine).next(LIVE).expect_err(text),
            serve(&machine, ENDED).expect_err(text),
            output(&machine).note_pending().expect_err(text),
        ] {
            assert_eq!(
                (error.code(), error.reason()),
                (Code::ExecutionQueue, Some("output-state")),
                "{text}"
            );
            assert!(error.remedy().contains("restore"), "{}", error.remedy());
        }
        assert_eq!(machine.files.contents(STATE).expect("a state"), text.as_bytes(), "kept");
        assert!(said(&machine).is_empty());
    }
    // The version comes first, and what is no text of ours is refused like the rest.
    for version in ["2", "0", "\"1\"", "1.0", "null"] {
        let machine = with_output("one\n");
        stands(&machine, &format!("{{\"version\":{version},\"cursor\":-1}}"));
        let error = output(&machine).next(LIVE).expect_err(version);
        assert_eq!(
            (error.code(), error.reason()),
            (Code::ExecutionVersion, Some("local-output")),
            "{version}"
        );
    }
    let machine = with_output("one\n");
    stands(&machine, "{\"version\":1,\"cur");
    assert_eq!(output(&machine).next(LIVE).expect_err("torn").code(), Code::ExecutionQueue);
    stands(&machine, &page("4", "8", &event("byte:4")));
    assert!(matches!(output(&machine).next(LIVE), Ok(Next::Page(_))), "a page that fits is a page");
}

#[test]
fn ex_jrn_52_retention_candidates_are_listed_and_left_alone() {
    let machine = with_output("one\n");
    let plant =
        |path: &str, text: &str| machine.files.plant_file(format!("/task/{path}"), text).expect("planted");
    machine.files.plant_file(RESULT, A_RESULT).expect("planted");
    for run in ["run-0", "run-2", "run-3", "run-4", "run-5"] {
        machine.files.plant_directory(format!("/task/{run}")).expect("planted");
    }
    // Expired by its start alone; without a result; not expired; without private files; without a start.
    plant("run-0/provider.log", "x\n");
    plant("run-0/result.json", A_RESULT);
    plant("run-0/job.json", &format!("{{\"version\":1,\"startedAt\":{}}}", STARTED - 1));
    plant("run-2/sensitive-redactions.json", &redactions(&[]));
    plant("run-3/result.json", A_RESULT);
    plant(
        "run-3/sensitive-redactions.json",
        &format!("{{\"version\":1,\"expiresAt\":{}}}", STARTED + 9 * DAY),
    );
    plant("run-4/result.json", A_RESULT);
    plant("run-5/result.json", A_RESULT);
    plant("run-5/provider.log", "x\n");
    let listed = || retention_candidates("/task", &machine.host()).expect("listed");
    assert!(listed().is_empty(), "nothing has expired yet");
    expire(&machine);
    assert_eq!(listed(), ["run-0", "run-1"]);
    assert_eq!(listed(), ["run-0", "run-1"]);
    assert!(is_there(&machine, RAW) && is_there(&machine, REDACTIONS));
}

#[test]
fn ex_red_20_retained_secrets_stand_in_the_private_redaction_data_alone_until_it_expires() {
    // In two pages, in a line that is cut by their border, and in one that a crash leaves half taken in.
    let filler = "x".repeat(70_000);
    let raw = format!(
        "a retained-word\n{filler}\n{filler}\n{filler}\n{filler} retained-word\nretained-word again\n"
    );
    let machine = with_output(raw);
    let holders = |machine: &Simulation| -> Vec<String> {
        let names = machine.files.names(RUN).expect("listed");
        let holds = |name: &String| {
            let bytes = machine.files.contents(format!("{RUN}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains("retained-word")
        };
        names.into_iter().filter(holds).collect()
    };
    // What the provider wrote itself is raw, and goes with the redaction data.
    let private = ["provider.log", "sensitive-redactions.json"];
    let mut turns = 0;
    while let Next::Page(_) = output(&machine).next(LIVE).expect("looked at") {
        serve(&machine, LIVE).expect("served");
        turns += 1;
        let found = holders(&machine);
        assert!(found.iter().all(|name| private.contains(&name.as_str())), "{found:?}");
    }
    drain(&machine, ENDED);
    assert!(turns >= 2, "{turns}");
    assert!(said(&machine)[0].ends_with("a [redacted]"), "{:?}", said(&machine)[0]);
    machine.files.plant_file(RESULT, A_RESULT).expect("planted");
    expire(&machine);
    serve(&machine, ENDED).expect("served");
    assert_eq!(holders(&machine), [""; 0]);
    assert!(!is_there(&machine, REDACTIONS));
}
