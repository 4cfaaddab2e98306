//! EX-JRN-61 to EX-JRN-72, EX-JRN-86: tail, history, replay.

use std::sync::Arc;
use std::time::Duration;

use gallivant_core::clock::Clock;
use gallivant_core::journal::{
    Event, Frame, LogReader, MAX_PENDING_BYTES, MAX_ROWS, Projection, Replay, Row, RowContent, Window,
};
use gallivant_core::testing::{ManualClock, OperationKind, Simulation};
use gallivant_core::{Code, Host};

use crate::support::in_forked_child;
use crate::support::run::{RUN, event, journal, machine, owner};

const LINES: &str = "/task/run-1/job.log";

/// Appends events with these texts and projects them.
fn say(machine: &Simulation, first: usize, texts: &[String]) {
    let events: Vec<Event> =
        (first..).zip(texts).map(|(number, text)| event(&format!("e{number}"), text)).collect();
    let mut journal = journal(machine);
    for page in events.chunks(100) {
        journal.append(page).expect("appended");
    }
    Projection::open(RUN, &machine.host()).expect("opens").catch_up().expect("projected");
    machine.files.sync_everything();
}

fn numbered(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|number| format!("text {number}")).collect()
}

/// A machine with so many lines.
pub(crate) fn lines(count: usize) -> Simulation {
    let machine = machine();
    say(&machine, 1, &numbered(1, count));
    machine
}

fn trim(machine: &Simulation, keep: u64) -> u64 {
    Projection::open(RUN, &machine.host()).expect("opens").trim(keep).expect("trimmed").first
}

pub(crate) fn reader(machine: &Simulation) -> LogReader {
    LogReader::open(RUN, &machine.host()).expect("opens")
}

fn ids(window: &Window) -> Vec<&str> {
    window.rows.iter().map(|row| row.id.as_deref().unwrap_or("-")).collect()
}

fn replay(machine: &Simulation, last: Option<&str>) -> Replay {
    Replay::open(RUN, last, &machine.host()).expect("opens")
}

/// Every frame that is there without waiting.
fn frames(replay: &mut Replay) -> Vec<Frame> {
    std::iter::from_fn(|| replay.poll().expect("polled")).collect()
}

fn frame_ids(replay: &mut Replay) -> Vec<String> {
    frames(replay).into_iter().map(|frame| frame.id.unwrap_or_else(|| frame.event.to_owned())).collect()
}

fn strings(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|number| number.to_string()).collect()
}

