//! EX-JRN-36 and EX-JRN-39 to EX-JRN-45: a local run's raw output, page by page.

use gallivant_core::Code;
use gallivant_core::journal::{MAX_PAGE_BYTES, MAX_PAGE_RECORDS, Next};
use gallivant_core::testing::Simulation;

use crate::support::output::{
    ENDED, LIVE, REDACTIONS, STATE, drain, local_journal, output, redactions, said, say, serve, stands,
    state, with_output,
};
use crate::support::run::LOG;

const PAGE: usize = MAX_PAGE_BYTES as usize;

fn planted(cursor: u64, discarding: bool) -> String {
    format!(
        "{{\"version\":1,\"cursor\":{cursor},\"pending\":true,\"discarding\":{discarding},\"page\":null}}"
    )
}

/// The bytes that were read at offsets of files that are not written.
fn reads(machine: &Simulation) -> usize {
    let of_raw = |text: &str| text.starts_with("read_at provider.log");
    machine.files.trace().iter().filter(|text| of_raw(text)).count()
}

#[test]
fn ex_jrn_36_a_page_has_at_most_a_hundred_records_and_a_quarter_of_a_mebibyte() {
    let machine = with_output("x\n".repeat(250));
    let turns: Vec<_> = (0..3).map(|_| serve(&machine, LIVE).expect("served")).collect();
    assert_eq!(turns.iter().map(|turn| turn.records).collect::<Vec<_>>(), [MAX_PAGE_RECORDS, 100, 50]);
    assert_eq!(said(&machine).len(), 250);
    // By bytes: four records of 65,000, then what is left; the byte before the cursor is a part of the second page.
    let record = format!("{}\n", "y".repeat(64_999));
    let machine = with_output(record.repeat(9));
    let turns: Vec<_> = (0..3).map(|_| serve(&machine, LIVE).expect("served")).collect();
    assert_eq!(turns.iter().map(|turn| turn.records).collect::<Vec<_>>(), [4, 4, 1]);
    assert!(turns.iter().all(|turn| turn.bytes < MAX_PAGE_BYTES));
    // What is saved of a page is as short, also where its text is six times as long in JSON.
    let machine = with_output(format!("{}\n", "\u{1}".repeat(9_000)).repeat(30));
    let mut seen = 0;
    while let Next::Page(page) = output(&machine).next(LIVE).expect("looked at") {
        output(&machine).save(&page).expect("saved");
        assert!(machine.files.contents(STATE).expect("a state").len() <= PAGE);
        local_journal(&machine).expect("opens").append(&page.events).expect("appended");
        output(&machine).finish(&page).expect("finished");
        seen += page.events.len();
    }
    assert_eq!((seen, said(&machine).len()), (30, 30));
}

#[test]
fn ex_jrn_39_the_state_has_cursor_pending_discarding_and_the_redacted_page() {
    let machine = with_output("retained-word one\nsupplied-word\n");
    let Next::Page(page) = output(&machine).next(LIVE).expect("looked at") else { panic!("no page") };
    output(&machine).save(&page).expect("saved");
    let text = String::from_utf8(machine.files.contents(STATE).expect("a state")).expect("UTF-8");
    assert!(!text.contains("retained-word") && !text.contains("supplied-word"), "{text}");
    let saved: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let members: Vec<_> = saved.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected = ["version", "cursor", "pending", "discarding", "page"];
    expected.sort_unstable();
    let mut members = members;
    members.sort_unstable();
    assert_eq!(members, expected);
    let page = &saved["page"];
    assert_eq!((page["start"].as_u64(), page["end"].as_u64()), (Some(0), Some(32)));
    assert_eq!(page["events"][0]["data"], "[redacted] one");
    serve(&machine, LIVE).expect("served");
    assert_eq!(state(&machine), (32, false, false, false));
    assert_eq!(said(&machine), ["0:[redacted] one", "18:[redacted]"]);
    assert_eq!(machine.files.metadata(STATE).expect("it stands").mode & 0o777, 0o600);
    // `pending` says whether bytes wait; members of a later package stay.
    stands(
        &machine,
        "{\"version\":1,\"cursor\":32,\"pending\":false,\"discarding\":false,\"page\":null,\"later\":[1]}",
    );
    say(&machine, "retained-word one\nsupplied-word\nhalf");
    serve(&machine, LIVE).expect("served");
    assert_eq!(state(&machine), (32, true, false, false));
    let text = String::from_utf8(machine.files.contents(STATE).expect("a state")).expect("UTF-8");
    assert!(text.contains("\"later\":[1]"), "{text}");
}

