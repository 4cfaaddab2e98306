//! EX-JRN-06, EX-JRN-11, EX-JRN-12, EX-JRN-82 and EX-JRN-87: how a page is appended, and what an append costs.

use std::path::Path;

use gallivant_core::journal::{
    AppendPoint, Appended, CHECKPOINT as CHECKPOINT_NAME, Event, GapReason, How, Journal, LOG as LOG_NAME,
    MAX_BATCH_BYTES, Position, Provenance, check,
};
use gallivant_core::json::Number;
use gallivant_core::testing::{Fault, OperationKind, Simulation};
use gallivant_core::{Code, digest};

use crate::support::run::{
    CHECKPOINT, LOG, RUN, acknowledged, append, event, hiding, journal, log, machine, owner, page, rows,
};

pub(crate) fn text(machine: &Simulation) -> String {
    String::from_utf8(log(&machine.files)).expect("UTF-8")
}

pub(crate) fn lines(machine: &Simulation) -> Vec<serde_json::Value> {
    text(machine).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

pub(crate) fn numbers(appended: &Appended) -> Vec<u64> {
    appended.placed.iter().map(|placed| placed.sequence).collect()
}

pub(crate) fn ids(machine: &Simulation) -> Vec<String> {
    rows(&machine.files).into_iter().map(|row| row.event_id).collect()
}

/// How many of these operations there are on a name that begins so.
pub(crate) fn count(machine: &Simulation, kind: OperationKind, name: &str) -> usize {
    let on = |text: &str| text.split(' ').nth(1).is_some_and(|found| found.starts_with(name));
    machine
        .files
        .operations()
        .iter()
        .filter(|operation| operation.kind == kind && on(&operation.text))
        .count()
}

#[test]
fn ex_jrn_06_an_event_is_appended_once_in_a_page_and_over_restarts() {
    let machine = machine();
    let first = append(&machine, &page(&["a", "b", "a"])).expect("appended");
    assert_eq!(numbers(&first), [1, 2, 1]);
    assert_eq!(
        first.placed.iter().map(|placed| placed.how).collect::<Vec<_>>(),
        [How::Recorded, How::Recorded, How::Known]
    );
    // Another process, and the data does not count.
    let second = append(&machine.another_process(), &[event("b", "other"), event("c", "x"), event("a", "")]);
    assert_eq!(numbers(&second.expect("appended")), [2, 3, 1]);
    assert_eq!(ids(&machine), ["a", "b", "c"]);
}

#[test]
fn ex_jrn_06_known_pages_write_and_sync_nothing() {
    let machine = machine();
    let known: Vec<String> = (0..100).map(|number| format!("e{number}")).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut journal = journal(&machine);
    journal.append(&page(&known)).expect("appended");
    machine.files.forget_operations();
    let appended = journal.append(&page(&known)).expect("known");
    assert!(appended.placed.iter().all(|placed| placed.how == How::Known));
    let writing: Vec<_> =
        machine.files.operations().into_iter().filter(|operation| operation.kind.is_mutating()).collect();
    assert!(writing.is_empty(), "{writing:?}");
}

#[test]
fn ex_jrn_11_a_batch_is_announced_with_all_its_records_before_any_byte_of_them() {
    let machine = machine();
    append(&machine, &page(&["old"])).expect("appended");
    let (offset, ..) = acknowledged(&machine.files);
    let mut journal = journal(&machine);
    let second = Event {
        provider_sequence: Number::parse("5"),
        ..Event::gap("g", GapReason::Provider, Provenance::Boundary)
    };
    let mut under_way = journal.begin(&[event("a", "x"), second]).expect("begun");
    assert_eq!(journal.advance(&mut under_way).expect("goes on"), Some(AppendPoint::Pending));
    let text = String::from_utf8(machine.files.contents(CHECKPOINT).expect("a checkpoint")).expect("UTF-8");
    let key = |id: &str| digest::hex(&owner().replay_key(id));
    assert_eq!(
        text,
        format!(
            "{{\"version\":1,\"offset\":{offset},\"sequence\":1,\"pending\":{{\"offset\":{offset},\"sequence\":2,\
             \"records\":[{{\"eventId\":\"a\",\"key\":\"{}\",\"providerSequence\":null,\"provenance\":\"provider\"}},\
             {{\"eventId\":\"g\",\"key\":\"{}\",\"providerSequence\":5,\"provenance\":\"boundary\"}}]}}}}\n",
            key("a"),
            key("g")
        )
    );
    assert_eq!(machine.files.contents(LOG).expect("a log").len() as u64, offset, "no byte of them");
    while journal.advance(&mut under_way).expect("goes on").is_some() {}
    let text = String::from_utf8(machine.files.contents(CHECKPOINT).expect("a checkpoint")).expect("UTF-8");
    let length = machine.files.contents(LOG).expect("a log").len();
    assert_eq!(text, format!("{{\"version\":1,\"offset\":{length},\"sequence\":3,\"pending\":null}}\n"));
}

#[test]
fn ex_jrn_11_members_that_are_not_known_are_kept_on_rewrite() {
    let machine = machine();
    append(&machine, &page(&["a"])).expect("appended");
    let (offset, ..) = acknowledged(&machine.files);
    let extra = r#""later":{"a":[1,18446744073709551617]},"other":"ä""#;
    let text = format!("{{\"version\":1,\"offset\":{offset},\"sequence\":1,\"pending\":null,{extra}}}\n");
    machine.files.plant_file(CHECKPOINT, text).expect("planted");
    append(&machine, &page(&["b"])).expect("appended");
    let text = String::from_utf8(machine.files.contents(CHECKPOINT).expect("a checkpoint")).expect("UTF-8");
    assert!(text.ends_with(&format!("\"pending\":null,{extra}}}\n")), "{text}");
}

#[test]
fn ex_jrn_12_a_page_of_100_small_events_costs_three_syncs_of_files_and_two_of_the_directory() {
    let machine = machine();
    let mut journal = journal(&machine);
    for round in 0..3 {
        let events: Vec<Event> =
            (0..100).map(|number| event(&format!("{round}-{number}"), &"x".repeat(60))).collect();
        machine.files.forget_operations();
        journal.append(&events).expect("appended");
        let counts = machine.files.counts();
        assert_eq!(counts.get(&OperationKind::Sync), Some(&3), "{:?}", machine.files.trace());
        assert_eq!(counts.get(&OperationKind::SyncDirectory), Some(&2), "{:?}", machine.files.trace());
        assert_eq!(count(&machine, OperationKind::WriteAt, LOG_NAME), 1, "one write");
    }
}

#[test]
fn ex_jrn_12_the_steps_come_in_this_order_and_one_persist_acknowledges_and_announces() {
    let machine = machine();
    let mut journal = journal(&machine);
    let large = |id: &str| event(id, &"x".repeat(40_000));
    let mut under_way = journal.begin(&[large("a"), large("b")]).expect("begun");
    let mut points = Vec::new();
    let mut checkpoints = Vec::new();
    while let Some(point) = journal.advance(&mut under_way).expect("goes on") {
        points.push(point);
        checkpoints.push(acknowledged(&machine.files));
    }
    use AppendPoint::{Checkpoint, Key, Pending, Record};
    assert_eq!(points, [Pending, Record, Key, Checkpoint, Pending, Record, Key, Checkpoint]);
    let end = machine.files.contents(LOG).expect("a log").len() as u64;
    let middle = text(&machine).lines().next().expect("a line").len() as u64 + 1;
    assert_eq!(checkpoints[..3], [(0, 0, 1); 3]);
    assert_eq!(
        checkpoints[3..7],
        [(middle, 1, 1); 4],
        "the Persist that acknowledges the first announces the second"
    );
    assert_eq!(checkpoints[7], (end, 2, 0));
    assert_eq!(journal.end(under_way).expect("over").end, Position { offset: end, sequence: 2 });
    let names: Vec<&str> = [Pending, Record, Key, Checkpoint].iter().map(|point| point.name()).collect();
    assert_eq!(names, ["journal.pending", "journal.record", "journal.key", "journal.checkpoint"]);
    // Each step is durable when its point is reached.
    assert_eq!(count(&machine, OperationKind::Rename, ".journal.json.tmp-"), 3);
}

#[test]
fn ex_jrn_82_a_point_that_fails_takes_the_batch_back() {
    for fails in [AppendPoint::Pending, AppendPoint::Record, AppendPoint::Key, AppendPoint::Checkpoint] {
        for nth in 1..=2 {
            let machine = machine();
            let mut journal = journal(&machine);
            journal.append(&page(&["old"])).expect("appended");
            let large = |id: &str| event(id, &"x".repeat(40_000));
            let mut under_way = journal.begin(&[large("a"), large("b")]).expect("begun");
            let (mut seen, mut failure) = (0, None);
            while let Some(point) = journal.advance(&mut under_way).expect("goes on") {
                seen += usize::from(point == fails);
                if point == fails && seen == nth {
                    failure = journal.fail(&mut under_way).err();
                    if failure.is_some() {
                        break;
                    }
                }
            }
            let at = format!("{} {nth}", fails.name());
            match fails {
                AppendPoint::Key => {
                    assert!(failure.is_none(), "{at}: a failed step 3 fails no append");
                    journal.end(under_way).expect("over");
                }
                _ => {
                    assert_eq!(failure.expect("it failed").code(), Code::ExecutionIo, "{at}");
                    assert_eq!(
                        journal.advance(&mut under_way).expect_err("over").code(),
                        Code::ExecutionInput
                    );
                    assert_eq!(acknowledged(&machine.files).2, 0, "{at}");
                }
            }
            let appended = append(&machine.another_process(), &[large("a"), large("b")]).expect("appended");
            assert_eq!(numbers(&appended), [2, 3], "{at}");
            assert!(rows(&machine.files).iter().all(|row| row.gap.is_none()), "{at}: a gap");
        }
    }
}

#[test]
fn ex_jrn_87_the_list_is_cut_from_the_front_and_each_batch_takes_as_many_records_as_fit() {
    let machine = machine();
    append(&machine, &[event("0", "")]).expect("appended");
    let frame = text(&machine).len();
    // Five records of a quarter of a batch each: four fill it to the last byte.
    let quarter = (MAX_BATCH_BYTES - 1) / 4;
    let exact = |id: &str, bytes: usize| event(id, &"x".repeat(bytes - frame));
    let list = [
        exact("a", quarter),
        exact("b", quarter),
        exact("c", quarter),
        exact("d", quarter + 1),
        exact("e", frame),
    ];
    let mut journal = journal(&machine);
    let mut under_way = journal.begin(&list).expect("begun");
    let mut batches = Vec::new();
    while let Some(point) = journal.advance(&mut under_way).expect("goes on") {
        if point == AppendPoint::Pending {
            batches.push(acknowledged(&machine.files).2);
        }
    }
    assert_eq!(batches, [4, 1]);
    assert_eq!(acknowledged(&machine.files).1, 6, "the last batch is acknowledged before the call returns");
    // One byte more, and the fourth begins the second batch.
    let list = [exact("f", quarter), exact("g", quarter), exact("h", quarter), exact("i", quarter + 2)];
    let mut under_way = journal.begin(&list).expect("begun");
    journal.advance(&mut under_way).expect("announced");
    assert_eq!(acknowledged(&machine.files).2, 3);
}

#[test]
fn ex_cur_22_a_gap_that_is_told_again_adds_no_second_record() {
    let machine = machine();
    let told = || [Event::gap("gap-c1", GapReason::Provider, Provenance::Provider), event("a", "x")];
    assert_eq!(numbers(&append(&machine, &told()).expect("appended")), [1, 2]);
    assert_eq!(numbers(&append(&machine.another_process(), &told()).expect("appended")), [1, 2]);
    assert_eq!(ids(&machine), ["gap-c1", "a"]);
    // Of another turn it is another gap.
    let other = gallivant_core::journal::Owner { turn_id: Some("turn-2".to_owned()), ..owner() };
    let mut journal = Journal::open(RUN, other, &machine.host(), &hiding("")).expect("opens");
    assert_eq!(numbers(&journal.append(&told()).expect("appended")), [3, 4]);
}

#[test]
fn files_are_private_and_an_append_is_one_of_its_own_journal() {
    let machine = machine();
    let (mut one, mut other) = (journal(&machine), journal(&machine));
    let mut under_way = one.begin(&page(&["a"])).expect("begun");
    assert_eq!(other.advance(&mut under_way).expect_err("not its own").code(), Code::ExecutionInput);
    let older = under_way;
    let mut under_way = one.begin(&page(&["a"])).expect("begun again");
    let mut older = older;
    assert_eq!(one.advance(&mut older).expect_err("an older one").code(), Code::ExecutionInput);
    while one.advance(&mut under_way).expect("goes on").is_some() {}
    for name in [LOG_NAME, CHECKPOINT_NAME] {
        let mode = machine.files.metadata(format!("{RUN}/{name}")).expect("there").mode;
        assert_eq!(mode, 0o600, "{name}");
    }
}

#[test]
fn what_another_process_did_between_two_calls_is_noticed() {
    let machine = machine();
    let mut first = journal(&machine);
    let mut second = journal(&machine.another_process());
    for round in 0..5 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        first.append(&page(&[&a, "both"])).expect("appended");
        second.append(&page(&[&b, &a, "both"])).expect("appended");
    }
    let found = ids(&machine);
    assert_eq!(found.len(), 11);
    assert_eq!(found[..4], ["a0", "both", "b0", "a1"]);
}

