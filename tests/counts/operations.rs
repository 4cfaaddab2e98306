//! Storage operations of a call, as the recording directory sees them.

use std::collections::BTreeMap;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{Heartbeat, Options, Outcome, Writer, claim};
use gallivant_core::testing::{OperationKind, Simulation, simulated_host};

use crate::support::{active, claimant, identity, idle, observe};

type Counts = BTreeMap<OperationKind, u64>;

const SYNCS: [OperationKind; 2] = [OperationKind::Sync, OperationKind::SyncDirectory];
const NAMES: [OperationKind; 2] = [OperationKind::Rename, OperationKind::Exchange];
const DURABLY: [OperationKind; 4] =
    [OperationKind::Create, OperationKind::Sync, OperationKind::Rename, OperationKind::SyncDirectory];

#[test]
fn hs_43_a_restated_observation_looks_at_record_and_floor_and_at_nothing_else() {
    let (_, simulation, writer) = claimed();
    for _ in 0..3 {
        let counts = counts(&simulation, || assert_eq!(observe(&writer, &active()), Outcome::Coalesced));
        assert_eq!(count(&counts, &[OperationKind::Metadata]), 2, "{counts:?}");
        let others =
            counts.keys().find(|kind| !matches!(kind, OperationKind::Metadata | OperationKind::Open));
        assert_eq!(others, None, "{counts:?}");
    }
}

#[test]
fn hs_29_a_transition_creates_one_file_and_syncs_nothing() {
    let (_, simulation, writer) = claimed();
    for observation in [idle(), active(), idle()] {
        rest(&simulation);
        assert_one_cheap_replacement(&counts(&simulation, || {
            assert_eq!(observe(&writer, &observation), Outcome::Landed);
        }));
    }
}

#[test]
fn hs_52_a_heartbeat_creates_one_file_and_syncs_nothing() {
    let (_, simulation, writer) = claimed();
    for _ in 0..3 {
        rest(&simulation);
        assert_one_cheap_replacement(&counts(&simulation, || {
            let beat = writer.heartbeat().expect("no error");
            assert!(matches!(beat, Heartbeat::Landed { floor_failure: None }));
        }));
    }
}

#[test]
fn hs_38_a_floor_that_changed_is_read_once_more_and_then_only_looked_at() {
    let (host, simulation, writer) = claimed();
    let (floor, staged) = (".harness-state.seq", ".harness-state.seq.tmp-other");
    let bytes = simulation.files.contents("/agent/.harness-state.seq").expect("a floor stands");
    let directory = host.files.open("/agent".as_ref()).expect("opens");
    directory.create(staged).and_then(|mut file| file.write_all(&bytes)).expect("staged");
    directory.rename(staged, floor).expect("replaced");
    rest(&simulation);
    let reads = |observation| {
        let made = counts(&simulation, || assert_eq!(observe(&writer, &observation), Outcome::Landed));
        count(&made, &[OperationKind::Read])
    };
    assert_eq!(reads(idle()), 1, "the other floor");
    assert_eq!(reads(active()), 0);
}

#[test]
fn hs_29_an_ending_with_an_exit_syncs_its_file_and_then_the_directory() {
    let (_, simulation, writer) = claimed();
    let counts = counts(&simulation, || {
        assert_eq!(writer.ended(Some("exit 0")).expect("no error").outcome, Outcome::Landed);
    });
    for kind in DURABLY {
        assert_eq!(count(&counts, &[kind]), 1, "{kind:?}: {counts:?}");
    }
}

#[test]
fn hs_29_a_claim_is_two_durable_replacements() {
    let (host, simulation, _writer) = claimed();
    let counts = counts(&simulation, || {
        claim("/agent", &claimant("next"), &Options::default(), &host).expect("the claim lands");
    });
    for kind in DURABLY {
        assert_eq!(count(&counts, &[kind]), 2, "{kind:?}: {counts:?}");
    }
    assert_eq!(count(&counts, &[OperationKind::Exchange]), 0, "{counts:?}");
}

#[test]
fn hs_48_a_refusal_writes_nothing() {
    let (host, simulation, writer) = claimed();
    claim("/agent", &claimant("next"), &Options::default(), &host).expect("the claim lands");
    let counts = counts(&simulation, || {
        assert!(matches!(observe(&writer, &idle()), Outcome::Refused(_)));
        assert!(matches!(writer.heartbeat().expect("no error"), Heartbeat::Skipped(_)));
    });
    let written = counts.keys().find(|kind| kind.is_mutating() && **kind != OperationKind::OpenLock);
    assert_eq!(written, None, "{counts:?}");
}

/// One file is created, filled and given the record's name; nothing is synced; record and floor are only looked at.
fn assert_one_cheap_replacement(counts: &Counts) {
    for kind in [OperationKind::Create, OperationKind::Write, OperationKind::OpenLock, OperationKind::TryLock]
    {
        assert_eq!(count(counts, &[kind]), 1, "{kind:?}: {counts:?}");
    }
    assert_eq!(count(counts, &NAMES), 1, "{counts:?}");
    assert_eq!(count(counts, &SYNCS), 0, "{counts:?}");
    assert_eq!(
        count(counts, &[OperationKind::Read]),
        0,
        "what the writer knows is only looked at: {counts:?}"
    );
    // The directory, the lock's name, the record, the floor, and what was displaced.
    assert!(count(counts, &[OperationKind::Metadata]) <= 5, "{counts:?}");
    assert!(count(counts, &[OperationKind::Remove]) <= 1, "{counts:?}");
}

/// A simulated machine with a claimed seat that was observed active, long enough ago for every look to be believed.
fn claimed() -> (Host, Simulation, Writer) {
    let (host, simulation) = simulated_host(1);
    let options = Options::default();
    let sequence = claim("/agent", &claimant("tok"), &options, &host).expect("the claim lands").sequence;
    let writer = Writer::open("/agent", identity("tok"), Some(sequence), &options, &host).expect("a writer");
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    rest(&simulation);
    // The second look at the floor is the first at a rested one, and the first judgement of the record.
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
    (host, simulation, writer)
}

fn rest(simulation: &Simulation) {
    simulation.clock.advance(Duration::from_secs(3));
}

fn counts(simulation: &Simulation, action: impl FnOnce()) -> Counts {
    simulation.files.forget_operations();
    action();
    simulation.files.counts().into_iter().filter(|(_, count)| *count > 0).collect()
}

fn count(counts: &Counts, kinds: &[OperationKind]) -> u64 {
    kinds.iter().filter_map(|kind| counts.get(kind)).sum()
}
