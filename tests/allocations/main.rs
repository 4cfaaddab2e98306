//! What is read again and again allocates nothing: one record by a reader's buffer, and each record of a fleet.
//! Nor does a piece of a stream that is redacted.

#![allow(clippy::disallowed_methods, reason = "a test makes and removes the files that it reads")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{
    Evidence, Fleet, FleetOptions, FleetProbe, Observation, Options, ReadBuffer, Reader, State,
    UnknownReason, Writer, WriterIdentity, adapters,
};
use gallivant_core::redaction::{Patterns, Redactor, Secrets, Stream};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks of it.
struct Counting;

fn count() {
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: each call is handed to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the same contract.
        unsafe { System.dealloc(place, layout) };
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the same contract.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(action: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    action();
    ALLOCATIONS.get() - before
}

fn writer(directory: &Path) -> Writer {
    let identity = WriterIdentity {
        agent: "worker".to_owned(),
        harness: "claude".to_owned(),
        pty_session: Some("worker".to_owned()),
        token: "tok".to_owned(),
    };
    let writer = Writer::open(directory, identity, None, &Options::default(), &Host::system());
    writer.and_then(|writer| writer.with_evidence(Evidence::Channel)).expect("a writer")
}

fn seen(state: State, reason: Option<&str>) -> Observation {
    let ended = Observation::ended(None);
    Observation { state, reason: reason.map(str::to_owned), ..ended }
}

/// What is done to the disk, and its name.
type Step<'a> = (&'a str, Box<dyn Fn() + 'a>);

fn reader(path: &Path) -> Reader {
    Reader::try_open(path, &Options::default(), &Host::system()).expect("a path")
}

#[test]
fn reading_into_a_buffer_allocates_nothing_after_the_first_time() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let writer = writer(directory.path());
    writer.observe(&seen(State::Idle, Some("waits"))).expect("written");
    let child = adapters::Child { id: "c1".to_owned(), step: adapters::ChildStep::Started };
    writer.note_child(&child).expect("noted");
    for path in [directory.path().to_owned(), directory.path().join("harness-state")] {
        let (reader, mut buffer) = (reader(&path), ReadBuffer::default());
        let first = allocations(|| assert!(reader.read_into(None, &mut buffer).is_some()));
        assert!(first > 0, "the first read makes the buffer");
        let next = allocations(|| {
            for _ in 0..100 {
                let seen = reader.read_into(None, &mut buffer).expect("a record");
                assert_eq!((seen.state, seen.reason), (State::Active, Some("children")));
                assert_eq!(seen.evidence_incarnation, Some("tok"));
            }
        });
        assert_eq!(next, 0, "{}", path.display());
    }
    // The buffer grows with what it has to hold, and then no more.
    let (reader, mut buffer) = (reader(directory.path()), ReadBuffer::default());
    for round in 0..40 {
        let reasons = [None, Some("a reason that is a good deal longer than the others"), Some("short")];
        writer.observe(&seen(State::Active, reasons[round % 3])).expect("written");
        let taken = allocations(|| {
            let seen = reader.read_into(None, &mut buffer).expect("a record");
            assert_eq!(seen.reason, reasons[round % 3]);
        });
        // The parser's own for the extension, which is an object in the record.
        assert!(round < 30 || taken <= 1, "round {round}: {taken} allocations");
    }
    // A record as other programs write it.
    let record = directory.path().join("harness-state");
    let line = |transitions: usize| {
        format!(
            "{{\"schema\":\"st2.harness-state.v1\",\"agent\":\"a\",\"harness\":\"h\",\"state\":\"idle\",\"blockedOn\":\
             \"none\",\"inputBuffer\":\"unknown\",\"sinceMs\":1,\"writtenAtMs\":1,\"transitions\":{transitions}}}\n"
        )
    };
    for round in 0..20 {
        std::fs::write(&record, line(round)).expect("written");
        let taken = allocations(|| {
            let seen = reader.read_into(None, &mut buffer).expect("a record");
            assert_eq!(seen.transition_sequence, Some(round as u64));
        });
        assert!(round < 4 || taken == 0, "round {round}: {taken} allocations");
    }
}

