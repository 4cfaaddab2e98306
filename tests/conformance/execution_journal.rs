//! EX-JRN: what a record is, and how a page is appended.

use std::path::Path;

use gallivant_core::journal::{
    AppendPoint, Appended, CHECKPOINT as CHECKPOINT_NAME, Content, Event, GapReason, How, Journal,
    LOG as LOG_NAME, MAX_BATCH_BYTES, MAX_RECORD_BYTES, Position, Provenance, check, replay_key,
};
use gallivant_core::json::{Number, Value};
use gallivant_core::testing::{Fault, OperationKind, Simulation};
use gallivant_core::{Code, digest};

use crate::support::run::{
    CHECKPOINT, LOG, RUN, acknowledged, append, crc32c, event, hiding, journal, log, machine, owner, page,
    rows,
};

/// The line of EX-JRN-88.
const EXAMPLE: &str = r#"{"version":1,"taskId":"t-1","runId":"run-1","provider":"prov","eventId":"e1","key":"28ec39c5ec86295b6dd68fa9486a64b87f98b036f88d8a8c2df5fc491a372b10","sequence":1,"providerSequence":null,"provenance":"provider","timestamp":1779999940000,"type":"output","data":"x","crc":"696bb91c"}"#;

fn text(machine: &Simulation) -> String {
    String::from_utf8(log(&machine.files)).expect("UTF-8")
}