#[test]
fn ex_jrn_40_a_saved_page_is_appended_again_and_the_keys_remove_what_is_there() {
    let machine = with_output("a\nb\nc\n");
    let mut local = output(&machine);
    let Next::Page(page) = local.next(LIVE).expect("looked at") else { panic!("no page") };
    local.save(&page).expect("saved");
    assert_eq!(state(&machine), (0, true, false, true));
    // The process ends after a part of the page, and the raw bytes have changed by the time of the next one.
    local_journal(&machine).expect("opens").append(&page.events[..2]).expect("appended");
    say(&machine, "other\nbytes\n");
    let next = machine.another_process();
    assert_eq!(output(&next).next(LIVE).expect("looked at"), Next::Page(page.clone()));
    serve(&next, LIVE).expect("served");
    assert_eq!(said(&next), ["0:a", "2:b", "4:c"]);
    assert_eq!(state(&next).0, 6);
    // Neither a page that was not saved nor one that stands elsewhere can be finished or saved.
    for error in [local.finish(&page).expect_err("not saved"), local.save(&page).expect_err("not the next")] {
        assert_eq!(error.code(), Code::ExecutionInput);
    }
}

#[test]
fn ex_jrn_41_a_record_is_named_after_its_first_byte() {
    let machine = with_output("one\n\nzwölf\nlast\n");
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["0:one", "4:", "5:zwölf", "12:last"]);
}

#[test]
fn ex_jrn_42_the_end_without_a_newline_waits_until_the_run_has_exited() {
    let machine = with_output("one\nt");
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["0:one"]);
    assert_eq!(state(&machine), (4, true, false, false));
    assert_eq!(output(&machine).next(LIVE).expect("looked at"), Next::Waiting);
    say(&machine, "one\ntwo\nthree");
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["0:one", "4:two"]);
    drain(&machine, ENDED);
    assert_eq!(said(&machine), ["0:one", "4:two", "8:three"]);
    assert_eq!(state(&machine), (13, false, false, false));
    assert_eq!(output(&machine).next(ENDED).expect("looked at"), Next::Drained);
}

#[test]
fn ex_jrn_43_a_record_that_does_not_end_within_a_page_is_one_gap() {
    let long = "z".repeat(PAGE + 10);
    let machine = with_output(format!("{long}\nnext\n"));
    assert_eq!(serve(&machine, LIVE).expect("served").records, 1);
    assert_eq!(said(&machine), ["0!oversized-record"]);
    assert_eq!(state(&machine), (MAX_PAGE_BYTES, true, true, false));
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["0!oversized-record".to_owned(), format!("{}:next", PAGE + 11)]);
    // Behind other records it begins a page of its own.
    let machine = with_output(format!("one\n{long}\nnext\n"));
    assert_eq!(serve(&machine, LIVE).expect("served").bytes, 4);
    drain(&machine, LIVE);
    assert_eq!(said(&machine)[..2], ["0:one", "4!oversized-record"]);
    // One that fits the page and no journal record is the journal's gap, and nothing of it is discarded.
    for text in ["z".repeat(70_000), "\u{2}".repeat(20_000), "z".repeat(65_400)] {
        let machine = with_output(format!("{text}\nnext\n"));
        drain(&machine, LIVE);
        let next = format!("{}:next", text.len() + 1);
        assert_eq!(said(&machine), ["0!oversized-record".to_owned(), next]);
        assert!(!state(&machine).2);
    }
    // A short record whose marks are much longer than what they cover.
    let machine = with_output(format!("{}\nnext\n", "ab ".repeat(10_000)));
    machine.files.plant_file(REDACTIONS, redactions(&["ab"])).expect("planted");
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["0!oversized-record", "30001:next"]);
}

