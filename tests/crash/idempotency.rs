//! A store whose log was cut: at every page of it, inside pages, and with the last page torn.
//!
//! What a power cut leaves of a SQLite file in WAL mode is the file and a prefix of its log, the last page of which may be
//! torn. Whatever is left, the store opens, every key is answered by a whole commit, and no commit is skipped.

use std::path::Path;

use gallivant_core::Host;
use gallivant_core::idempotency::{Begin, IdempotencyStore, StoreOptions};

const KEYS: [&str; 4] = ["first", "second", "third", "fourth"];

/// The log begins with 32 bytes, and each page in it with 24 (the SQLite file format).
const LOG_HEADER: usize = 32;
const FRAME: usize = 24 + 4096;

fn open(path: &Path) -> IdempotencyStore {
    IdempotencyStore::open(path, &StoreOptions::default(), &Host::system()).expect("it opens")
}

/// What stands for each key, in one line.
fn standing(store: &IdempotencyStore) -> String {
    let state = |key: &&str| {
        let claim = store.inspect("op", &["scope"], key).expect("it can be looked at");
        claim.map_or("-".to_owned(), |claim| {
            let answer = claim.answer.map_or(0, |answer| answer.len());
            format!("{}/{}/{answer}", claim.state.word(), claim.resource.unwrap_or_default())
        })
    };
    KEYS.iter().map(state).collect::<Vec<_>>().join(" ")
}

/// A life of several keys, and after each commit what stands and how long the log is.
fn live(directory: &Path) -> Vec<(usize, String)> {
    let store = open(&directory.join("idempotency.db"));
    let log = directory.join("idempotency.db-wal");
    let mut commits = Vec::new();
    let mut note = || {
        let length =
            std::fs::metadata(&log).map_or(0, |log| usize::try_from(log.len()).expect("it is short"));
        commits.push((length, standing(&store)));
    };
    let begin = |key: &str| match store.begin("op", &["scope"], key, b"{}").expect("an answer") {
        Begin::Create(reservation) => reservation,
        other => panic!("{other:?}"),
    };
    note();
    let mut first = begin("first");
    note();
    first.effect_starting().expect("it is marked");
    note();
    let mut second = begin("second");
    note();
    // An answer of several pages, so that one commit has many.
    first.complete("r-first", &[7; 20_000]).expect("it completes");
    note();
    second.release().expect("it is released");
    note();
    let third = begin("third");
    note();
    let mut fourth = begin("fourth");
    note();
    fourth.complete("r-fourth", b"ok").expect("it completes");
    note();
    std::mem::forget(third);
    commits
}

#[test]
fn a_log_that_was_cut_anywhere_opens_to_the_last_whole_commit() {
    let origin = tempfile::tempdir().expect("a temporary directory");
    let commits = live(origin.path());
    // The reservation that was forgotten keeps the store open, so that the log is not moved into the file.
    let unmoved = std::fs::read(origin.path().join("idempotency.db")).expect("the file");
    let log = std::fs::read(origin.path().join("idempotency.db-wal")).expect("the log");
    assert_eq!(log.len(), commits.last().expect("commits").0);

    let mut cuts: Vec<usize> =
        (0..).map(|page| LOG_HEADER + page * FRAME).take_while(|cut| *cut <= log.len()).collect();
    cuts.extend([0, 1, LOG_HEADER - 1]);
    let inside: Vec<_> =
        cuts.iter().flat_map(|cut| [cut + 1, cut + 24, cut + 24 + 2048, cut + FRAME - 1]).collect();
    cuts.extend(inside.into_iter().filter(|cut| *cut < log.len()));
    let mut seen = std::collections::BTreeSet::new();
    for cut in cuts {
        let is_page = cut >= LOG_HEADER && (cut - LOG_HEADER).is_multiple_of(FRAME);
        for is_torn in if is_page { &[false, true][..] } else { &[false] } {
            let is_torn = *is_torn;
            let mut left = log[..cut].to_vec();
            if is_torn {
                // A sector of the last page was written and the others were not.
                left.extend(
                    log[cut..]
                        .iter()
                        .take(FRAME)
                        .enumerate()
                        .map(|(at, byte)| if at < 512 { *byte } else { 0 }),
                );
            }
            let directory = tempfile::tempdir().expect("a temporary directory");
            let path = directory.path().join("idempotency.db");
            std::fs::write(&path, &unmoved).expect("written");
            std::fs::write(directory.path().join("idempotency.db-wal"), &left).expect("written");
            let stands = standing(&open(&path));
            let (_, expected) =
                commits.iter().rev().find(|(length, _)| *length <= cut.max(commits[0].0)).expect("the first");
            assert_eq!(&stands, expected, "cut at {cut} of {}, torn {is_torn}", log.len());
            let store = open(&path);
            // The next begin terminates: it replays, creates or waits, and what it creates can be completed.
            if let Begin::Create(mut reservation) =
                store.begin("op", &["scope"], "fourth", b"{}").expect("an answer")
            {
                reservation.complete("r-again", b"").expect("it completes");
            }
            seen.insert(stands);
        }
    }
    assert_eq!(
        seen.len(),
        commits.iter().map(|(_, stands)| stands).collect::<std::collections::BTreeSet<_>>().len()
    );
}
