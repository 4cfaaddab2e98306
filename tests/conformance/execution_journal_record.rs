//! EX-JRN-03 to EX-JRN-05, EX-JRN-07 to EX-JRN-10, EX-JRN-88: what a record is, and which events become one.

use gallivant_core::journal::{
    Content, Event, GapReason, How, Journal, MAX_RECORD_BYTES, Provenance, check, replay_key,
};
use gallivant_core::json::{Number, Value};
use gallivant_core::{Code, digest};

use crate::execution_journal::{ids, lines, numbers, text};
use crate::support::run::{
    CHECKPOINT, LOG, RUN, append, crc32c, event, hiding, journal, machine, owner, page, rows,
};

/// The line of EX-JRN-88.
const EXAMPLE: &str = r#"{"version":1,"taskId":"t-1","runId":"run-1","provider":"prov","eventId":"e1","key":"28ec39c5ec86295b6dd68fa9486a64b87f98b036f88d8a8c2df5fc491a372b10","sequence":1,"providerSequence":null,"provenance":"provider","timestamp":1779999940000,"type":"output","data":"x","crc":"696bb91c"}"#;

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
