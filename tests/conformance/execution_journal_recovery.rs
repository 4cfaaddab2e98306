//! EX-JRN: what a crash or a stranger left behind the acknowledged bytes.

use gallivant_core::journal::{AppendPoint, Event, MAX_BATCH_BYTES, Position, Provenance, check};
use gallivant_core::json::Number;
use gallivant_core::testing::{OperationKind, Simulation};
use gallivant_core::{Code, Error};

use crate::support::run::{
    CHECKPOINT, LOG, RUN, acknowledged, append, event, journal, log, machine, owner, page, rows, sealed,
};

/// The checkpoint's text and the log's bytes.
pub(crate) fn files(machine: &Simulation) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    (machine.files.contents(CHECKPOINT).ok(), machine.files.contents(LOG).ok())
}

/// Three records, and a batch of these events announced behind them, of which this much of its bytes is there.
pub(crate) fn interrupted(batch: &[Event], left: impl Fn(&[u8]) -> Vec<u8>) -> Simulation {
    let machine = machine();
    append(&machine, &page(&["old-1", "old-2", "old-3"])).expect("prepared");
    let before = machine.files.contents(LOG).expect("a log");
    let mut journal = journal(&machine);
    let mut under_way = journal.begin(batch).expect("begun");
    while journal.advance(&mut under_way).expect("goes on") != Some(AppendPoint::Record) {}
    let bytes = machine.files.contents(LOG).expect("a log")[before.len()..].to_vec();
    machine.files.plant_file(LOG, [before, left(&bytes)].concat()).expect("planted");
    machine.another_process()
}

pub(crate) fn batch() -> Vec<Event> {
    page(&["p", "q", "r"])
}

