//! EX-JRN-25 to EX-JRN-31, EX-JRN-65: the public projection of a journal.

use gallivant_core::journal::{
    Content, Event, GapReason, LogReader, Projected, Projection, Provenance, Row, RowContent,
};
use gallivant_core::json::Value;
use gallivant_core::testing::{Errno, Fault, Simulation};
use gallivant_core::{Code, Result};

use crate::support::run::{LOG, RUN, append, event, machine, page};

const LINES: &str = "/task/run-1/job.log";
const INDEX: &str = "/task/run-1/job.idx";
const META: &str = "/task/run-1/log-meta.json";

fn project(machine: &Simulation) -> Result<Projected> {
    Projection::open(RUN, &machine.host())?.catch_up()
}

fn trim(machine: &Simulation, keep: u64) -> Result<Projected> {
    Projection::open(RUN, &machine.host())?.trim(keep)
}

fn tail(machine: &Simulation) -> Vec<Row> {
    LogReader::open(RUN, &machine.host()).expect("opens").tail().expect("read").rows
}

/// Rows as short text: `id:text`, `id!` for a gap and `!reason` for one without an id.
fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .map(|row| match (&row.id, &row.content) {
            (Some(id), RowContent::Line(text)) => format!("{id}:{text}"),
            (Some(id), RowContent::Gap(_)) => format!("{id}!"),
            (None, RowContent::Gap(reason)) => format!("!{}", reason.map_or("", GapReason::word)),
            (None, RowContent::Line(text)) => panic!("a line without an id: {text}"),
        })
        .collect()
}

fn meta(machine: &Simulation) -> serde_json::Value {
    serde_json::from_slice(&machine.files.contents(META).expect("read")).expect("JSON")
}

fn indexed(machine: &Simulation) -> Vec<u64> {
    let bytes = machine.files.contents(INDEX).expect("read");
    bytes.chunks_exact(8).map(|entry| u64::from_le_bytes(entry.try_into().expect("eight"))).collect()
}

/// A machine whose journal has these events, projected.
fn projected(events: &[Event]) -> Simulation {
    let machine = machine();
    append(&machine, events).expect("appended");
    project(&machine).expect("projected");
    machine
}

