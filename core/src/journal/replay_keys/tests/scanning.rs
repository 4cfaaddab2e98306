//! Reading keys from the log: what is a good record, and what is none.

use super::*;
use crate::storage::DataAccess;

/// The numbers of the good records of a log.
fn scanned(log: &[u8], last: u64) -> Vec<u64> {
    let run = Run::new(SMALL);
    run.files.plant_file(LOG_PATH, log).expect("planted");
    let file = run.directory().open_data(LOG, DataAccess::Read).expect("opens");
    let mut numbers = Vec::new();
    let to = Acknowledged { offset: log.len() as u64, sequence: last };
    log::scan(&*file, Acknowledged::default(), to, &mut |keyed| {
        assert_eq!(keyed.key, key(keyed.reach.sequence));
        numbers.push(keyed.reach.sequence);
        Ok(())
    })
    .expect("scanned");
    numbers
}

fn lines(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(|number| line(number, &key(number)).0).collect()
}

#[test]
fn the_line_of_the_specification_is_good() {
    let text = r#"{"version":1,"taskId":"t-1","runId":"run-1","provider":"prov","eventId":"e1","key":"28ec39c5ec86295b6dd68fa9486a64b87f98b036f88d8a8c2df5fc491a372b10","sequence":1,"providerSequence":null,"provenance":"provider","timestamp":1779999940000,"type":"output","data":"x","crc":"696bb91c"}"#;
    let run = Run::new(SMALL);
    run.files.plant_file(LOG_PATH, format!("{text}\n")).expect("planted");
    let file = run.directory().open_data(LOG, DataAccess::Read).expect("opens");
    let last = log::last_before(&*file, text.len() as u64 + 1).expect("read").expect("good");
    assert_eq!((last.sequence, last.crc), (1, 0x696b_b91c));
}

#[test]
fn ex_jrn_83_a_corrupt_record_has_no_key_and_hides_no_other() {
    let good = lines(1..=5);
    assert_eq!(scanned(&good, 5), [1, 2, 3, 4, 5]);
    let third = lines(1..=2).len();
    for (at, change) in [(third, 1), (third + 40, 0x20), (third + 60, 4)] {
        let mut log = good.clone();
        log[at] ^= change;
        assert_eq!(scanned(&log, 5), [1, 2, 4, 5], "byte {at}");
    }
    let mut joined = good.clone();
    joined.remove(third - 1);
    assert_eq!(scanned(&joined, 5), [1, 4, 5], "a lost newline takes both");
    let mut zeroed = good.clone();
    zeroed[third..third + 700].fill(0);
    assert_eq!(scanned(&zeroed, 5)[..2], [1, 2]);
    assert_eq!(scanned(&[lines(1..=3), lines(2..=2), lines(4..=5)].concat(), 5), [1, 2, 3, 4, 5]);
    // Right behind a good record comes the next number, and nothing is above the acknowledged one.
    assert_eq!(scanned(&[lines(1..=2), lines(4..=5)].concat(), 5), [1, 2, 5]);
    assert_eq!(scanned(&lines(1..=5), 3), [1, 2, 3]);
}

#[test]
fn a_line_longer_than_any_record_is_passed_over_in_bounded_memory() {
    let mut log = lines(1..=2);
    log.extend(std::iter::repeat_n(b'x', 3 * 1024 * 1024));
    log.push(b'\n');
    log.extend(lines(4..=1000));
    let numbers = scanned(&log, 1000);
    assert_eq!((numbers[1], numbers[2], numbers.len()), (2, 4, 999));
}

#[test]
fn a_log_that_ends_before_what_was_acknowledged_is_short() {
    let (run, keys) = Run::filled(20, SMALL);
    drop(keys);
    run.files.plant_file(LOG_PATH, &run.log[..run.log.len() - 1]).expect("planted");
    run.files.unplant(KEYS_PATH).expect("removed");
    let refused = run.open().expect_err("short");
    assert_eq!((refused.code(), refused.reason()), (Code::ExecutionJournal, Some("short")));
}