#[test]
fn a_buffer_says_what_a_reader_says_whatever_stands_there() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let seat = directory.path().join("seat");
    let record = seat.join("harness-state");
    let line = |reason: &str| {
        format!(
            "{{\"schema\":\"st2.harness-state.v1\",\"agent\":\"a\",\"harness\":\"h\",\"state\":\"idle\",\"blockedOn\":\
             \"none\",\"inputBuffer\":\"empty\",\"reason\":\"{reason}\",\"sinceMs\":1,\"writtenAtMs\":99999999999999,\
             \"transitions\":0}}\n"
        )
    };
    let mut buffers = [&seat, &record].map(|path| (reader(path), ReadBuffer::default()));
    let steps: Vec<Step<'_>> = vec![
        ("no directory", Box::new(|| {})),
        ("an empty directory", Box::new(|| std::fs::create_dir(&seat).expect("made"))),
        ("a record", Box::new(|| std::fs::write(&record, line("one")).expect("written"))),
        ("another", Box::new(|| std::fs::write(&record, line("\\u00e9\\n two")).expect("written"))),
        ("nonsense", Box::new(|| std::fs::write(&record, "{").expect("written"))),
        ("a record again", Box::new(|| std::fs::write(&record, line("three")).expect("written"))),
        ("too much", Box::new(|| std::fs::write(&record, vec![b' '; 4 << 20 | 1]).expect("written"))),
        (
            "a directory",
            Box::new(|| {
                std::fs::remove_file(&record).expect("removed");
                std::fs::create_dir(&record).expect("made");
            }),
        ),
        (
            "a link",
            Box::new(|| {
                std::fs::remove_dir(&record).expect("removed");
                std::fs::write(seat.join("elsewhere"), line("four")).expect("written");
                std::os::unix::fs::symlink("elsewhere", &record).expect("linked");
            }),
        ),
        ("a link to nothing", Box::new(|| std::fs::remove_file(seat.join("elsewhere")).expect("removed"))),
        (
            "a file in the directory's place",
            Box::new(|| {
                std::fs::remove_dir_all(&seat).expect("removed");
                std::fs::write(&seat, line("five")).expect("written");
            }),
        ),
        (
            "the directory again",
            Box::new(|| {
                std::fs::remove_file(&seat).expect("removed");
                std::fs::create_dir(&seat).expect("made");
                std::fs::write(&record, line("six")).expect("written");
            }),
        ),
        ("nothing", Box::new(|| std::fs::remove_dir_all(&seat).expect("removed"))),
    ];
    let mut seen = Vec::new();
    for (step, change) in steps {
        change();
        for (reader, buffer) in &mut buffers {
            // Twice, because the first may have learnt where the record is.
            for _ in 0..2 {
                let lent = reader.read_into(None, buffer).map(|lent| lent.to_derived());
                assert_eq!(lent, reader.read(None), "{step}: {}", reader.path().display());
                seen.push(lent.and_then(|derived| derived.unknown));
            }
        }
    }
    let all = [None, Some(UnknownReason::FutureSkew), Some(UnknownReason::MalformedRecord)];
    assert!(all.iter().all(|reason| seen.contains(reason)), "{seen:?}");
    assert!(seen.contains(&Some(UnknownReason::UnreadableRecord)), "{seen:?}");
}

#[test]
fn hs_92_a_fleet_that_stands_unchanged_allocates_nothing_for_a_record() {
    let counts = [3, 60].map(|agents| {
        let root = tempfile::tempdir().expect("a temporary directory");
        for agent in 0..agents {
            let writer = writer(&root.path().join(format!("agent-{agent}")));
            writer.observe(&seen(State::Idle, Some("waits"))).expect("written");
        }
        let host = Host::system();
        let fleet = Fleet::open(root.path(), &FleetOptions::default(), &Options::default(), &host);
        let fleet = fleet.expect("a path");
        host.clock.sleep(Duration::from_millis(60));
        let read = || {
            let mut visited = 0;
            fleet.for_each(FleetProbe::None, |entry| {
                assert_eq!(entry.derived.state, State::Idle);
                visited += 1;
            });
            assert_eq!(visited, agents);
        };
        read();
        read();
        allocations(read)
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_piece_of_a_redacted_stream_allocates_nothing() {
    let secrets: Vec<String> = (0..100).map(|at| format!("secret-number-{at:03}-of-the-set")).collect();
    let set = Secrets::lenient(&secrets);
    for patterns in [Patterns::Off, Patterns::Recognised] {
        let redactor = Redactor::new(&set, patterns).expect("small enough");
        let mut stream = redactor.stream();
        let mut text = String::new();
        for at in 0..200 {
            text.push_str("GET https://user:pass@example.com/ Bearer abc, ghp_0123456789abcdef\n");
            text.push_str(&secrets[at % 100]);
        }
        let mut out = Vec::with_capacity(2 * text.len());
        let round = |stream: &mut Stream, out: &mut Vec<u8>| {
            for size in [1, 7, 100, 4096] {
                for piece in text.as_bytes().chunks(size) {
                    out.clear();
                    stream.push(piece, out);
                }
            }
        };
        round(&mut stream, &mut out);
        let taken = allocations(|| round(&mut stream, &mut out));
        assert_eq!(taken, 0, "{patterns:?}");
        // The next text on the same stream takes nothing either.
        let taken = allocations(|| {
            stream.finish(&mut out);
            round(&mut stream, &mut out);
        });
        assert_eq!(taken, 0, "{patterns:?}, a second text");
    }
}
