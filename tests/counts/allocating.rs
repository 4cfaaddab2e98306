//! Allocations of a call on the real machine.

use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{Options, Outcome, Writer, claim};

use crate::allocations::allocations;
use crate::support::{active, claimant, identity, observe};

#[test]
fn hs_43_a_restated_observation_allocates_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (options, host) = (Options::default(), Host::system());
    let sequence = claim(directory.path(), &claimant("tok"), &options, &host).expect("it lands").sequence;
    let writer =
        Writer::open(directory.path(), identity("tok"), Some(sequence), &options, &host).expect("opens");
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    host.clock.sleep(Duration::from_millis(50));
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
    let active = active();
    let count = allocations(|| {
        for _ in 0..10 {
            assert_eq!(observe(&writer, &active), Outcome::Coalesced);
        }
    });
    assert_eq!(count, 0, "allocations in ten calls");
}