fn lines(machine: &Simulation) -> Vec<serde_json::Value> {
    text(machine).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn numbers(appended: &Appended) -> Vec<u64> {
    appended.placed.iter().map(|placed| placed.sequence).collect()
}

fn ids(machine: &Simulation) -> Vec<String> {
    rows(&machine.files).into_iter().map(|row| row.event_id).collect()
}

/// How many of these operations there are on a name that begins so.
fn count(machine: &Simulation, kind: OperationKind, name: &str) -> usize {
    let on = |text: &str| text.split(' ').nth(1).is_some_and(|found| found.starts_with(name));
    machine
        .files
        .operations()
        .iter()
        .filter(|operation| operation.kind == kind && on(&operation.text))
        .count()
}

#[test]
fn ex_jrn_03_a_record_is_one_line_with_these_members_and_the_check_value_last() {
    let machine = machine();
    let mut first = event("e1", "x");
    first.provider_sequence = Number::parse("7");
    first.provenance = Provenance::Local;
    let mut second = event("e2", "y");
    second.timestamp = None;
    append(&machine, &[first, second]).expect("appended");
    let text = text(&machine);
    let key = digest::hex(&owner().replay_key("e1"));
    assert!(
        text.starts_with(&format!(
            "{{\"version\":1,\"taskId\":\"t-1\",\"runId\":\"run-1\",\"provider\":\"prov\",\"eventId\":\"e1\",\
             \"key\":\"{key}\",\"sequence\":1,\"providerSequence\":7,\"provenance\":\"local\",\
             \"timestamp\":1779999940000,\"type\":\"output\",\"data\":\"x\",\"crc\":\""
        )),
        "{text}"
    );
    let lines = lines(&machine);
    assert_eq!(lines[1]["timestamp"], 1_700_000_000_000_u64, "now, where the event tells no time");
    assert!(lines[1]["providerSequence"].is_null());
    // The check values are right, by rules that the test has for itself.
    assert_eq!(rows(&machine.files).len(), 2);
}

#[test]
fn ex_jrn_04_provider_numbers_stay_and_ingestion_numbers_rise_by_one() {
    let machine = machine();
    let numbered =
        |id: &str, number: &str| Event { provider_sequence: Number::parse(number), ..event(id, "x") };
    let page = [numbered("a", "9"), numbered("b", "3"), numbered("c", "18446744073709551617")];
    assert_eq!(numbers(&append(&machine, &page).expect("appended")), [1, 2, 3]);
    assert_eq!(numbers(&append(&machine, &[numbered("d", "3")]).expect("appended")), [4]);
    let text = text(&machine);
    for (sequence, number) in [(1, "9"), (2, "3"), (3, "18446744073709551617"), (4, "3")] {
        assert!(text.contains(&format!("\"sequence\":{sequence},\"providerSequence\":{number},")), "{text}");
    }
    for wrong in ["-1", "1.5"] {
        let error = append(&machine, &[numbered("e", wrong)]).expect_err(wrong);
        assert_eq!(error.code(), Code::ExecutionInput);
    }
}

#[test]
fn ex_jrn_05_the_replay_key_is_the_hash_of_the_canonical_array_of_exact_values() {
    let hash = |text: &str| digest::sha256(text.as_bytes());
    assert_eq!(replay_key(Some("p"), Some("j"), Some("t"), Some("e")), hash(r#"["p","j","t","e"]"#));
    assert_eq!(replay_key(Some("p"), None, None, Some("e")), hash(r#"["p",null,null,"e"]"#));
    assert_eq!(replay_key(Some("p"), Some("null"), None, Some("")), hash(r#"["p","null",null,""]"#));
    assert_eq!(
        replay_key(Some("ä"), Some("\u{1}\n"), Some("\"\\"), Some("\u{1f600}")),
        hash("[\"ä\",\"\\u0001\\n\",\"\\\"\\\\\",\"\u{1f600}\"]")
    );
    let machine = machine();
    append(&machine, &page(&["e1"])).expect("appended");
    assert_eq!(rows(&machine.files)[0].key, digest::hex(&hash(r#"["prov","job-1","turn-1","e1"]"#)));
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
fn ex_jrn_07_the_key_is_of_the_unredacted_id_and_the_record_holds_the_redacted_one() {
    let machine = machine();
    let open = || Journal::open(RUN, owner(), &machine.host(), &hiding("secret")).expect("opens");
    let both = [event("secret-1", "x"), event("[redacted]-1", "x")];
    assert_eq!(numbers(&open().append(&both).expect("appended")), [1, 2], "two events with one redacted id");
    assert_eq!(ids(&machine), ["[redacted]-1", "[redacted]-1"]);
    assert_eq!(rows(&machine.files)[0].key, digest::hex(&owner().replay_key("secret-1")));
    assert_eq!(numbers(&open().append(&both).expect("known")), [1, 2]);
}

#[test]
fn ex_jrn_08_a_record_has_at_most_65536_bytes_and_a_larger_event_is_a_gap() {
    let machine = machine();
    append(&machine, &[event("a", "")]).expect("appended");
    let rest = MAX_RECORD_BYTES - text(&machine).trim_end().len();
    let placed = append(&machine, &[event("b", &"x".repeat(rest)), event("c", &"x".repeat(rest + 1))]);
    let placed = placed.expect("appended").placed;
    assert_eq!((placed[0].how, placed[1].how), (How::Recorded, How::Oversized));
    let found = rows(&machine.files);
    assert_eq!(text(&machine).lines().nth(1).expect("a line").len(), 65_536);
    assert_eq!((found[2].event_id.as_str(), found[2].gap.as_deref()), ("c", Some("oversized-record")));
    assert_eq!(found[2].key, digest::hex(&owner().replay_key("c")));
    // Escapes count: a byte that is written with six.
    let placed = append(&machine, &[event("d", &"\u{1}".repeat(rest / 6 + 1))]).expect("appended").placed;
    assert_eq!(placed[0].how, How::Oversized);
    // Measured after redaction.
    let mut hiding = Journal::open(RUN, owner(), &machine.host(), &hiding("x")).expect("opens");
    assert_eq!(
        hiding.append(&[event("e", &"x".repeat(8_000))]).expect("appended").placed[0].how,
        How::Oversized
    );
    // A replay of the event adds nothing.
    let again = append(&machine, &[event("c", "short now")]).expect("appended").placed;
    assert_eq!((again[0].how, again[0].sequence), (How::Known, 3));
}

#[test]
fn ex_jrn_09_redaction_takes_place_before_any_byte_reaches_the_disk() {
    let machine = machine();
    let mut journal = Journal::open(RUN, owner(), &machine.host(), &hiding("hunter2")).expect("opens");
    let data = Value::parse(r#"{"hunter2":["a hunter2",{"deep":"hunter2"}],"n":1}"#).expect("JSON");
    let said =
        Event { content: Content::Said { kind: "hunter2-type".to_owned(), data }, ..event("id-hunter2", "") };
    let mut under_way = journal.begin(&[said]).expect("begun");
    loop {
        for path in [LOG, CHECKPOINT] {
            let bytes = machine.files.contents(path).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{path}");
        }
        if journal.advance(&mut under_way).expect("goes on").is_none() {
            break;
        }
    }
    assert_eq!(
        lines(&machine)[0]["data"].to_string(),
        r#"{"[redacted]":["a [redacted]",{"deep":"[redacted]"}],"n":1}"#
    );
}

#[test]
fn ex_jrn_10_the_reasons_of_gaps_have_these_words() {
    let words: Vec<&str> = GapReason::ALL.iter().map(|reason| reason.word()).collect();
    assert_eq!(
        words,
        [
            "provider-gap",
            "interrupted-append",
            "oversized-record",
            "corrupt-record",
            "local-output-missing",
            "local-output-truncated",
            "local-output-expired",
            "redaction-missing",
            "index-missing",
            "retained",
        ]
    );
    let machine = machine();
    let gaps: Vec<Event> = GapReason::ALL
        .iter()
        .map(|reason| Event::gap(reason.word(), *reason, Provenance::Boundary))
        .collect();
    append(&machine, &gaps).expect("appended");
    for (line, reason) in lines(&machine).iter().zip(GapReason::ALL) {
        assert_eq!((line["type"].as_str(), line["provenance"].as_str()), (Some("gap"), Some("boundary")));
        assert_eq!(line["data"], serde_json::json!({ "reason": reason.word() }));
    }
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
fn ex_jrn_88_the_line_of_the_specification_is_what_is_written_and_read() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    let machine = machine();
    let example = gallivant_core::journal::Owner { job_id: None, turn_id: None, ..owner() };
    let mut journal = Journal::open(RUN, example, &machine.host(), &hiding("")).expect("opens");
    journal.append(&page(&["e1"])).expect("appended");
    let written = text(&machine);
    let without_key = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let object = value.as_object_mut().expect("an object");
        object.remove("key");
        object.remove("crc");
        value
    };
    assert_eq!(without_key(written.trim_end()), without_key(EXAMPLE));
    assert_eq!(written.trim_end().len(), EXAMPLE.len());
    machine.files.plant_file(LOG, format!("{EXAMPLE}\n")).expect("planted");
    assert_eq!(check(RUN, &machine.host()).expect("whole").records, 1);
    let tail = &EXAMPLE[EXAMPLE.len() - 18..];
    assert_eq!(tail, ",\"crc\":\"696bb91c\"}");
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
fn c_036_numbers_beyond_2_to_the_53_keep_their_digits() {
    let machine = machine();
    let data = Value::parse(r#"{"micros":9007199254740993,"provider_id":653247040368672769}"#).expect("JSON");
    let cost = Event {
        provider_sequence: Number::parse("9007199254740993"),
        content: Content::Said { kind: "cost".to_owned(), data },
        ..event("k", "")
    };
    append(&machine, &[cost]).expect("appended");
    let text = text(&machine);
    assert!(text.contains("\"providerSequence\":9007199254740993,"), "{text}");
    assert!(
        text.contains(r#""data":{"micros":9007199254740993,"provider_id":653247040368672769}"#),
        "{text}"
    );
    // And back through a pending batch, where the number waits for a recovery.
    let mut journal = journal(&machine);
    let late = Event { provider_sequence: Number::parse("9007199254740993"), ..event("l", "x") };
    let mut under_way = journal.begin(&[late]).expect("begun");
    journal.advance(&mut under_way).expect("announced");
    let recovered = crate::support::run::journal(&machine.another_process()).recover().expect("recovered");
    assert!(recovered.gap);
    assert_eq!(self::text(&machine).matches("\"providerSequence\":9007199254740993,").count(), 2);
}

#[test]
fn what_no_record_can_hold_is_refused_before_anything_is_written() {
    let machine = machine();
    let said = |kind: &str| Content::Said { kind: kind.to_owned(), data: Value::Null };
    for wrong in [
        event("", "x"),
        Event { content: said(""), ..event("a", "") },
        Event { timestamp: Number::parse("1e999"), ..event("a", "") },
        event(&"i".repeat(70_000), "x"),
    ] {
        let error = append(&machine, &[event("good", "x"), wrong]).expect_err("refused");
        assert_eq!(error.code(), Code::ExecutionInput, "{error}");
        assert!(machine.files.contents(LOG).is_err() && machine.files.contents(CHECKPOINT).is_err());
    }
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
