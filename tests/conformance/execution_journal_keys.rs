//! EX-JRN-78 to EX-JRN-81: the index of the replay keys, as a journal uses it.

use gallivant_core::journal::Appended;
use gallivant_core::testing::{OperationKind, Simulation};

use crate::support::run::{CHECKPOINT, LOG, RUN, append, event, journal, machine, rows};

const KEYS: &str = "/task/run-1/event-keys";

fn ids(from: usize, to: usize) -> Vec<gallivant_core::journal::Event> {
    (from..to).map(|number| event(&format!("e{number}"), "x")).collect()
}

fn numbers(appended: &Appended) -> Vec<u64> {
    appended.placed.iter().map(|placed| placed.sequence).collect()
}

fn filled(count: usize) -> Simulation {
    let machine = machine();
    let mut journal = journal(&machine);
    for start in (0..count).step_by(50) {
        journal.append(&ids(start, count.min(start + 50))).expect("appended");
    }
    machine
}

fn names(machine: &Simulation) -> Vec<String> {
    machine.files.names(KEYS).expect("listed")
}

#[test]
fn ex_jrn_78_the_index_is_never_the_only_copy_and_damage_is_no_refusal() {
    let machine = filled(200);
    for name in names(&machine) {
        for bytes in [Vec::new(), vec![0; 4096], b"{\"version\":9}".to_vec()] {
            machine.files.plant_file(format!("{KEYS}/{name}"), bytes).expect("planted");
            let again = append(&machine, &ids(0, 200)).expect("appended");
            assert_eq!(numbers(&again), (1..=200).collect::<Vec<_>>(), "{name}");
        }
    }
    assert_eq!(rows(&machine.files).len(), 200);
    let mode = |path: &str| machine.files.metadata(path).expect("there").mode;
    assert_eq!(mode(KEYS), 0o700);
    assert!(names(&machine).iter().all(|name| mode(&format!("{KEYS}/{name}")) == 0o600));
}

#[test]
fn ex_jrn_79_a_page_costs_the_same_reads_and_writes_whatever_the_history() {
    let machine = machine();
    let mut journal = journal(&machine);
    let mut pages = Vec::new();
    for page in 0..40 {
        let page = ids(page * 100, page * 100 + 100);
        machine.files.forget_operations();
        journal.append(&page).expect("appended");
        pages.push(machine.files.operations().iter().map(|made| made.kind).collect::<Vec<_>>());
        machine.files.sync_everything();
    }
    assert_eq!(pages[1], pages[39]);
    machine.files.forget_operations();
    journal.append(&ids(0, 100)).expect("appended");
    let counts = machine.files.counts();
    assert!(counts.keys().all(|kind| !kind.is_mutating()), "a page that is known writes nothing: {counts:?}");
    assert!(counts.get(&OperationKind::ReadAt).copied().unwrap_or(0) <= 150, "{counts:?}");
}

#[test]
fn ex_jrn_80_a_deleted_or_lagging_index_changes_no_number() {
    let machine = filled(120);
    machine.files.unplant(KEYS).expect("removed");
    let appended = append(&machine, &ids(100, 140)).expect("appended");
    assert_eq!(numbers(&appended), (101..=140).collect::<Vec<_>>());
    // An index that stopped before the last pages.
    let old: Vec<(String, Vec<u8>)> = names(&machine)
        .into_iter()
        .map(|name| (name.clone(), machine.files.contents(format!("{KEYS}/{name}")).expect("read")))
        .collect();
    append(&machine, &ids(140, 200)).expect("appended");
    machine.files.unplant(KEYS).expect("removed");
    machine.files.plant_directory(KEYS).expect("planted");
    for (name, bytes) in old {
        machine.files.plant_file(format!("{KEYS}/{name}"), bytes).expect("planted");
    }
    let appended = append(&machine, &ids(0, 201)).expect("appended");
    assert_eq!(numbers(&appended), (1..=201).collect::<Vec<_>>());
    assert_eq!(rows(&machine.files).len(), 201);
}

#[test]
fn ex_jrn_81_a_key_without_a_record_suppresses_no_event() {
    let machine = filled(60);
    let before = [CHECKPOINT, LOG].map(|path| machine.files.contents(path).expect("read"));
    append(&machine, &ids(60, 80)).expect("appended");
    // The backup of the journal comes back without its index.
    for (path, bytes) in [CHECKPOINT, LOG].into_iter().zip(before) {
        machine.files.plant_file(path, bytes).expect("planted");
    }
    let appended = append(&machine, &ids(70, 80)).expect("appended");
    assert_eq!(numbers(&appended), (61..=70).collect::<Vec<_>>());
    // Another journal of the same length comes back: the last record is another.
    let other = crate::support::run::machine();
    let mut events = ids(100, 160);
    events.extend(ids(200, 210));
    append(&other, &events).expect("appended");
    let path = format!("{RUN}/event-keys");
    for path in [CHECKPOINT, LOG] {
        machine.files.plant_file(path, other.files.contents(path).expect("read")).expect("planted");
    }
    assert!(machine.files.names(path).is_ok(), "the old index stays");
    let appended = append(&machine, &ids(0, 3)).expect("appended");
    assert_eq!(numbers(&appended), [71, 72, 73]);
}