#[test]
fn ex_jrn_85_only_a_missing_file_reads_as_missing() {
    for (name, kind, appends, checks) in [
        (LOG_NAME, OperationKind::OpenData, true, false),
        (LOG_NAME, OperationKind::LookData, false, true),
        (CHECKPOINT_NAME, OperationKind::Read, true, true),
    ] {
        for errno in ["EACCES", "EIO"] {
            let machine = machine();
            append(&machine, &page(&["a"])).expect("appended");
            let files = || [LOG, CHECKPOINT].map(|path| machine.files.contents(path).expect("there"));
            let before = files();
            let user = machine.another_process();
            let fault = format!(
                r#"[{{"on": "{}", "name": "{name}", "do": "error", "errno": "{errno}", "repeat": true}}]"#,
                kind.word()
            );
            user.files.set_faults(Fault::parse_list(&fault).expect("good"));
            let checked = check(RUN, &user.host()).map_err(|error| error.code());
            assert_eq!(checked.is_err(), checks, "{fault}");
            assert!(checked.is_ok_and(|checked| checked.records == 1) || checks, "{fault}");
            if appends {
                let error = append(&user, &page(&["b"])).expect_err(&fault);
                assert_eq!(error.code(), Code::ExecutionIo, "{error}");
                assert_eq!(files(), before, "{fault}");
            }
        }
    }
    for path in [LOG, CHECKPOINT] {
        let machine = machine();
        machine.files.plant_pipe(path).expect("planted");
        assert_eq!(append(&machine, &page(&["a"])).expect_err("a pipe").code(), Code::ExecutionIo);
        assert_eq!(check(RUN, &machine.host()).expect_err("a pipe").code(), Code::ExecutionIo);
    }
    let missing = Journal::open("/task/none", owner(), &machine().host(), &hiding(""));
    let missing = missing.expect_err("no such run");
    assert_eq!(missing.code(), Code::ExecutionUnknownRun);
    assert_eq!(missing.file(), Some(Path::new("/task/none")), "what was looked for");
    assert_eq!(check("/task/none", &machine().host()).expect_err("none").code(), Code::ExecutionUnknownRun);
}