/// Where each line of a batch ends, newline included.
pub(crate) fn ends(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

/// The ids and gaps behind the three old records.
pub(crate) fn behind(machine: &Simulation) -> Vec<(String, Option<String>)> {
    rows(&machine.files).into_iter().skip(3).map(|row| (row.event_id, row.gap)).collect()
}

pub(crate) fn kept(id: &str) -> (String, Option<String>) {
    (id.to_owned(), None)
}

pub(crate) fn gap(id: &str) -> (String, Option<String>) {
    (id.to_owned(), Some("interrupted-append".to_owned()))
}

/// Every call that would write refuses so, and so does the check; nothing has changed.
fn assert_refuses(machine: &Simulation, code: Code, reason: &str) -> Error {
    let before = files(machine);
    let refused = [
        journal(machine).recover().map(drop),
        append(machine, &page(&["new"])).map(drop),
        check(RUN, &machine.host()).map(drop),
    ];
    assert_eq!(files(machine), before, "{reason}: something was changed");
    let [first, second, third] = refused.map(|refused| refused.expect_err(reason));
    for error in [&second, &third] {
        assert_eq!((error.code(), error.reason()), (first.code(), first.reason()));
    }
    assert_eq!((first.code(), first.reason()), (code, Some(reason)), "{first}");
    first
}

#[test]
fn ex_jrn_13_any_append_and_any_recovery_first_finish_what_is_pending() {
    for recovers in [true, false] {
        let machine = interrupted(&batch(), |bytes| bytes.to_vec());
        if recovers {
            let recovered = journal(&machine).recover().expect("recovered");
            assert_eq!((recovered.kept, recovered.gap, recovered.end.sequence), (3, false, 6));
        } else {
            append(&machine, &[]).expect("an empty page");
        }
        assert_eq!(behind(&machine), [kept("p"), kept("q"), kept("r")]);
        assert_eq!(acknowledged(&machine.files).2, 0);
    }
    let refused = interrupted(&batch(), |bytes| [bytes, b"x"].concat());
    assert_refuses(&refused, Code::ExecutionJournal, "unknown-bytes");
}

#[test]
fn ex_jrn_13_a_recovery_of_nothing_writes_nothing() {
    let machine = machine();
    assert_eq!(journal(&machine).recover().expect("empty").end, Position::default());
    append(&machine, &page(&["a"])).expect("appended");
    machine.files.forget_operations();
    assert_eq!(journal(&machine).recover().expect("whole").end.sequence, 1);
    let changing = [OperationKind::Create, OperationKind::WriteAt, OperationKind::Cut, OperationKind::Sync];
    assert!(machine.files.operations().iter().all(|operation| !changing.contains(&operation.kind)));
}

#[test]
fn ex_jrn_14_a_recovery_reads_from_the_pending_offset_on_and_no_more_than_a_batch() {
    let machine = interrupted(&[event("p", &"x".repeat(60_000))], |bytes| bytes[..bytes.len() - 1].to_vec());
    // Damage among the acknowledged bytes is none of its business.
    let mut bytes = machine.files.contents(LOG).expect("a log");
    bytes[5] = b'#';
    machine.files.overwrite(LOG, &bytes).expect("planted");
    assert_eq!(journal(&machine).recover().expect("recovered").kept, 1);
    // The batch, and the one byte before it that ends a line.
    assert_eq!(machine.files.counts().get(&OperationKind::ReadAt), Some(&2));
}

#[test]
fn ex_jrn_15_records_that_match_are_kept_and_all_kept_is_all_acknowledged() {
    let machine = interrupted(&batch(), |bytes| bytes.to_vec());
    let bytes = machine.files.contents(LOG).expect("a log");
    journal(&machine).recover().expect("recovered");
    assert_eq!(log(&machine.files), bytes, "no byte is written");
    assert_eq!(behind(&machine), [kept("p"), kept("q"), kept("r")]);
    // Kept where they were, also across the machine's crash: what a dead process wrote was not synced.
    for image in machine.files.images_after_crash() {
        assert_eq!(image.files.contents(LOG).expect("a log"), bytes, "{}", image.description);
    }
}

#[test]
fn ex_jrn_16_a_last_record_without_its_newline_gets_it_first_and_is_kept() {
    for lines in 1..=3 {
        let machine = interrupted(&batch(), |bytes| bytes[..ends(bytes)[lines - 1] - 1].to_vec());
        let before = machine.files.contents(LOG).expect("a log");
        let recovered = journal(&machine).recover().expect("recovered");
        assert_eq!((recovered.kept, recovered.gap), (lines as u64, lines < 3));
        assert!(log(&machine.files).starts_with(&[&before[..], b"\n"].concat()));
        let expected: Vec<_> = [kept("p"), kept("q"), kept("r")].into_iter().take(lines).collect();
        let found = behind(&machine);
        assert_eq!(found[..lines], expected);
        assert_eq!(found.get(lines), [gap("q"), gap("r")].get(lines - 1));
        let first = machine.files.operations().into_iter().find(|operation| {
            matches!(operation.kind, OperationKind::WriteAt | OperationKind::Create | OperationKind::Cut)
        });
        assert_eq!(first.expect("it writes").text, "write_at events.jsonl 1", "no other byte before it");
    }
}

/// Makes of a batch's bytes what stands there.
type Change = fn(&[u8]) -> Vec<u8>;

/// What may stand in the place of the second record.
fn damages() -> Vec<(&'static str, Change)> {
    fn changed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
        let ends = ends(bytes);
        let line = std::str::from_utf8(&bytes[ends[0]..ends[1]]).expect("UTF-8");
        let content = &line[..line.len() - 20];
        assert!(content.contains(from), "{content}");
        let new = sealed(&format!("{}}}", content.replacen(from, to, 1)));
        [&bytes[..ends[0]], new.as_bytes(), &bytes[ends[1]..]].concat()
    }
    vec![
        ("no byte", |bytes| bytes[..ends(bytes)[0]].to_vec()),
        ("partial", |bytes| bytes[..ends(bytes)[0] + 30].to_vec()),
        ("partial, and more behind it", |bytes| {
            let ends = ends(bytes);
            [&bytes[..ends[0] + 30], &bytes[ends[1]..]].concat()
        }),
        ("invalid JSON", |bytes| changed(bytes, "\"eventId\":\"q\"", "\"eventId\":\"q")),
        ("a wrong check value", |bytes| {
            let mut bytes = bytes.to_vec();
            let at = ends(&bytes)[1] - 4;
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            bytes
        }),
        ("another number", |bytes| changed(bytes, "\"sequence\":5", "\"sequence\":6")),
        ("another event id", |bytes| changed(bytes, "\"eventId\":\"q\"", "\"eventId\":\"z\"")),
        ("another key", |bytes| changed(bytes, "\"key\":\"", "\"key\":\"00")),
        ("zeros", |bytes| {
            let mut bytes = bytes.to_vec();
            let ends = ends(&bytes);
            bytes[ends[0]..ends[1]].fill(0);
            bytes
        }),
        ("zeros to the end", |bytes| {
            let mut bytes = bytes.to_vec();
            let start = ends(&bytes)[0];
            bytes[start..].fill(0);
            bytes
        }),
        ("the record twice fused", |bytes| {
            let ends = ends(bytes);
            [&bytes[..ends[1] - 1], &bytes[ends[0]..]].concat()
        }),
        ("lines spliced", |bytes| {
            let ends = ends(bytes);
            [&bytes[..ends[0]], &bytes[ends[1]..ends[2]], &bytes[ends[0]..ends[1]]].concat()
        }),
    ]
}

