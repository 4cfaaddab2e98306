//! What is found, and how many calls it takes.

use super::*;
use crate::random::{Random, SystemRandom};
use crate::storage::OsFileSystem;
use crate::storage::faulty_directory::split_mix;

#[test]
fn ex_jrn_78_the_index_knows_every_key_by_its_number() {
    for count in [0, 1, 7, 8, 9, 100, 1000] {
        let (run, mut keys) = Run::filled(count, SMALL);
        assert_exact(&mut keys, count, "as it was filled");
        drop(keys);
        let mut keys = run.open().expect("opens");
        assert_exact(&mut keys, count, "opened again");
    }
}

#[test]
fn ex_jrn_79_whole_keys_are_compared() {
    let (_, mut keys) = Run::filled(300, SMALL);
    for number in [1, 150, 300] {
        for at in 0..32 {
            let mut other = key(number);
            other[at] ^= 1;
            let mut found = Vec::new();
            keys.look_up(&[other, key(number)], &mut found).expect("looked up");
            assert_eq!(found, [None, Some(number)], "byte {at} of {number}");
        }
    }
}

#[test]
fn ex_jrn_79_a_page_of_known_keys_is_about_one_read_a_key_and_no_write() {
    let shape = Shape { recent: 256, fan_in: 8, sketches: 1 << 20 };
    let (run, mut keys) = Run::pretended(40_000, shape);
    for start in [1, 10_000, 39_000] {
        run.files.forget_operations();
        assert_eq!(found(&mut keys, start..start + 100), (start..start + 100).map(Some).collect::<Vec<_>>());
        assert!(run.reads() <= 150, "{} reads", run.reads());
        let counts = run.files.counts();
        assert!(counts.keys().all(|kind| *kind == OperationKind::ReadAt), "{counts:?}");
    }
    run.files.forget_operations();
    found(&mut keys, 100_000..100_100);
    assert_eq!(run.reads(), 0, "a page of new keys reads nothing");
}

#[test]
fn ex_jrn_79_where_memory_is_short_reads_stay_bounded_and_answers_right() {
    for sketches in [0, 5_000, 9_000, 17_000, 26_000] {
        let shape = Shape { recent: 64, fan_in: 4, sketches };
        let (run, mut keys) = Run::pretended(8_000, shape);
        // The unary part always stays: two and a half bits an entry.
        assert!(keys.store.sketch_memory() <= sketches.max(8_000 * 5 / 16 + 1_000), "{sketches}");
        run.files.forget_operations();
        assert_exact(&mut keys, 8_000, &format!("{sketches} bytes"));
        // At most seven segments of each of four levels, and one read in each.
        assert!(run.reads() <= 8_020 * 28, "{} reads", run.reads());
    }
}

#[test]
fn ex_jrn_79_the_filter_has_the_memory_that_planes_leave_and_hides_no_key() {
    // Room for none, for one of half the keys, and for one of all.
    for (sketches, at_first, at_last) in [(5_000, false, false), (45_000, true, false), (1 << 20, true, true)]
    {
        let shape = Shape { recent: 64, fan_in: 4, sketches };
        let (mut run, mut keys) = Run::pretended(8_000, shape);
        for asked in 0..5 {
            found(&mut keys, 9_000..9_020);
            assert_eq!(keys.store.covered(), if at_first { asked } else { 0 }, "one segment a page more");
        }
        for page in 0..400 {
            let (batch, reach) = run.pretend(20);
            let wanted: Vec<Key> = batch.iter().map(|(key, _)| *key).collect();
            let mut found = Vec::new();
            keys.look_up(&wanted, &mut found).expect("looked up");
            assert!(found.iter().all(Option::is_none), "{sketches} bytes");
            assert!(keys.store.sketch_memory() <= sketches.max(16_000 * 5 / 16 + 1_000), "{sketches}");
            keys.insert(&batch, reach).expect("inserted");
            if page % 50 == 0 {
                assert_exact(&mut keys, 8_000 + (page + 1) * 20, &format!("{sketches} bytes"));
            }
        }
        assert_eq!(keys.store.covered() == keys.store.segments.len(), at_last, "{sketches}");
        assert_eq!(keys.store.covered() > 0, at_last, "{sketches}");
        assert_exact(&mut keys, 16_000, &format!("{sketches} bytes"));
    }
}

#[test]
fn a_page_makes_the_same_calls_whatever_the_history() {
    let shape = Shape { recent: 512, fan_in: 4, sketches: 1 << 20 };
    let mut run = Run::new(shape);
    let mut keys = run.open().expect("opens");
    let mut usual = None;
    let mut others = 0;
    for page in 0..1000_u64 {
        let (batch, reach) = run.pretend(10);
        run.files.forget_operations();
        run.files.sync_everything();
        let wanted: Vec<Key> = batch.iter().map(|(key, _)| *key).collect();
        let mut found = Vec::new();
        keys.look_up(&wanted, &mut found).expect("looked up");
        keys.insert(&batch, reach).expect("inserted");
        let made: Vec<OperationKind> = run.files.operations().iter().map(|made| made.kind).collect();
        if page == 0 {
            // The file is made with the first page.
            assert_eq!(made, [OperationKind::OpenData, OperationKind::WriteAt, OperationKind::WriteAt]);
        } else if made != *usual.get_or_insert_with(|| made.clone()) {
            others += 1;
        }
    }
    assert_eq!(usual, Some(vec![OperationKind::WriteAt]));
    assert_eq!(others, 10_000 / 520, "pages that made a segment as well");
}

