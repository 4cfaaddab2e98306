//! The journal: whatever stands in its two files, a recovery refuses and touches nothing, or puts it right for good.

use gallivant_core::Code;
use gallivant_core::journal::{AppendPoint, Content, Event, How, Journal, Owner, Provenance, check};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::{Simulation, simulated_host};

pub(crate) const RUN: &str = "/task/run";
const LOG: &str = "/task/run/events.jsonl";
const CHECKPOINT: &str = "/task/run/journal.json";

/// An even first byte: what precedes the first byte 0xff is the checkpoint, the rest the log. An odd one: edits of a
/// journal with two records and a batch of three that is there and not acknowledged.
pub fn journal(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else { return };
    if rest.len() > 200_000 {
        return;
    }
    let (_, machine) = simulated_host(1);
    machine.files.plant_directory(RUN).expect("planted");
    if mode % 2 == 0 {
        let cut = rest.iter().position(|byte| *byte == 0xff).unwrap_or(rest.len());
        machine.files.plant_file(CHECKPOINT, &rest[..cut]).expect("planted");
        machine.files.plant_file(LOG, rest.get(cut + 1..).unwrap_or_default()).expect("planted");
    } else {
        interrupted(&machine);
        edit(&machine, rest);
    }
    holds(&machine.another_process());
}

pub(crate) fn event(id: &str) -> Event {
    let content = Content::Said { kind: "output".to_owned(), data: "x".into() };
    Event {
        id: id.to_owned(),
        provider_sequence: None,
        provenance: Provenance::Provider,
        timestamp: Some(7_u64.into()),
        content,
    }
}

pub(crate) fn open(machine: &Simulation) -> Journal {
    let owner = Owner {
        task_id: "t".to_owned(),
        run_id: "run".to_owned(),
        provider: "p".to_owned(),
        job_id: None,
        turn_id: None,
    };
    let redactor = Redactor::new(&Secrets::none(), Patterns::Off).expect("a small one");
    Journal::open(RUN, owner, &machine.host(), &redactor).expect("the directory is there")
}

fn interrupted(machine: &Simulation) {
    let mut journal = open(machine);
    journal.append(&[event("a"), event("b")]).expect("appended");
    let mut append = journal.begin(&[event("p"), event("q"), event("r")]).expect("begun");
    while journal.advance(&mut append).expect("goes on") != Some(AppendPoint::Record) {}
}

/// Edits of four bytes: which file and what, where, and a byte.
fn edit(machine: &Simulation, edits: &[u8]) {
    for edit in edits.chunks_exact(4) {
        let path = if edit[0] & 1 == 0 { LOG } else { CHECKPOINT };
        let mut bytes = machine.files.contents(path).expect("there");
        let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % (bytes.len() + 1);
        match (edit[0] >> 1) % 5 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, edit[3]),
            2 if at < bytes.len() => bytes[at] = edit[3],
            3 => bytes.drain(at..(at + usize::from(edit[3])).min(bytes.len())).for_each(drop),
            _ => bytes.extend_from_within(at..),
        }
        machine.files.plant_file(path, bytes).expect("planted");
    }
}

fn files(machine: &Simulation) -> [Option<Vec<u8>>; 2] {
    [CHECKPOINT, LOG].map(|path| machine.files.contents(path).ok())
}

/// What must hold for any two files.
fn holds(machine: &Simulation) {
    let before = files(machine);
    let checked = check(RUN, &machine.host());
    assert_eq!(files(machine), before, "a check writes nothing");
    let recovered = match open(machine).recover() {
        Err(error) => {
            assert!([Code::ExecutionJournal, Code::ExecutionVersion].contains(&error.code()), "{error}");
            assert_eq!(files(machine), before, "what is refused is not touched: {error}");
            open(machine).append(&[event("new")]).expect_err("an append refuses too");
            assert_eq!(files(machine), before, "what is refused is not touched: {error}");
            return;
        }
        Ok(recovered) => recovered,
    };
    let checked = checked.expect("what is recovered can be checked before");
    let log = before[1].clone().unwrap_or_default();
    let acknowledged = usize::try_from(checked.end.offset).expect("it is in memory");
    let after = files(machine);
    assert!(
        after[1].as_deref().unwrap_or_default().starts_with(&log[..acknowledged]),
        "acknowledged bytes stay"
    );
    let again = open(machine).recover().expect("a second time");
    assert_eq!((again.kept, again.gap, again.end), (0, false, recovered.end));
    assert_eq!(files(machine), after, "a second recovery writes nothing");
    accounts_for_every_number(machine, recovered.end.sequence);
    let Ok(appended) = open(machine).append(&[event("new")]) else {
        assert_eq!(recovered.end.sequence, i64::MAX as u64, "only the numbers can end");
        return;
    };
    if appended.placed[0].how == How::Recorded {
        assert_eq!(appended.placed[0].sequence, recovered.end.sequence + 1);
    }
    accounts_for_every_number(machine, appended.end.sequence);
    let known = open(machine).append(&[event("new")]).expect("known");
    assert_eq!(known.placed[0].how, How::Known);
}

fn accounts_for_every_number(machine: &Simulation, sequence: u64) {
    let checked = check(RUN, &machine.host()).expect("it can be checked");
    assert_eq!(checked.end.sequence, sequence);
    let missing: u128 = checked.gaps.iter().map(|gap| u128::from(gap.to) + 1 - u128::from(gap.from)).sum();
    assert_eq!(u128::from(checked.records) + missing, u128::from(sequence));
    assert_eq!(checked.pending, None);
}