#[test]
fn ex_jrn_17_at_the_first_record_that_is_not_kept_the_batch_ends_with_a_gap_in_its_place() {
    for (name, damage) in damages() {
        let machine = interrupted(&batch(), damage);
        let recovered = journal(&machine).recover().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((recovered.kept, recovered.gap, recovered.end.sequence), (1, true, 5), "{name}");
        assert_eq!(behind(&machine), [kept("p"), gap("q")], "{name}");
        assert_eq!(
            machine.files.contents(LOG).expect("a log"),
            log(&machine.files),
            "{name}: bytes left over"
        );
        // The rest is forgotten, and the repeated page appends it in the ordinary way.
        let placed = append(&machine, &batch()).expect("appended").placed;
        assert_eq!(placed.iter().map(|placed| placed.sequence).collect::<Vec<_>>(), [4, 5, 6], "{name}");
        assert_eq!(behind(&machine), [kept("p"), gap("q"), kept("r")], "{name}");
    }
}

#[test]
fn ex_jrn_17_one_persist_shrinks_the_batch_before_anything_is_cut() {
    let machine = interrupted(&batch(), |bytes| bytes[..ends(bytes)[0] + 30].to_vec());
    journal(&machine).recover().expect("recovered");
    let wanted = ["rename", "cut", "write_at", "rename"];
    let steps: Vec<String> = machine
        .files
        .trace()
        .iter()
        .filter_map(|step| step.split(' ').next().map(str::to_owned))
        .filter(|word| wanted.contains(&word.as_str()))
        .collect();
    assert_eq!(steps, wanted, "{:?}", machine.files.trace());
}

#[test]
fn ex_jrn_17_the_gap_has_number_id_key_provider_number_and_provenance_of_its_record() {
    let lost = Event {
        provider_sequence: Number::parse("77"),
        provenance: Provenance::Local,
        ..event("lost", "what it said is gone")
    };
    let machine = interrupted(&[lost], |_| Vec::new());
    journal(&machine).recover().expect("recovered");
    let text = String::from_utf8(log(&machine.files)).expect("UTF-8");
    let line: serde_json::Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(line["eventId"], "lost");
    assert_eq!(line["key"].as_str(), Some(gallivant_core::digest::hex(&owner().replay_key("lost")).as_str()));
    assert_eq!((line["sequence"].as_u64(), line["providerSequence"].as_u64()), (Some(4), Some(77)));
    assert_eq!((line["provenance"].as_str(), line["type"].as_str()), (Some("local"), Some("gap")));
    assert_eq!(line["data"], serde_json::json!({"reason": "interrupted-append"}));
    assert_eq!(line["timestamp"], 1_700_000_000_000_u64);
}