#[test]
fn a_merge_advances_in_slices() {
    let shape = Shape { recent: 64, fan_in: 4, sketches: 1 << 20 };
    let mut run = Run::new(shape);
    let mut keys = run.open().expect("opens");
    let mut most = 0;
    for _ in 0..2000 {
        let (batch, reach) = run.pretend(10);
        run.files.forget_operations();
        run.files.sync_everything();
        keys.insert(&batch, reach).expect("inserted");
        let written: u64 = run
            .files
            .operations()
            .iter()
            .filter(|made| made.kind == OperationKind::WriteAt)
            .filter_map(|made| made.text.rsplit(' ').next()?.parse::<u64>().ok())
            .sum();
        most = most.max(written);
    }
    // 20,000 keys in five levels: a whole merge of the fourth alone writes more than 700,000 bytes. A writer puts down a
    // thousand entries at a time.
    assert!(most < 5 * (2 * 64 + 1024) * 50, "{most} bytes in one page");
    assert_exact(&mut keys, 20_000, "merged in slices");
}

#[test]
fn programs_that_come_and_go_keep_few_segments() {
    let mut run = Run::new(SMALL);
    for _ in 0..200 {
        let mut keys = run.open().expect("opens");
        let (batch, reach) = run.append(5);
        keys.insert(&batch, reach).expect("inserted");
    }
    let mut keys = run.open().expect("opens");
    assert_exact(&mut keys, 1000, "in pieces");
    // 125 segments were written; seven levels have at most four each.
    let names = run.files.names(KEYS_PATH).expect("listed");
    assert!(names.len() <= 29, "{names:?}");
}

#[test]
fn nothing_is_ever_synced() {
    let (run, _keys) = Run::filled(500, SMALL);
    drop(run.open().expect("opens"));
    let counts = run.files.counts();
    assert!(!counts.contains_key(&OperationKind::Sync), "{counts:?}");
    assert!(!counts.contains_key(&OperationKind::SyncDirectory), "{counts:?}");
}

#[test]
fn a_batch_that_is_covered_is_not_added_again() {
    let (mut run, mut keys) = Run::filled(50, SMALL);
    let (batch, reach) = run.append(3);
    keys.insert(&batch, reach).expect("inserted");
    run.files.forget_operations();
    keys.insert(&batch, reach).expect("inserted again");
    assert_eq!(run.files.operations(), []);
    assert_exact(&mut keys, 53, "once");
}

#[test]
fn a_batch_that_does_not_follow_makes_the_index_lag() {
    let (mut run, mut keys) = Run::filled(50, SMALL);
    run.append(4);
    let (batch, reach) = run.append(3);
    let refused = keys.insert(&batch, reach).expect_err("something is missing before it");
    assert_eq!(refused.code(), Code::ExecutionIo);
    assert_exact(&mut keys, 57, "read from the log");
    let (batch, reach) = run.append(3);
    keys.insert(&batch, reach).expect("it follows");
    assert_exact(&mut keys, 60, "and goes on");
}

/// EX-JRN-79 at its full size, on the real disk. It takes a while, so it runs in `make soak`.
#[test]
#[ignore = "ten million keys"]
fn ex_jrn_79_ten_million_keys_take_at_most_16_mib() {
    let path = std::env::temp_dir().join(format!("gallivant-keys-{:016x}", SystemRandom.next_u64()));
    let run = OsFileSystem.open_or_create(&path).expect("made");
    let mut keys = ReplayKeys::open(&run, None, Acknowledged::default()).expect("opens");
    let started = resident();
    let (mut most, mut state) = (0, 1);
    for sequence in (1..=10_000_000_u64).step_by(100) {
        let batch: Vec<(Key, u64)> =
            (sequence..sequence + 100).map(|number| (random_key(&mut state), number)).collect();
        let reach = Reach { offset: sequence * 300, sequence: sequence + 99, crc: 0 };
        let mut found = Vec::new();
        let wanted: Vec<Key> = batch.iter().map(|(key, _)| *key).collect();
        keys.look_up(&wanted, &mut found).expect("looked up");
        assert!(found.iter().all(Option::is_none));
        keys.insert(&batch, reach).expect("inserted");
        most = most.max(keys.memory());
    }
    let grown = resident() - started;
    drop(keys);
    std::fs::remove_dir_all(&path).expect("removed");
    println!("at most {most} bytes by count, {grown} more resident");
    assert!(most <= 16_777_216, "{most}");
    // The allocator keeps what it was given back.
    assert!(grown <= 2 * 16_777_216, "{grown}");
}

fn random_key(state: &mut u64) -> Key {
    let mut key = [0; 32];
    key.chunks_mut(8).for_each(|part| part.copy_from_slice(&split_mix(state).to_be_bytes()));
    key
}

/// Bytes of memory that this process has in use.
#[expect(clippy::disallowed_methods, reason = "no file of the library")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("read");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number") * 1024
}