#[test]
fn ex_jrn_25_a_line_for_each_record_with_its_text_and_an_entry_for_each_number() {
    let said = |id: &str, data: &str| Event {
        content: Content::Said { kind: "t\"".to_owned(), data: Value::parse(data).expect("JSON") },
        ..event(id, "")
    };
    let machine = projected(&[
        event("a", "plain \"text\"\n"),
        said("b", r#"{"b": 1.0, "a": [12345678901234567890]}"#),
        Event::gap("c", GapReason::Provider, Provenance::Provider),
        said("d", "null"),
    ]);
    let lines = String::from_utf8(machine.files.contents(LINES).expect("read")).expect("UTF-8");
    let expected = [
        "{\"sequence\":1,\"type\":\"output\",\"text\":\"plain \\\"text\\\"\\n\"}\n",
        "{\"sequence\":2,\"type\":\"t\\\"\",\"text\":\"{\\\"a\\\":[12345678901234567890],\\\"b\\\":1}\"}\n",
        "{\"sequence\":4,\"type\":\"t\\\"\",\"text\":\"null\"}\n",
    ];
    assert_eq!(lines, expected.concat());
    let second = expected[0].len() as u64;
    assert_eq!(indexed(&machine), [1, second + 1, 0, second + expected[1].len() as u64 + 1]);
}

#[test]
fn ex_jrn_26_an_entry_of_zero_is_a_gap_and_a_corrupt_record_has_one() {
    let machine = machine();
    append(&machine, &page(&["a", "b", "c", "d"])).expect("appended");
    let mut bytes = machine.files.contents(LOG).expect("read");
    let second = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 20;
    bytes[second] ^= 1;
    machine.files.overwrite(LOG, &bytes).expect("overwritten");
    project(&machine).expect("projected");
    assert_eq!(indexed(&machine)[1], 0);
    assert_eq!(shown(&tail(&machine)), ["1:x", "2!", "3:x", "4:x"]);
}

#[test]
fn ex_jrn_27_the_metadata_says_what_is_acknowledged() {
    let machine = projected(&page(&["a", "b"]));
    let bytes = machine.files.contents(LINES).expect("read").len();
    assert_eq!(
        meta(&machine),
        serde_json::json!({"version": 2, "encoding": "offset-plus-one", "firstSequence": 1, "nextSequence": 3,
            "byteOrder": "le", "logBytes": bytes})
    );
    let mode = |path: &str| machine.files.metadata(path).expect("there").mode;
    assert_eq!([LINES, INDEX, META].map(mode), [0o600; 3]);
    machine.files.plant_file(META, "{\"version\":3}").expect("planted");
    for refused in [project(&machine).err(), trim(&machine, 0).err()] {
        let refused = refused.expect("refused");
        assert_eq!((refused.code(), refused.reason()), (Code::ExecutionVersion, Some("log-meta")));
    }
    assert_eq!(machine.files.contents(META).expect("read"), b"{\"version\":3}");
}

#[test]
fn ex_jrn_28_numbers_never_change_and_what_is_projected_is_not_written_again() {
    let machine = projected(&page(&["a", "b"]));
    let before = machine.files.contents(LINES).expect("read");
    machine.files.forget_operations();
    project(&machine).expect("projected");
    assert!(machine.files.counts().keys().all(|kind| !kind.is_mutating()), "{:?}", machine.files.trace());
    append(&machine, &page(&["c"])).expect("appended");
    assert_eq!(project(&machine).expect("projected").next, 4);
    assert!(machine.files.contents(LINES).expect("read").starts_with(&before));
    assert_eq!(shown(&tail(&machine)), ["1:x", "2:x", "3:x"]);
}

#[test]
fn ex_jrn_29_trimming_drops_whole_old_lines_and_nothing_else() {
    for keep in [0, 1, 45, 46, 90, 91, 92, 150, 1000] {
        let machine = projected(&page(&["a", "b", "c", "d", "e"]));
        let whole = machine.files.contents(LINES).expect("read");
        let journal = machine.files.contents(LOG).expect("read");
        let trimmed = trim(&machine, keep).expect("trimmed");
        let kept = machine.files.contents(LINES).expect("read");
        assert!(kept.len() as u64 <= keep && whole.ends_with(&kept), "{keep}");
        assert!(kept.is_empty() || kept.starts_with(b"{\"sequence\":"), "whole lines, {keep}");
        let lines = kept.iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!((trimmed.first, trimmed.next), (6 - lines, 6), "{keep}");
        let numbers: Vec<String> = (trimmed.first..6).map(|number| format!("{number}:x")).collect();
        let lost = (trimmed.first > 1).then(|| "!retained".to_owned());
        assert_eq!(shown(&tail(&machine)), lost.into_iter().chain(numbers).collect::<Vec<_>>(), "{keep}");
        assert_eq!(machine.files.contents(LOG).expect("read"), journal);
        append(&machine, &page(&["f"])).expect("appended");
        assert_eq!(project(&machine).expect("projected").next, 7);
        assert_eq!(shown(&tail(&machine)).last().map(String::as_str), Some("6:x"), "{keep}");
        let names = machine.files.names(RUN).expect("listed");
        assert!(!names.iter().any(|name| name.contains("tmp")), "{names:?}");
    }
}

/// Everything is whole: rows in order from the first retained number on, and none but the journal's.
fn assert_whole(machine: &Simulation, count: u64, at: &str) {
    let projected = project(machine).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert_eq!(projected.next, count + 1, "{at}");
    let expected: Vec<String> = (projected.first..=count)
        .map(|number| if number == 3 { "3!".to_owned() } else { format!("{number}:x") })
        .collect();
    let found = shown(&tail(machine));
    let lost = usize::from(projected.first > 1);
    assert_eq!(found[lost..], expected, "{at}");
}

#[test]
fn ex_jrn_30_a_crash_at_any_operation_of_projecting_and_trimming_leaves_what_can_be_made_whole() {
    let events = || {
        let mut events = page(&["a", "b", "c", "d", "e", "f"]);
        events[2] = Event::gap("c", GapReason::Provider, Provenance::Provider);
        events
    };
    type Act = fn(&Simulation) -> Result<Projected>;
    let acts: [(&str, bool, Act); 4] = [
        ("projecting for the first time", false, project),
        ("projecting more", true, project),
        ("trimming", true, |machine| trim(machine, 100)),
        ("trimming everything", true, |machine| trim(machine, 0)),
    ];
    for (name, is_second, act) in acts {
        let prepared = || {
            let machine = machine();
            append(&machine, &events()[..4]).expect("appended");
            if is_second {
                project(&machine).expect("projected");
                append(&machine, &events()[4..]).expect("appended");
                if name.starts_with("trim") {
                    project(&machine).expect("projected");
                }
            }
            machine.files.sync_everything();
            machine
        };
        let count = if is_second { 6 } else { 4 };
        let machine = prepared();
        let before = machine.files.last_number();
        act(&machine).expect("it works");
        let operations = machine.files.last_number() - before;
        assert!(operations > 10, "{name}");
        for number in 1..=operations {
            let machine = prepared();
            let first = machine.files.last_number() + number;
            machine.files.set_faults([Fault::crash_at(first)]);
            let _ = act(&machine);
            let at = format!("{name}, operation {number}");
            assert_whole(&machine.another_process(), count, &at);
            for image in prepared_images(&machine, number) {
                assert_whole(&image.1, count, &format!("{at}: {}", image.0));
            }
            let machine = prepared();
            machine.files.set_faults([Fault::error_at(machine.files.last_number() + number, Errno::EIO)]);
            let _ = act(&machine);
            machine.files.set_faults([]);
            assert_whole(&machine, count, &format!("{at} failed"));
        }
    }
}

/// What the disk may hold after a crash of the machine at this moment.
fn prepared_images(machine: &Simulation, seed: u64) -> Vec<(String, Simulation)> {
    let images = machine.files.images_after_crash().seeded(seed, 4).step_by(5);
    images
        .map(|image| {
            let mut booted = machine.another_process();
            booted.files = image.files;
            (image.description, booted)
        })
        .collect()
}

#[test]
fn ex_jrn_31_what_is_missing_or_damaged_shows_as_gap_rows_and_renumbers_nothing() {
    let machine = projected(&page(&["a", "b", "c"]));
    let lines = machine.files.contents(LINES).expect("read");
    machine.files.overwrite(LINES, &lines[..lines.len() - 5]).expect("overwritten");
    assert_eq!(shown(&tail(&machine)), ["1:x", "2:x", "3!"]);
    let mut changed = lines.clone();
    changed[13] = b'7';
    machine.files.overwrite(LINES, &changed).expect("overwritten");
    assert_eq!(shown(&tail(&machine)), ["1!", "2:x", "3:x"], "another number is somebody else's line");
    machine.files.unplant(LINES).expect("removed");
    assert_eq!(shown(&tail(&machine)), ["1!", "2!", "3!"]);
    // The next line that comes brings the others back from the journal.
    append(&machine, &page(&["d"])).expect("appended");
    project(&machine).expect("projected");
    assert_eq!(shown(&tail(&machine)), ["1:x", "2:x", "3:x", "4:x"]);
    let index = machine.files.contents(INDEX).expect("read");
    machine.files.overwrite(INDEX, &index[..17]).expect("overwritten");
    assert_eq!(shown(&tail(&machine)), ["1:x", "2:x", "3!", "4!"]);
}

#[test]
fn ex_jrn_65_a_missing_index_is_one_gap_and_the_next_append_starts_a_new_one() {
    let machine = projected(&page(&["a", "b", "c"]));
    machine.files.unplant(INDEX).expect("removed");
    assert_eq!(shown(&tail(&machine)), ["!index-missing"]);
    append(&machine, &page(&["d", "e"])).expect("appended");
    let now = project(&machine).expect("projected");
    assert_eq!((now.first, now.next), (4, 6));
    assert_eq!(meta(&machine)["firstSequence"], 4);
    assert_eq!(shown(&tail(&machine)), ["!retained", "4:x", "5:x"]);
}