#[test]
fn ex_jrn_18_a_replay_of_a_kept_event_or_of_the_one_behind_the_gap_adds_nothing() {
    let machine = interrupted(&batch(), |bytes| bytes[..ends(bytes)[0] + 30].to_vec());
    append(&machine, &page(&["q", "p"])).expect("known");
    assert_eq!(behind(&machine), [kept("p"), gap("q")]);
    let again = journal(&machine.another_process()).recover().expect("nothing to do");
    assert_eq!((again.kept, again.gap, again.end.sequence), (0, false, 5));
}

#[test]
fn ex_jrn_19_acknowledged_bytes_stay_and_bytes_beyond_them_are_not_shown() {
    let machine = interrupted(&batch(), |bytes| bytes.to_vec());
    let acknowledged = log(&machine.files);
    let checked = check(RUN, &machine.host()).expect("whole");
    assert_eq!((checked.end.sequence, checked.records), (3, 3), "the batch is whole and not shown");
    append(&machine, &page(&["new"])).expect("appended");
    assert!(log(&machine.files).starts_with(&acknowledged));
}

#[test]
fn ex_jrn_20_a_log_shorter_than_acknowledged_is_refused_and_never_filled() {
    for length in [0, 1, 200] {
        let machine = machine();
        append(&machine, &page(&["a", "b"])).expect("appended");
        let bytes = machine.files.contents(LOG).expect("a log");
        machine.files.plant_file(LOG, &bytes[..length]).expect("planted");
        let error = assert_refuses(&machine, Code::ExecutionJournal, "short");
        assert!(error.remedy().contains("restore the matching backup before replay"), "{}", error.remedy());
    }
    let machine = machine();
    append(&machine, &page(&["a", "b"])).expect("appended");
    machine.files.unplant(LOG).expect("removed");
    assert_refuses(&machine, Code::ExecutionJournal, "short");
    // The same with a batch pending.
    let pending = interrupted(&batch(), |_| Vec::new());
    let bytes = pending.files.contents(LOG).expect("a log");
    pending.files.plant_file(LOG, &bytes[..bytes.len() - 1]).expect("planted");
    assert_refuses(&pending, Code::ExecutionJournal, "short");
    // A journal that is kept open notices it too.
    let machine = crate::support::run::machine();
    let mut journal = journal(&machine);
    journal.append(&page(&["a"])).expect("appended");
    machine.files.plant_file(LOG, "").expect("planted");
    assert_eq!(journal.append(&page(&["b"])).expect_err("short").reason(), Some("short"));
}

#[test]
fn ex_jrn_21_bytes_that_nobody_explains_are_refused() {
    let refused = |machine: &Simulation| assert_refuses(machine, Code::ExecutionJournal, "unknown-bytes");
    for bytes in ["x", "\n", "\0", "{}\n"] {
        let machine = machine();
        append(&machine, &page(&["a"])).expect("appended");
        let log = [machine.files.contents(LOG).expect("a log"), bytes.into()].concat();
        machine.files.plant_file(LOG, log).expect("planted");
        refused(&machine);
    }
    refused(&interrupted(&batch(), |bytes| [bytes, b"\n"].concat()));
    refused(&interrupted(&batch(), |bytes| [bytes, bytes].concat()));
    refused(&interrupted(&batch(), |_| vec![b'x'; MAX_BATCH_BYTES + 1]));
    // As many as a batch may have are a torn batch.
    let torn = interrupted(&batch(), |_| vec![b'x'; MAX_BATCH_BYTES]);
    assert!(journal(&torn).recover().expect("recovered").gap);
}

