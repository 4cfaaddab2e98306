//! EX-JRN: damage among the acknowledged bytes, and what a journal is worth.

use gallivant_core::Code;
use gallivant_core::journal::{Event, Gap, GapReason, PendingBatch, Position, Provenance, check};
use gallivant_core::testing::{Fault, Simulation};

use super::execution_journal_recovery::{batch, behind, ends, files, gap, interrupted, kept};
use crate::support::run::{CHECKPOINT, LOG, RUN, acknowledged, append, machine, page, rows, sealed};

/// Ten records, one of which is a gap, with something done to the log.
fn damaged(change: impl Fn(&mut Vec<u8>, &[usize])) -> Simulation {
    let machine = machine();
    let mut events = page(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    events[6] = Event::gap("7", GapReason::Provider, Provenance::Provider);
    append(&machine, &events).expect("appended");
    let mut bytes = machine.files.contents(LOG).expect("a log");
    let starts: Vec<usize> = std::iter::once(0).chain(ends(&bytes)).collect();
    let length = bytes.len();
    change(&mut bytes, &starts);
    assert_eq!(bytes.len(), length, "the length stays");
    machine.files.overwrite(LOG, &bytes).expect("planted");
    machine.another_process()
}

fn corrupt(from: u64, to: u64, bytes: std::ops::Range<usize>) -> Gap {
    Gap { from, to, reason: GapReason::CorruptRecord, bytes: bytes.start as u64..bytes.end as u64 }
}

/// The gaps of a journal of ten, but for the recorded one.
fn found(machine: &Simulation) -> Vec<Gap> {
    let checked = check(RUN, &machine.host()).expect("it can be checked");
    let (recorded, found): (Vec<Gap>, Vec<Gap>) =
        checked.gaps.into_iter().partition(|gap| gap.reason == GapReason::Provider);
    let missing: u64 = found.iter().map(|gap| gap.to + 1 - gap.from).sum();
    assert_eq!(checked.records + missing + recorded.len() as u64, 10, "every number is accounted for");
    found
}

#[test]
fn ex_jrn_83_damage_is_a_gap_of_the_numbers_between_its_good_neighbours() {
    let whole = damaged(|_, _| {});
    assert_eq!(found(&whole), []);
    let ends: Vec<usize> = {
        let bytes = whole.files.contents(LOG).expect("a log");
        std::iter::once(0).chain(self::ends(&bytes)).collect()
    };
    let at = |from: usize, to: usize| ends[from - 1]..ends[to];
    let one = damaged(|bytes, starts| bytes[starts[3] + 5] ^= 1);
    assert_eq!(found(&one), [corrupt(4, 4, at(4, 4))]);
    let first = damaged(|bytes, _| bytes[0] = 0);
    assert_eq!(found(&first), [corrupt(1, 1, at(1, 1))]);
    let fused = damaged(|bytes, starts| bytes[starts[4] - 1] = b' ');
    assert_eq!(found(&fused), [corrupt(4, 5, at(4, 5))]);
    let hole = damaged(|bytes, starts| bytes[starts[2] + 7..starts[5] + 3].fill(0));
    assert_eq!(found(&hole), [corrupt(3, 6, at(3, 6))]);
    let last = damaged(|bytes, starts| bytes[starts[9] + 1] = b'#');
    assert_eq!(found(&last), [corrupt(10, 10, at(10, 10))]);
    let tail = damaged(|bytes, starts| bytes[starts[8] + 1..].fill(0));
    assert_eq!(found(&tail), [corrupt(9, 10, at(9, 10))]);
    let all = damaged(|bytes, _| bytes.fill(b'\n'));
    assert!(check(RUN, &all.host()).expect("checked").gaps == [corrupt(1, 10, at(1, 10))]);
    let split = damaged(|bytes, starts| bytes[starts[3] + 40] = b'\n');
    assert_eq!(found(&split), [corrupt(4, 4, at(4, 4))]);
    let two = damaged(|bytes, starts| {
        bytes[starts[1] + 5] ^= 1;
        bytes[starts[4] + 5] ^= 1;
    });
    assert_eq!(found(&two), [corrupt(2, 2, at(2, 2)), corrupt(5, 5, at(5, 5))]);
    // A good line in a wrong place: one twice in the place of the next. All lines here are as long.
    let spliced = damaged(|bytes, starts| {
        let third = bytes[starts[2]..starts[3]].to_vec();
        bytes[starts[3]..starts[4]].copy_from_slice(&third);
    });
    assert_eq!(found(&spliced), [corrupt(4, 4, at(4, 4))]);
    let exchanged = damaged(|bytes, starts| {
        let (third, fourth) = (bytes[starts[2]..starts[3]].to_vec(), bytes[starts[3]..starts[4]].to_vec());
        bytes[starts[2]..starts[4]].copy_from_slice(&[fourth, third].concat());
    });
    // The fourth is not the next one; the third is; and of the numbers behind it one is left out.
    let between = ends[4]..ends[4];
    assert_eq!(found(&exchanged), [corrupt(3, 2, at(3, 3)), corrupt(4, 4, between)]);
    // A whole record from far ahead, in the place of the fourth: what follows it stays readable.
    let ahead = damaged(|bytes, starts| {
        let eighth = bytes[starts[7]..starts[8]].to_vec();
        bytes[starts[3]..starts[4]].copy_from_slice(&eighth);
    });
    assert_eq!(found(&ahead), [corrupt(4, 4, at(4, 4))]);
}

#[test]
fn ex_jrn_83_every_kind_of_line_that_is_no_record() {
    for (name, change) in [
        ("no check value", "\"crc\":\"", "\"cra\":\""),
        ("a check value in capitals", "\"data\":\"x\"", "\"data\":\"y\""),
        ("no JSON", "\"eventId\":\"4\"", "\"eventId\":'4'"),
    ]
    .map(|(name, from, to)| {
        (name, move |bytes: &mut Vec<u8>, starts: &[usize]| {
            let line = String::from_utf8(bytes[starts[3]..starts[4]].to_vec()).expect("UTF-8");
            bytes[starts[3]..starts[4]].copy_from_slice(line.replacen(from, to, 1).as_bytes());
        })
    }) {
        let machine = damaged(change);
        assert_eq!(
            found(&machine).iter().map(|gap| (gap.from, gap.to)).collect::<Vec<_>>(),
            [(4, 4)],
            "{name}"
        );
    }
    // Lines with the right check value: another number, no number, no object.
    for content in [
        r#"{"sequence":3,"eventId":"4"}"#,
        r#"{"sequence":9}"#,
        r#"{"eventId":"4"}"#,
        r#"{"sequence":"4"}"#,
        r#"{"sequence":4,}"#,
        r#"{"sequence":4,"sequence":4}"#,
    ] {
        let machine = damaged(|bytes, starts| {
            let length = starts[4] - starts[3];
            let padded = |pad: usize| sealed(&content.replacen('{', &format!("{{{}", " ".repeat(pad)), 1));
            let line = padded(length - padded(0).len());
            bytes[starts[3]..starts[4]].copy_from_slice(line.as_bytes());
        });
        let numbers: Vec<_> = found(&machine).iter().map(|gap| (gap.from, gap.to)).collect();
        assert_eq!(numbers, [(4, 4)], "{content}");
    }
    // The one that is right in all that counts is a record, whatever else it lacks.
    let machine = damaged(|bytes, starts| {
        let length = starts[4] - starts[3];
        let padded = |pad: usize| sealed(&format!("{{{}\"sequence\":4}}", " ".repeat(pad)));
        let line = padded(length - padded(0).len());
        bytes[starts[3]..starts[4]].copy_from_slice(line.as_bytes());
    });
    assert_eq!(found(&machine), []);
}

#[test]
fn ex_jrn_83_damage_is_never_repaired_and_the_journal_goes_on() {
    let machine = damaged(|bytes, starts| bytes[starts[3] + 5..starts[5] + 5].fill(0));
    let before = machine.files.contents(LOG).expect("a log");
    let placed = append(&machine, &page(&["11", "4", "8"])).expect("appended").placed;
    // The index still knows the key of the event whose record is damaged; made anew from the log it does not.
    assert_eq!(placed.iter().map(|placed| placed.sequence).collect::<Vec<_>>(), [11, 4, 8]);
    machine.files.unplant(format!("{RUN}/event-keys")).expect("removed");
    let placed = append(&machine, &page(&["4"])).expect("appended").placed;
    assert_eq!(placed.iter().map(|placed| placed.sequence).collect::<Vec<_>>(), [12]);
    assert!(machine.files.contents(LOG).expect("a log").starts_with(&before));
    let checked = check(RUN, &machine.host()).expect("checked");
    assert_eq!((checked.end.sequence, checked.records), (12, 8));
    let reasons: Vec<_> = checked.gaps.iter().map(|gap| (gap.from, gap.to, gap.reason.word())).collect();
    assert_eq!(reasons, [(4, 6, "corrupt-record"), (7, 7, "provider-gap")]);
}

#[test]
fn ex_jrn_84_a_check_says_what_is_whole_what_is_a_gap_and_what_is_corrupt_and_changes_nothing() {
    let machine = damaged(|bytes, starts| bytes[starts[1] + 5] ^= 1);
    machine.files.forget_operations();
    let before = files(&machine);
    let checked = check(RUN, &machine.host()).expect("checked");
    assert_eq!(
        (checked.end.offset, checked.end.sequence, checked.records),
        (before.1.as_ref().expect("a log").len() as u64, 10, 8)
    );
    let gaps: Vec<_> = checked.gaps.iter().map(|gap| (gap.from, gap.to, gap.reason.word())).collect();
    assert_eq!(gaps, [(2, 2, "corrupt-record"), (7, 7, "provider-gap")]);
    let log = before.1.as_ref().expect("a log");
    for gap in &checked.gaps {
        let bytes = &log[usize::try_from(gap.bytes.start).expect("small")
            ..usize::try_from(gap.bytes.end).expect("small")];
        assert!(bytes.ends_with(b"\n") && bytes.iter().filter(|byte| **byte == b'\n').count() == 1);
    }
    assert_eq!(files(&machine), before);
    assert!(machine.files.operations().iter().all(|operation| !operation.kind.is_mutating()));
    assert_eq!(checked.pending, None);
    // An empty run has an empty journal.
    let empty = check(RUN, &crate::support::run::machine().host()).expect("nothing");
    assert_eq!((empty.end, empty.records, empty.gaps.len()), (Position::default(), 0, 0));
}

#[test]
fn ex_jrn_84_a_well_formed_pending_batch_is_left_alone() {
    for (left, kept) in [(0, 0), (1, 1), (3, 3)] {
        let machine = interrupted(&batch(), |bytes| {
            let ends = ends(bytes);
            bytes[..if left == 0 { 0 } else { ends[left - 1] }].to_vec()
        });
        let before = files(&machine);
        let checked = check(RUN, &machine.host()).expect("checked");
        assert_eq!((checked.end.sequence, checked.records), (3, 3));
        assert_eq!(checked.pending, Some(PendingBatch { records: 3, kept }));
        assert_eq!(files(&machine), before);
    }
}

#[test]
fn ex_jrn_84_records_missing_without_a_trace_are_a_gap_at_the_end() {
    let machine = machine();
    append(&machine, &page(&["a", "b"])).expect("appended");
    let (offset, ..) = acknowledged(&machine.files);
    let text = format!(r#"{{"version":1,"offset":{offset},"sequence":5,"pending":null}}"#);
    machine.files.plant_file(CHECKPOINT, text).expect("planted");
    let checked = check(RUN, &machine.host()).expect("checked");
    assert_eq!(
        checked.gaps,
        [corrupt(3, 5, usize::try_from(offset).expect("small")..usize::try_from(offset).expect("small"))]
    );
}

#[test]
fn c_032_a_line_of_any_length_is_passed_over_in_bounded_memory() {
    let machine = machine();
    append(&machine, &page(&["a", "b"])).expect("appended");
    let long = vec![b'x'; 12 * 1024 * 1024];
    let bytes = machine.files.contents(LOG).expect("a log");
    let first = ends(&bytes)[0];
    let third = sealed(r#"{"sequence":3}"#);
    let log = [&bytes[..first], &long, b"\n", third.as_bytes(), &long].concat();
    let text = format!(r#"{{"version":1,"offset":{},"sequence":9,"pending":null}}"#, log.len());
    machine.files.plant_file(LOG, &log[..]).expect("planted");
    machine.files.plant_file(CHECKPOINT, text).expect("planted");
    let checked = check(RUN, &machine.host()).expect("checked");
    let end_of_long = first + long.len() + 1;
    assert_eq!(
        checked.gaps,
        [corrupt(2, 2, first..end_of_long), corrupt(4, 9, end_of_long + third.len()..log.len())]
    );
    assert_eq!(checked.records, 2);
    // Nothing can be written behind a line that does not end.
    let error = append(&machine, &page(&["c"])).expect_err("refused");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionJournal, Some("checkpoint-invalid")));
}

#[test]
fn c_027_torn_fused_and_newline_less_tails() {
    // Torn: the next record is readable on a line of its own.
    let torn = interrupted(&page(&["p"]), |bytes| bytes[..bytes.len() / 2].to_vec());
    append(&torn, &page(&["new"])).expect("appended");
    assert_eq!(behind(&torn), [gap("p"), kept("new")]);
    // Fused: as other programs leave it. What cannot be proved by its own check value is not shown.
    let fused = damaged(|bytes, starts| {
        let tail = bytes[starts[3]..starts[4] - 20].to_vec();
        let start = starts[4] - tail.len();
        bytes[start..starts[4]].copy_from_slice(&tail);
    });
    assert_eq!(found(&fused).len(), 1);
    // Without its newline: the whole last record is kept.
    let bare = interrupted(&page(&["p"]), |bytes| bytes[..bytes.len() - 1].to_vec());
    append(&bare, &page(&["new"])).expect("appended");
    assert_eq!(behind(&bare), [kept("p"), kept("new")]);
    // An append that fails half-way leaves the file at its old length.
    let machine = machine();
    append(&machine, &page(&["a"])).expect("appended");
    let before = files(&machine).1;
    let fault = r#"[{"on": "write_at", "do": "short", "bytes": 17, "errno": "ENOSPC"}]"#;
    machine.files.set_faults(Fault::parse_list(fault).expect("good"));
    let error = append(&machine, &page(&["b"])).expect_err("full");
    assert_eq!((error.code(), error.os_error()), (Code::ExecutionIo, Some(28)));
    assert_eq!(files(&machine).1, before);
    append(&machine, &page(&["b"])).expect("there is room again");
    assert_eq!(rows(&machine.files).len(), 2);
}
