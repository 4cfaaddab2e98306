//! What is appended through the C interface is, byte for byte, what the core writes, and the core reads it.
#![allow(clippy::disallowed_methods, reason = "the test reads files")]

use std::ffi::c_char;
use std::path::Path;

use gallivant as c;
use gallivant_core::journal::{Event, How, Journal, LOG, LogReader, Owner, Projection, check};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::{Code, Host};

/// Every kind of event: digits beyond a double, text that is redacted, a gap, one that is told twice, one that is too long.
fn page() -> String {
    let long = "y".repeat(70_000);
    format!(
        r#"[{{"id":"a","provenance":"provider","providerSequence":18446744073709551617,"timestamp":1.5e3,"type":"output",
            "data":{{"n":9007199254740993,"pair":"\ud83d\ude00","hunter2!":[1.10,null]}}}},
           {{"id":"gap-1","provenance":"boundary","timestamp":7,"reason":"provider-gap"}},
           {{"id":"a","provenance":"provider","timestamp":7,"type":"output","data":"told twice"}},
           {{"id":"b","provenance":"local","timestamp":7,"type":"output","data":"{long}"}},
           {{"id":"c","provenance":"local","timestamp":7,"type":"hunter2!","data":"last"}}]"#
    )
}

fn view(text: &str) -> c::gallivant_str {
    c::gallivant_str { data: text.as_ptr().cast::<c_char>(), length: text.len() }
}

/// Appends a page as a C program does, and answers where each event stands.
fn append_through_c(directory: &Path, page: &str) -> Vec<c::gallivant_journal_placed> {
    let directory = directory.to_str().expect("UTF-8");
    let none = c::gallivant_str { data: std::ptr::null(), length: 0 };
    let owner = c::gallivant_journal_owner {
        struct_size: size_of::<c::gallivant_journal_owner>(),
        task_id: view("t-1"),
        run_id: view("run-1"),
        provider: view("prov"),
        provider_job_id: view("job-1"),
        turn_id: none,
    };
    let secrets = [view("hunter2!")];
    let mut placed = vec![c::gallivant_journal_placed::default(); 5];
    let (mut redactor, mut journal) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (no_host, no_error) = (std::ptr::null(), std::ptr::null_mut());
    // SAFETY: every pointer points to a local variable of its type, or is null where that is allowed.
    unsafe {
        let built = c::gallivant_redactor_new(secrets.as_ptr(), 1, &raw mut redactor, no_error);
        assert_eq!(built, c::GALLIVANT_OK);
        let (path, length) = (directory.as_ptr().cast(), directory.len());
        let opened = c::gallivant_journal_open(
            path,
            length,
            &raw const owner,
            redactor,
            no_host,
            &raw mut journal,
            no_error,
        );
        assert_eq!(opened, c::GALLIVANT_OK);
        let (events, length) = (page.as_ptr().cast(), page.len());
        let (places, room) = (placed.as_mut_ptr(), placed.len());
        let appended = c::gallivant_journal_append(
            journal,
            events,
            length,
            places,
            room,
            std::ptr::null_mut(),
            no_error,
        );
        assert_eq!(appended, c::GALLIVANT_OK);
        c::gallivant_journal_free(journal);
        c::gallivant_redactor_free(redactor);
    }
    placed
}

#[test]
fn ex_jrn_03_a_page_appended_from_c_is_byte_for_byte_that_of_the_core() {
    let (ours, theirs) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let placed = append_through_c(theirs.path(), &page());
    let owner = Owner {
        task_id: "t-1".to_owned(),
        run_id: "run-1".to_owned(),
        provider: "prov".to_owned(),
        job_id: Some("job-1".to_owned()),
        turn_id: None,
    };
    let host = Host::system();
    let redactor = Redactor::new(&Secrets::lenient(["hunter2!"]), Patterns::Recognised).expect("a small one");
    let mut journal = Journal::open(ours.path(), owner.clone(), &host, &redactor).expect("opens");
    let events = Event::page_from_json(&page()).expect("a page");
    let appended = journal.append(&events).expect("appended");
    for name in [LOG, "journal.json"] {
        let read = |directory: &Path| std::fs::read_to_string(directory.join(name)).expect("read");
        assert_eq!(read(theirs.path()), read(ours.path()), "{name}");
    }
    let number = |how| match how {
        How::Recorded => c::GALLIVANT_PLACED_RECORDED,
        How::Oversized => c::GALLIVANT_PLACED_OVERSIZED,
        How::Known => c::GALLIVANT_PLACED_KNOWN,
    };
    let told: Vec<_> = placed.iter().map(|placed| (placed.sequence, placed.how)).collect();
    let wanted: Vec<_> = appended.placed.iter().map(|placed| (placed.sequence, number(placed.how))).collect();
    assert_eq!(told, wanted);
    assert_eq!(told.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(), [1, 2, 1, 3, 4]);
    // What C has written the core reads, goes on with, and projects.
    let checked = check(theirs.path(), &host).expect("checked");
    assert_eq!((checked.end, checked.records, checked.gaps.len()), (appended.end, 2, 2));
    let mut journal = Journal::open(theirs.path(), owner, &host, &redactor).expect("opens");
    let again = journal.append(&events).expect("appended");
    assert!(again.placed.iter().all(|placed| placed.how == How::Known));
    Projection::open(theirs.path(), &host).expect("opens").catch_up().expect("projected");
    let rows = LogReader::open(theirs.path(), &host).expect("opens").tail().expect("read").rows;
    let shown: Vec<_> = rows.iter().map(gallivant_core::journal::Row::to_json).collect();
    assert_eq!(shown[3], r#"{"id":"4","kind":"line","text":"last"}"#);
    assert_eq!(shown[1..3], [r#"{"id":"2","kind":"gap"}"#, r#"{"id":"3","kind":"gap"}"#]);
    assert!(shown[0].contains(r#"\"n\":9007199254740993"#) && !shown[0].contains("hunter2"), "{}", shown[0]);
}

#[test]
fn ex_jrn_61_the_longest_frame_fits_the_capacity_of_the_header() {
    // An older package's line, of which an id is longest, that takes as much as a line may.
    let directory = tempfile::tempdir().expect("a directory");
    let longest = "z".repeat(gallivant_core::journal::MAX_LINE_BYTES as usize - 2);
    let lines = format!("{}\n{longest}\n", "early\n".repeat(50_000));
    std::fs::write(directory.path().join("job.log"), lines).expect("written");
    let mut replay =
        gallivant_core::journal::Replay::open(directory.path(), None, &Host::system()).expect("opens");
    let mut most = 0;
    while let Some(frame) = replay.poll().expect("polled") {
        most = most.max(frame.id.map_or(0, |id| id.len() + 1) + frame.data.len() + 1);
    }
    assert!(most > 65_536 && most + 16 <= c::GALLIVANT_REPLAY_FRAME_CAPACITY, "{most}");
    let never = LogReader::open(directory.path(), &Host::system()).expect("opens").history("1");
    assert_eq!(never.expect_err("a suffix has other ids").code(), Code::ExecutionInput);
}