#[test]
fn ex_jrn_21_a_pending_batch_that_contradicts_itself_is_refused() {
    let key = "0".repeat(64);
    let record = |id: &str, key: &str, number: &str, provenance: &str| {
        format!(r#"{{"eventId":{id},"key":"{key}","providerSequence":{number},"provenance":"{provenance}"}}"#)
    };
    let good = record("\"p\"", &key, "null", "provider");
    let (offset, sequence) = {
        let machine = interrupted(&batch(), |_| Vec::new());
        let (offset, sequence, _) = acknowledged(&machine.files);
        (offset, sequence)
    };
    let next = sequence + 1;
    let batch_of =
        |records: &str| format!(r#"{{"offset":{offset},"sequence":{next},"records":[{records}]}}"#);
    let whole = |pending: &str| {
        format!(r#"{{"version":1,"offset":{offset},"sequence":{sequence},"pending":{pending}}}"#)
    };
    for text in [
        whole(&batch_of("")),
        whole(&format!(r#"{{"offset":{},"sequence":{next},"records":[{good}]}}"#, offset + 1)),
        whole(&format!(r#"{{"offset":{offset},"sequence":{sequence},"records":[{good}]}}"#)),
        whole(&format!(r#"{{"offset":{offset},"sequence":{next},"records":{good}}}"#)),
        whole(&batch_of(&record("7", &key, "null", "provider"))),
        whole(&batch_of(&record("\"p\"", &key[1..], "null", "provider"))),
        whole(&batch_of(&record("\"p\"", &key.replace('0', "A"), "null", "provider"))),
        whole(&batch_of(&record("\"p\"", &key, "-1", "provider"))),
        whole(&batch_of(&record("\"p\"", &key, "\"1\"", "provider"))),
        whole(&batch_of(&record("\"p\"", &key, "null", "somebody"))),
        whole("[]"),
        whole("false"),
        format!(r#"{{"version":1,"offset":{offset},"sequence":{sequence}}}"#),
        format!(r#"{{"version":1,"offset":{offset},"sequence":0,"pending":null}}"#),
        r#"{"version":1,"offset":0,"sequence":3,"pending":null}"#.to_owned(),
        r#"{"version":1,"offset":-1,"sequence":3,"pending":null}"#.to_owned(),
        r#"{"version":1,"offset":"1","sequence":3,"pending":null}"#.to_owned(),
        String::new(),
        "\0".repeat(60),
        "{\"version\":1".to_owned(),
        format!("{} {{}}", whole("null")),
        format!(r#"{{"version":1,"version":1,"offset":{offset},"sequence":{sequence},"pending":null}}"#),
    ] {
        let machine = interrupted(&batch(), |_| Vec::new());
        machine.files.plant_file(CHECKPOINT, text).expect("planted");
        assert_refuses(&machine, Code::ExecutionJournal, "checkpoint-invalid");
    }
    let machine = interrupted(&batch(), |_| Vec::new());
    machine.files.plant_file(CHECKPOINT, whole(&batch_of(&good))).expect("planted");
    assert!(journal(&machine).recover().expect("a good one").gap);
}

#[test]
fn ex_jrn_23_another_version_is_refused_and_so_is_a_log_without_a_checkpoint() {
    for version in ["2", "0", "1.5", "1.0", "\"1\"", "null", "true", "[1]", "18446744073709551617"] {
        let machine = machine();
        append(&machine, &page(&["a"])).expect("appended");
        // Nothing else of a file of another version is judged.
        machine
            .files
            .plant_file(CHECKPOINT, format!(r#"{{"version":{version},"offset":"?"}}"#))
            .expect("planted");
        let error = assert_refuses(&machine, Code::ExecutionVersion, "journal");
        for part in ["reads 1)", "restore the matching backup", "not a migration"] {
            assert!(error.remedy().contains(part), "{}", error.remedy());
        }
    }
    let machine = machine();
    append(&machine, &page(&["a"])).expect("appended");
    machine.files.plant_file(CHECKPOINT, r#"{"offset":0,"sequence":0,"pending":null}"#).expect("planted");
    assert_refuses(&machine, Code::ExecutionVersion, "journal");
    machine.files.unplant(CHECKPOINT).expect("removed");
    assert_refuses(&machine, Code::ExecutionJournal, "checkpoint-missing");
    // An empty log was never acknowledged.
    machine.files.plant_file(LOG, "").expect("planted");
    append(&machine, &page(&["a"])).expect("a new journal");
}