#[test]
fn ex_jrn_61_a_window_is_bounded_in_rows_bytes_index_and_line() {
    let machine = lines(1000);
    machine.files.forget_operations();
    let window = reader(&machine).tail().expect("read");
    assert_eq!((window.rows.len(), ids(&window)[0]), (MAX_ROWS, "601"));
    let reads = machine.files.counts()[&OperationKind::ReadAt];
    assert_eq!(reads, 2, "the index once, the lines once");
    // Bytes of data: lines of 60,000 bytes, of which four fit.
    let machine = self::machine();
    say(&machine, 1, &vec!["y".repeat(60_000); 6]);
    assert_eq!(reader(&machine).tail().expect("read").rows.len(), 4);
    // JSON escapes count: 33,000 quotation marks are 66,000 bytes of a line, and a record would be too long with them.
    let machine = self::machine();
    say(&machine, 1, &["a".to_owned(), "z".repeat(65_200), "b".to_owned()]);
    let shown: Vec<_> = reader(&machine).tail().expect("read").rows;
    assert_eq!(shown.len(), 3);
    // A line that an older writer made too long becomes a gap, and its neighbours stay.
    let long = machine.files.contents(LINES).expect("read");
    let text = String::from_utf8(long).expect("UTF-8");
    let parts: Vec<&str> = text.split_inclusive('\n').collect();
    let wider = format!("{{\"sequence\":2,\"type\":\"output\",\"text\":\"{}\"}}\n", "z".repeat(70_000));
    let bytes = [parts[0], wider.as_str(), "{\"sequence\":3,\"type\":\"output\",\"text\":\"b\"}\n"].concat();
    machine.files.plant_file(LINES, bytes.clone()).expect("planted");
    let third = (parts[0].len() + wider.len() + 1) as u64;
    let index: Vec<u8> =
        [1, parts[0].len() as u64 + 1, third].iter().flat_map(|entry| entry.to_le_bytes()).collect();
    machine.files.plant_file("/task/run-1/job.idx", index).expect("planted");
    let meta = machine.files.contents("/task/run-1/log-meta.json").expect("read");
    let old = format!("\"logBytes\":{}", text.len());
    let meta =
        String::from_utf8(meta).expect("UTF-8").replace(&old, &format!("\"logBytes\":{}", bytes.len()));
    machine.files.plant_file("/task/run-1/log-meta.json", meta).expect("planted");
    let rows = reader(&machine).tail().expect("read").rows;
    assert_eq!(rows[1].to_json(), r#"{"id":"2","kind":"gap","reason":"oversized-record"}"#);
    assert_eq!(rows[2].content, RowContent::Line("b".to_owned()));
}

#[test]
fn ex_jrn_62_a_window_has_rows_and_the_cursors_around_them() {
    let machine = lines(3);
    let window = reader(&machine).tail().expect("read");
    assert_eq!(window.rows[0].to_json(), r#"{"id":"1","kind":"line","text":"text 1"}"#);
    assert_eq!((window.before.as_deref(), window.after.as_deref()), (None, Some("3")));
    let empty = reader(&self::machine()).tail().expect("read");
    assert_eq!(empty, Window::default());
    let window = reader(&lines(500)).tail().expect("read");
    assert_eq!(window.before.as_deref(), Some("101"));
}

#[test]
fn ex_jrn_63_a_row_id_is_the_number_in_the_journal_for_ever() {
    let machine = lines(30);
    let before = reader(&machine).tail().expect("read").rows;
    let first = trim(&machine, 500);
    assert!(first > 10);
    let after = reader(&machine).tail().expect("read").rows;
    assert_eq!(after[1..], before[usize::try_from(first).expect("small") - 1..]);
}

#[test]
fn ex_jrn_64_a_log_without_index_and_metadata_is_legacy() {
    let machine = machine();
    machine.files.plant_file(LINES, "one\ntwo\nhalf").expect("planted");
    let window = reader(&machine).tail().expect("read");
    assert_eq!(ids(&window), ["1", "2"], "a line without its newline is not there yet");
    assert_eq!(ids(&reader(&machine).history("2").expect("read")), ["1"]);
    assert_eq!(ids(&reader(&machine).lines(Some("1"), 9).expect("read")), ["2"]);
    // Above 262,144 bytes only a suffix is read, and an id says where its line begins.
    let lines: Vec<String> = (0..30_000).map(|number| format!("line {number:05}\n")).collect();
    machine.files.plant_file(LINES, lines.concat()).expect("planted");
    machine.files.forget_operations();
    let window = reader(&machine).tail().expect("read");
    assert_eq!((window.rows.len(), ids(&window)[399]), (400, "byte:329989"), "{:?}", &ids(&window)[395..]);
    let older = reader(&machine).history(window.before.as_deref().expect("older")).expect("read");
    assert_eq!(older.after, Some(format!("byte:{}", 329_989 - 400 * 11)));
    let refused = reader(&machine).history("byte:7").expect_err("not in the suffix");
    assert_eq!(refused.code(), Code::ExecutionInput);
    assert!(Projection::open(RUN, &machine.host()).expect("opens").catch_up().is_ok(), "no journal, no work");
    assert_eq!(machine.files.contents(LINES).expect("read").len(), 330_000);
}

#[test]
fn ex_jrn_66_history_is_the_window_that_ends_just_before() {
    let machine = lines(1000);
    let mut cursor = reader(&machine).tail().expect("read").before;
    let mut seen = Vec::new();
    while let Some(before) = cursor {
        let window = reader(&machine).history(&before).expect("read");
        assert_eq!(window.after, Some((before.parse::<u64>().expect("a number") - 1).to_string()));
        seen.splice(0..0, window.rows.iter().filter_map(|row| row.id.clone()));
        cursor = window.before;
    }
    assert_eq!(seen, strings(1, 600));
    for never in ["0", "1001", "x", "01", "-1", ""] {
        assert_eq!(reader(&machine).history(never).expect_err(never).code(), Code::ExecutionInput);
    }
}

#[test]
fn ex_jrn_67_a_replay_resumes_just_after_its_id_or_begins_with_a_gap() {
    let machine = lines(50);
    assert_eq!(frame_ids(&mut replay(&machine, Some("47"))), strings(48, 50));
    assert_eq!(frame_ids(&mut replay(&machine, Some("50"))), Vec::<String>::new());
    let first = usize::try_from(trim(&machine, 400)).expect("small");
    for last in [1, first - 2] {
        let mut replay = replay(&machine, Some(&last.to_string()));
        let found = frames(&mut replay);
        assert_eq!(found[0].data, r#"{"id":null,"kind":"gap","reason":"retained"}"#);
        let ids: Vec<_> = found[1..].iter().filter_map(|frame| frame.id.clone()).collect();
        assert_eq!(ids, strings(first, 50), "after {last}");
    }
    // The row itself is gone, but none after it is.
    assert_eq!(frame_ids(&mut replay(&machine, Some(&(first - 1).to_string()))), strings(first, 50));
}

#[test]
fn ex_jrn_68_an_id_that_was_never_issued_starts_at_the_oldest_row_with_a_gap_first() {
    let machine = lines(5);
    for never in ["6", "99", "0", "made-up", "007", ""] {
        let ids = frame_ids(&mut replay(&machine, Some(never)));
        assert_eq!(ids, [vec!["gap".to_owned()], strings(1, 5)].concat(), "{never}");
    }
    let first = usize::try_from(trim(&machine, 100)).expect("small");
    assert_eq!(
        frame_ids(&mut replay(&machine, Some("99"))),
        [vec!["gap".to_owned()], strings(first, 5)].concat()
    );
}

#[test]
fn ex_jrn_69_a_frame_has_an_id_an_event_and_one_line_of_data() {
    let machine = machine();
    say(&machine, 1, &["two\nlines".to_owned()]);
    let frame = frames(&mut replay(&machine, None)).remove(0);
    let expected = Frame {
        id: Some("1".to_owned()),
        event: "line",
        data: r#"{"id":"1","kind":"line","text":"two\nlines"}"#.to_owned(),
    };
    assert_eq!(frame, expected);
    let row = Row { id: Some("1".to_owned()), content: RowContent::Line("two\nlines".to_owned()) };
    assert_eq!(Row::from_json(&frame.data), Some(row));
    for gap in [r#"{"id":null,"kind":"gap","reason":"retained"}"#, r#"{"id":"4","kind":"gap"}"#] {
        assert_eq!(Row::from_json(gap).map(|row| row.to_json()).as_deref(), Some(gap));
    }
    for other in [
        "",
        "{}",
        r#"{"id":"1","kind":"line"}"#,
        r#"{"id":1,"kind":"gap"}"#,
        r#"{"id":"1","kind":"gap","reason":"x"}"#,
    ] {
        assert_eq!(Row::from_json(other), None, "{other}");
    }
}

#[test]
fn ex_jrn_70_a_heartbeat_after_twenty_seconds_and_bounded_pending_bytes() {
    let machine = lines(1);
    let mut replay = replay(&machine, None);
    assert_eq!(frames(&mut replay).len(), 1);
    assert_eq!(replay.next(Some(Duration::from_millis(19_999))).expect("waited"), None);
    let beat = replay.next(Some(Duration::from_millis(1))).expect("waited").expect("a heartbeat");
    assert_eq!((beat.id, beat.event, beat.data.as_str()), (None, "heartbeat", ""));
    assert_eq!(replay.next(Some(Duration::from_secs(19))).expect("waited"), None);
    // A full buffer stops reading.
    say(&machine, 2, &vec!["w".repeat(50_000); 40]);
    let mut replay = self::replay(&machine, Some("1"));
    replay.read_ahead().expect("read");
    let held = replay.pending_bytes();
    assert!(held > 200_000 && held <= MAX_PENDING_BYTES, "{held}");
    machine.files.forget_operations();
    replay.read_ahead().expect("read");
    assert_eq!(machine.files.operations(), []);
    let mut ids = Vec::new();
    assert!(replay.has_unread(), "there was no room for more");
    while let Some(frame) = replay.poll().expect("polled") {
        assert!(replay.pending_bytes() <= MAX_PENDING_BYTES);
        ids.extend(frame.id);
    }
    assert_eq!((ids, replay.has_unread()), (strings(2, 41), false));
}

#[test]
fn ex_jrn_70_of_the_two_halves_of_a_poll_one_reads_and_the_other_hands_out() {
    let machine = lines(2);
    let mut replay = replay(&machine, None);
    let take = |replay: &mut Replay| replay.take().expect("taken").map(|frame| frame.event);
    // What was never read is neither handed out nor passed over for a heartbeat.
    machine.clock.advance(Duration::from_secs(30));
    assert_eq!((take(&mut replay), replay.due_in()), (None, Duration::ZERO));
    replay.look().expect("looked");
    machine.files.forget_operations();
    assert_eq!((take(&mut replay), take(&mut replay)), (Some("line"), Some("line")));
    assert_eq!(take(&mut replay), None);
    assert_eq!(machine.files.operations(), [], "handing out reads nothing");
    // The simulated disk tells nobody: a look is due after a second.
    assert_eq!(replay.due_in(), Duration::from_secs(1));
    machine.clock.advance(Duration::from_secs(20));
    replay.look().expect("looked");
    assert_eq!((take(&mut replay), take(&mut replay)), (Some("heartbeat"), None));
}

#[test]
fn ex_jrn_71_closing_a_replay_gives_everything_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0);
    // In a child no descriptor comes and goes by what other tests do.
    let failed = in_forked_child(|| {
        let before = open();
        let mut replays: Vec<Replay> =
            (0..20).map(|_| Replay::open(directory.path(), None, &Host::system()).expect("opens")).collect();
        let is_quiet = replays.iter_mut().all(|replay| replay.poll().expect("polled").is_none());
        let during = open();
        let waker = replays[0].waker();
        replays.into_iter().for_each(Replay::close);
        let after = open();
        waker.wake();
        u8::from(!is_quiet) | u8::from(during < before + 20) << 1 | u8::from(after != before) << 2
    });
    assert_eq!(failed, 0);
}

#[test]
fn ex_jrn_71_a_replay_of_a_run_whose_directory_is_removed_ends_at_its_next_heartbeat() {
    let root = tempfile::tempdir().expect("a directory");
    let clock = Arc::new(ManualClock::new(1_000_000));
    let host = Host { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Host::system() };
    let run = root.path().join("r-1");
    std::fs::create_dir(&run).expect("made");
    let reader = LogReader::open(&run, &host).expect("opens");
    let mut replay = Replay::open(&run, None, &host).expect("opens");
    assert_eq!(replay.poll().expect("polled"), None);
    clock.advance(Duration::from_secs(20));
    assert_eq!(replay.poll().expect("polled").expect("a frame").event, "heartbeat", "it stands");
    std::fs::remove_dir(&run).expect("removed");
    clock.advance(Duration::from_secs(20));
    let codes = [replay.poll().map(drop), reader.tail().map(drop), reader.lines(None, 1).map(drop)]
        .map(|refused| refused.expect_err("there is none any more").code());
    assert_eq!(codes, [Code::ExecutionUnknownRun; 3]);
}

#[test]
fn ex_jrn_72_a_hundred_readers_at_their_own_pace_lose_nothing_and_see_nothing_twice() {
    let machine = lines(20);
    let mut readers: Vec<(Replay, Vec<String>)> =
        (0..100).map(|_| (replay(&machine, None), Vec::new())).collect();
    for round in 0..30 {
        say(&machine, 21 + round * 10, &numbered(21 + round * 10, 30 + round * 10));
        for (number, (replay, seen)) in readers.iter_mut().enumerate() {
            for _ in 0..number % 17 {
                if let Some(frame) = replay.poll().expect("polled") {
                    seen.extend(frame.id);
                }
            }
            assert!(replay.pending_bytes() <= MAX_PENDING_BYTES);
        }
    }
    for (replay, seen) in &mut readers {
        // The simulated disk tells nobody; a look is due after a second.
        seen.extend(frames(replay).into_iter().filter_map(|frame| frame.id));
        assert_eq!(*seen, strings(1, 320));
    }
}

#[test]
fn ex_jrn_72_a_frame_that_is_given_back_is_the_next_one_again() {
    let machine = lines(3);
    let mut replay = replay(&machine, Some("made-up"));
    for resume in ["made-up", "made-up", "1", "2", "3"] {
        let before = (replay.pending_bytes(), replay.resume_point().map(str::to_owned));
        let Some(frame) = replay.poll().expect("polled") else { break };
        replay.give_back(frame.clone());
        // The first look reads ahead.
        if before.0 > 0 {
            assert_eq!(replay.pending_bytes(), before.0);
        }
        assert_eq!((replay.resume_point(), before.1.as_deref()), (Some(resume), Some(resume)));
        assert_eq!(replay.poll().expect("polled"), Some(frame));
    }
    assert_eq!((replay.resume_point(), replay.pending_bytes()), (Some("3"), 0));
    // A wake ends the wait of a consumer that gives back for ever.
    say(&machine, 4, &numbered(4, 4));
    let mut replay = self::replay(&machine, Some("3"));
    let frame = replay.poll().expect("polled").expect("a row");
    replay.give_back(frame);
    replay.waker().wake();
    assert_eq!(replay.next(None).expect_err("woken").code(), Code::Cancelled);
    assert_eq!(replay.next(None).expect("pulled").expect("a row").id.as_deref(), Some("4"));
}

#[test]
fn a_replay_follows_a_live_log_on_the_real_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let host = Host::system();
    let mut follower = Replay::open(directory.path(), None, &host).expect("opens");
    let path = directory.path().to_owned();
    let writer = std::thread::spawn(move || {
        let host = Host::system();
        let redactor = crate::support::run::hiding("");
        let mut journal =
            gallivant_core::journal::Journal::open(&path, owner(), &host, &redactor).expect("opens");
        let mut projection = Projection::open(&path, &host).expect("opens");
        for number in 1..=60 {
            journal.append(&[event(&format!("e{number}"), "live")]).expect("appended");
            projection.catch_up().expect("projected");
            if number % 20 == 0 {
                projection.trim(10_000).expect("trimmed");
            }
        }
    });
    let mut seen = Vec::new();
    while seen.len() < 60 {
        let frame = follower.next(Some(Duration::from_secs(120))).expect("waited").expect("in time");
        seen.extend(frame.id);
    }
    writer.join().expect("it ends");
    assert_eq!(seen, strings(1, 60));
}

