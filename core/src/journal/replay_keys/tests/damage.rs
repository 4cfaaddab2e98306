//! A missing, damaged, lagging or foreign index.

use super::*;
use crate::storage::faulty_directory::split_mix;

fn files_of(run: &Run) -> Vec<String> {
    run.files
        .names(KEYS_PATH)
        .expect("listed")
        .into_iter()
        .map(|name| format!("{KEYS_PATH}/{name}"))
        .collect()
}

#[test]
fn ex_jrn_80_deleting_the_index_loses_nothing() {
    let (run, keys) = Run::filled(333, SMALL);
    drop(keys);
    run.files.unplant(KEYS_PATH).expect("removed");
    let mut keys = run.open().expect("opens");
    assert_exact(&mut keys, 333, "rebuilt");
    for gone in files_of(&run) {
        run.files.unplant(&gone).expect("removed");
        let mut keys = run.open().expect("opens");
        assert_exact(&mut keys, 333, &format!("without {gone}"));
    }
}

#[test]
fn ex_jrn_80_a_lagging_index_catches_up() {
    for lag in [1, 7, 8, 100, 3000] {
        let (mut run, keys) = Run::filled(123, SMALL);
        drop(keys);
        run.append(lag);
        run.files.forget_operations();
        let mut keys = run.open().expect("opens");
        assert_exact(&mut keys, 123 + lag, &format!("{lag} behind"));
    }
}

#[test]
fn ex_jrn_78_whatever_is_changed_in_its_files_counts_as_damage() {
    let (run, keys) = Run::filled(60, TINY);
    drop(keys);
    let whole: Vec<(String, Vec<u8>)> = files_of(&run)
        .into_iter()
        .map(|path| (path.clone(), run.files.contents(&path).expect("read")))
        // The output of a merge under way holds nothing yet.
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    assert!(whole.len() > 4, "several segments and a recent file");
    let mut state = 1;
    for (path, bytes) in &whole {
        let mut changes: Vec<Vec<u8>> =
            vec![Vec::new(), vec![0; bytes.len()], bytes[..bytes.len() - 1].to_vec()];
        for _ in 0..16 {
            let at = usize::try_from(split_mix(&mut state) % bytes.len() as u64).expect("small");
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (split_mix(&mut state) % 8);
            changes.push(changed);
        }
        for (number, changed) in changes.into_iter().enumerate() {
            for (path, bytes) in &whole {
                run.files.plant_file(path, bytes.clone()).expect("planted");
            }
            for extra in files_of(&run).iter().filter(|path| whole.iter().all(|(known, _)| known != *path)) {
                run.files.unplant(extra).expect("removed");
            }
            run.files.plant_file(path, changed).expect("planted");
            let mut keys = run.open().expect("opens");
            assert_exact(&mut keys, 60, &format!("change {number} of {path}"));
        }
    }
}

#[test]
fn ex_jrn_81_an_index_that_reaches_beyond_the_acknowledged_log_is_damaged() {
    let (mut run, mut keys) = Run::filled(40, SMALL);
    let before = (run.log.clone(), run.sequence);
    let (batch, reach) = run.append(6);
    keys.insert(&batch, reach).expect("inserted");
    drop(keys);
    // A backup of the log comes back, the index stays.
    (run.log, run.sequence) = before;
    run.plant_log();
    let mut keys = run.open().expect("opens");
    assert_exact(&mut keys, 40, "a key without a record suppresses nothing");
}

#[test]
fn ex_jrn_81_an_index_of_another_log_is_damaged() {
    let (mut run, keys) = Run::filled(40, SMALL);
    drop(keys);
    // Another history of the same length: the same keys under other numbers.
    run.log.clear();
    for sequence in 1..=40 {
        run.log.extend(line(sequence, &key(41 - sequence)).0);
    }
    run.plant_log();
    let mut keys = run.open().expect("opens");
    assert_eq!(found(&mut keys, 1..=40), (1..=40).rev().map(Some).collect::<Vec<_>>());
}

#[test]
fn ex_jrn_81_a_corrupt_last_record_costs_a_pass_and_no_key() {
    let (mut run, keys) = Run::filled(40, SMALL);
    drop(keys);
    let at = run.log.len() - 30;
    run.log[at] ^= 1;
    run.plant_log();
    for _ in 0..2 {
        let mut keys = run.open().expect("opens");
        assert_eq!(found(&mut keys, 1..=39), (1..=39).map(Some).collect::<Vec<_>>());
        assert_eq!(found(&mut keys, [40]), [None], "its record cannot be read any more");
    }
    let mut keys = run.open().expect("opens");
    let (batch, reach) = run.append(5);
    keys.insert(&batch, reach).expect("the numbers go on behind it");
    drop(keys);
    let mut keys = run.open().expect("opens");
    assert_eq!(found(&mut keys, 41..=45), (41..=45).map(Some).collect::<Vec<_>>());
}

#[test]
fn damage_that_shows_only_in_use_is_repaired_in_use() {
    let (run, mut keys) = Run::filled(200, SMALL);
    for path in files_of(&run).iter().filter(|path| path.contains("segment-")) {
        let mut bytes = run.files.contents(path).expect("read");
        bytes.iter_mut().skip(64).for_each(|byte| *byte = 0);
        run.files.overwrite(path, &bytes).expect("overwritten");
    }
    assert_exact(&mut keys, 200, "entries became zeros under an open index");
}

#[test]
fn a_file_that_is_none_of_its_own_is_swept_and_a_foreign_directory_survives() {
    let (run, keys) = Run::filled(20, SMALL);
    drop(keys);
    run.files.plant_file(format!("{KEYS_PATH}/segment-00000000000000ff"), "x").expect("planted");
    let mut keys = run.open().expect("opens");
    assert_exact(&mut keys, 20, "swept");
    assert!(files_of(&run).iter().all(|path| !path.ends_with("ff")));
}