#[test]
fn ex_jrn_44_what_is_discarded_goes_up_to_the_next_newline_and_not_further() {
    let rest = "r".repeat(2 * PAGE);
    let raw = format!("{}{rest}", "z".repeat(PAGE));
    let machine = with_output(raw.clone());
    // At the end of what a live run has said the flag stays.
    drain(&machine, LIVE);
    assert_eq!(state(&machine), (3 * MAX_PAGE_BYTES, false, true, false));
    assert_eq!(said(&machine), ["0!oversized-record"]);
    say(&machine, format!("{raw}rr\nnext\n"));
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["0!oversized-record".to_owned(), format!("{}:next", 3 * PAGE + 3)]);
    assert!(!state(&machine).2);
    // After the exit the rest goes too, without a newline.
    let machine = with_output(raw);
    drain(&machine, ENDED);
    assert_eq!(state(&machine), (3 * MAX_PAGE_BYTES, false, false, false));
    assert_eq!(said(&machine), ["0!oversized-record"]);
    let log = String::from_utf8(machine.files.contents(LOG).expect("a log")).expect("UTF-8");
    assert!(!log.contains("rrr"), "a discarded byte is shown");
}

#[test]
fn ex_jrn_45_discarding_is_remembered_and_an_older_cursor_within_a_record_is_noticed() {
    // In the state, by another process.
    let machine = with_output("rest of it\nnext\n");
    stands(&machine, &planted(3, true));
    drain(&machine.another_process(), LIVE);
    assert_eq!(said(&machine), ["11:next"]);
    // Without the flag: the byte before the cursor tells, and there is no further gap.
    let machine = with_output("rest of it\nnext\n");
    stands(&machine, &planted(3, false));
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["11:next"]);
    // A cursor behind a newline loses nothing.
    let machine = with_output("rest of it\nnext\n");
    stands(&machine, &planted(11, false));
    drain(&machine, LIVE);
    assert_eq!(said(&machine), ["11:next"]);
    // Of an older record the rest may be longer than a page; the flag is in the saved page too.
    let machine = with_output(format!("{}\nnext\n", "o".repeat(PAGE + 100)));
    stands(&machine, &planted(7, false));
    let Next::Page(page) = output(&machine).next(LIVE).expect("looked at") else { panic!("no page") };
    // The one byte before the cursor counts.
    assert_eq!((page.end, page.discarding, page.events.len()), (7 + MAX_PAGE_BYTES - 1, true, 0));
    output(&machine).save(&page).expect("saved");
    let next = machine.another_process();
    drain(&next, LIVE);
    assert_eq!(said(&next), [format!("{}:next", PAGE + 101)]);
}

#[test]
fn a_page_is_read_at_once_and_within_its_limit() {
    let machine = with_output("x\n".repeat(PAGE));
    let another = machine.another_process();
    serve(&another, LIVE).expect("served");
    assert_eq!(reads(&another), 1, "{:?}", another.files.trace());
}

/// However a file grows between turns, the records are those of the whole file, each once, and no secret is shown.
#[test]
fn ex_jrn_42_however_the_file_grows_the_records_are_those_of_the_whole() {
    for seed in 1..=12_u64 {
        let mut chance = seed;
        let mut draw = |below: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % below
        };
        let (mut raw, mut expected) = (String::new(), Vec::new());
        let records = 20 + draw(200);
        for number in 0..records {
            let (start, kind) = (raw.len(), draw(60));
            match kind {
                0 => raw.push_str(&"l".repeat(70_000)),
                1 => raw.push_str(&"l".repeat(PAGE + 500)),
                2..=9 => raw.push_str("a retained-word b"),
                10 => {}
                _ => raw.push_str(&"s".repeat(usize::try_from(draw(200)).expect("small"))),
            }
            expected.push(match kind {
                0 | 1 => format!("{start}!oversized-record"),
                2..=9 => format!("{start}:a [redacted] b"),
                _ => format!("{start}:{}", &raw[start..]),
            });
            if number + 1 < records || draw(2) == 0 {
                raw.push('\n');
            }
        }
        // An end without a newline and without a byte is no record.
        if expected.last().is_some_and(|last| *last == format!("{}:", raw.len())) {
            expected.pop();
        }
        let machine = with_output("");
        let mut length = 0;
        while length < raw.len() {
            let most = if draw(3) == 0 { 300_000 } else { 400 };
            length = raw.len().min(length + 1 + usize::try_from(draw(most)).expect("small"));
            say(&machine, &raw.as_bytes()[..length]);
            serve(&machine, LIVE).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        drain(&machine, ENDED);
        assert_eq!(said(&machine), expected, "seed {seed}");
        assert_eq!(state(&machine), (raw.len() as u64, false, false, false), "seed {seed}");
        let log = String::from_utf8(machine.files.contents(LOG).expect("a log")).expect("UTF-8");
        assert!(!log.contains("retained"), "seed {seed}");
    }
}