#[test]
fn ex_jrn_86_only_rows_move_the_cursor_and_it_begins_with_what_was_asked() {
    let machine = lines(3);
    let mut replay = replay(&machine, Some("made-up"));
    assert_eq!(replay.resume_point(), Some("made-up"));
    let gap = replay.poll().expect("polled").expect("a gap");
    assert_eq!((gap.id, replay.resume_point()), (None, Some("made-up")));
    replay.poll().expect("polled").expect("a row");
    assert_eq!(replay.resume_point(), Some("1"));
}

#[test]
fn c_030_every_row_is_delivered_once_or_lies_inside_a_gap() {
    let machine = lines(3);
    let tail = reader(&machine).tail().expect("read");
    assert_eq!(ids(&tail), ["1", "2", "3"]);
    say(&machine, 4, &numbered(4, 4));
    // Half a line behind what is acknowledged is nobody's.
    let whole = machine.files.contents(LINES).expect("read");
    machine
        .files
        .overwrite(LINES, &[whole.as_slice(), b"{\"sequence\":5,\"ty"].concat())
        .expect("overwritten");
    let next = reader(&machine).lines(tail.after.as_deref(), 400).expect("read");
    assert_eq!((ids(&next), next.after.as_deref()), (vec!["4"], Some("4")));
    say(&machine, 5, &numbered(5, 5));
    trim(&machine, 3 * 50);
    say(&machine, 6, &numbered(6, 6));
    let next = reader(&machine).lines(Some("4"), 400).expect("read");
    assert_eq!(ids(&next), ["5", "6"]);
    say(&machine, 7, &numbered(7, 9));
    assert_eq!(trim(&machine, 50), 9);
    let next = reader(&machine).lines(Some("6"), 400).expect("read");
    assert_eq!(ids(&next), ["-", "9"], "7 and 8 are a gap");
    let all = reader(&machine).tail().expect("read");
    assert_eq!(all.rows[0].to_json(), r#"{"id":null,"kind":"gap","reason":"retained"}"#);
}

#[test]
fn c_032_numbers_do_not_depend_on_where_reading_began_and_long_lines_are_gaps() {
    let machine = machine();
    say(&machine, 1, &vec!["r".repeat(300); 50]);
    machine.files.unplant(LINES).expect("removed");
    // Somebody made the line of record 20 into one of 12 MiB.
    let log = machine.files.contents("/task/run-1/events.jsonl").expect("read");
    let text = String::from_utf8(log).expect("UTF-8");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    lines[19] = format!("{}\n", "w".repeat(12 << 20));
    let bytes = lines.concat();
    let checkpoint = machine.files.contents("/task/run-1/journal.json").expect("read");
    let checkpoint = String::from_utf8(checkpoint)
        .expect("UTF-8")
        .replace(&format!("\"offset\":{}", text.len()), &format!("\"offset\":{}", bytes.len()));
    machine.files.plant_file("/task/run-1/events.jsonl", bytes).expect("planted");
    machine.files.plant_file("/task/run-1/journal.json", checkpoint).expect("planted");
    for name in ["log-meta.json", "job.idx"] {
        machine.files.unplant(format!("{RUN}/{name}")).expect("removed");
    }
    Projection::open(RUN, &machine.host()).expect("opens").catch_up().expect("projected");
    let whole = reader(&machine).lines(None, 400).expect("read").rows;
    assert_eq!(whole.len(), 50);
    assert_eq!(whole[19].to_json(), r#"{"id":"20","kind":"gap"}"#);
    assert_eq!(reader(&machine).history("31").expect("read").rows, whole[..30]);
    // A line of 700 MiB without a newline in an older package's log is not read, and the log is not missing.
    let directory = tempfile::tempdir().expect("a directory");
    let file = tempfile::NamedTempFile::new_in(directory.path()).expect("a file");
    file.as_file().set_len(700 << 20).expect("sparse");
    file.persist(directory.path().join("job.log")).expect("named");
    let window =
        LogReader::open(directory.path(), &Host::system()).expect("opens").tail().expect("read in bounds");
    assert_eq!(
        window.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
        [r#"{"id":null,"kind":"gap","reason":"retained"}"#]
    );
    let missing = LogReader::open(directory.path().join("none"), &Host::system()).expect_err("missing");
    assert_eq!(missing.code(), Code::ExecutionUnknownRun);
}

#[test]
fn ex_jrn_85_only_a_missing_file_reads_as_missing_here_too() {
    let machine = lines(3);
    for name in ["log-meta.json", "job.idx", "job.log"] {
        let kept = machine.files.contents(format!("{RUN}/{name}")).expect("read");
        machine.files.plant_directory(format!("{RUN}/elsewhere")).expect("planted");
        machine.files.plant_link(format!("{RUN}/{name}"), "nowhere").expect("planted");
        for failed in [reader(&machine).tail().err(), replay(&machine, None).poll().err()] {
            assert_eq!(failed.map(|error| error.code()), Some(Code::ExecutionIo), "{name}");
        }
        machine.files.plant_file(format!("{RUN}/{name}"), kept).expect("planted");
    }
}

#[test]
fn c_034_only_rows_carry_an_id_and_a_drop_repeats_the_last_one() {
    let machine = lines(2);
    let mut first = replay(&machine, None);
    assert_eq!(frame_ids(&mut first), ["1", "2"]);
    let resume = first.resume_point().map(str::to_owned);
    first.close();
    say(&machine, 3, &numbered(3, 4));
    // A connection that drops again before any row asks for the same.
    let again = replay(&machine, resume.as_deref());
    assert_eq!(again.resume_point(), Some("2"));
    again.close();
    let mut again = replay(&machine, resume.as_deref());
    assert_eq!(frame_ids(&mut again), ["3", "4"]);
    let beat = again.next(Some(Duration::from_secs(30))).expect("waited").expect("a heartbeat");
    assert_eq!((beat.id, again.resume_point()), (None, Some("4")));
}
