//! Section D on the inside: what a restated observation may believe without the lock, and what a waiter does.

use std::time::Duration;

use gallivant_core::harness_state::{Observation, Options, Outcome, Writer, claim};
use gallivant_core::storage::acquire;
use gallivant_core::testing::{OperationKind, Simulation, simulated_host};
use gallivant_core::{Code, Host};

use crate::support::{active, claimant, identity, idle, observe};

/// A writer that has landed `active` at a simulated machine's `wall_ms`.
fn landed_at(wall_ms: u64) -> (Simulation, Writer) {
    let (host, simulation) = simulated_host(1);
    simulation.clock.set_wall_ms(wall_ms);
    let writer = open(&host, &Options::default());
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    (simulation, writer)
}

fn open(host: &Host, options: &Options) -> Writer {
    Writer::open("/agent", identity("tok-a"), None, options, host).expect("a writer")
}

/// Whether a restated observation takes the lock.
fn takes_the_lock(simulation: &Simulation, writer: &Writer, observation: &Observation) -> bool {
    simulation.files.forget_operations();
    assert_eq!(observe(writer, observation), Outcome::Coalesced);
    simulation.files.counts().contains_key(&OperationKind::TryLock)
}

#[test]
fn hs_30_an_unchanged_look_is_believed_once_the_file_has_rested() {
    let (simulation, writer) = landed_at(1_700_000_000_123);
    simulation.clock.advance(Duration::from_millis(20));
    assert!(takes_the_lock(&simulation, &writer, &active()), "nothing was judged yet");
    assert!(takes_the_lock(&simulation, &writer, &active()), "judged within a tick of its change");
    simulation.clock.advance(Duration::from_millis(1));
    assert!(takes_the_lock(&simulation, &writer, &active()), "judged again, now at rest");
    assert!(!takes_the_lock(&simulation, &writer, &active()));
}

#[test]
fn hs_30_where_file_times_are_whole_seconds_the_rest_is_longer_than_fats() {
    let (simulation, writer) = landed_at(1_700_000_000_000);
    simulation.clock.advance(Duration::from_millis(2000));
    assert!(takes_the_lock(&simulation, &writer, &active()), "nothing was judged yet");
    assert!(takes_the_lock(&simulation, &writer, &active()), "another write may bear the same time");
    simulation.clock.advance(Duration::from_millis(1));
    assert!(takes_the_lock(&simulation, &writer, &active()), "judged again, now at rest");
    assert!(!takes_the_lock(&simulation, &writer, &active()));
}

/// How often a claim tries a lock that stays held, over a whole wait.
fn tries_within(wait: Duration) -> u64 {
    let (host, simulation) = simulated_host(1);
    let holder = simulation.another_process();
    simulation.files.plant_directory("/agent").expect("planted");
    let directory = holder.host().files.open("/agent".as_ref()).expect("opens");
    let held = acquire(&directory, ".harness-state.lock", wait, &*holder.host().clock).expect("it is free");
    simulation.files.forget_operations();
    let options = Options { lock_wait: wait, ..Options::default() };
    let started = host.clock.awake();
    let refused = claim("/agent", &claimant("tok-a"), &options, &host);
    assert_eq!(refused.expect_err("it is held").code(), Code::HarnessStateBusy);
    assert_eq!(host.clock.awake() - started, wait, "neither shorter nor longer");
    drop(held);
    simulation.files.counts()[&OperationKind::TryLock]
}

#[test]
fn hs_21_a_short_wait_has_as_many_tries_as_it_takes_to_win_one() {
    let (hook, default) = (tries_within(Duration::from_millis(250)), tries_within(Duration::from_secs(10)));
    // Pauses grow by an eighth each from 20 µs to the two hundredth part of the wait, or to 50 ms.
    for tries in [hook, default] {
        assert!((200..=270).contains(&tries), "{tries} tries");
    }
}

#[test]
fn a_file_whose_creation_is_reported_as_failed_is_not_left_behind() {
    let (simulation, writer) = landed_at(1_700_000_000_123);
    let before = simulation.files.names("/agent").expect("listed");
    let faults = r#"[{"on": "create", "do": "error-after", "errno": "EIO"}]"#;
    simulation.files.set_faults(gallivant_core::testing::Fault::parse_list(faults).expect("well formed"));
    let error = writer.observe(&idle()).expect_err("the disk says so");
    assert_eq!(error.code(), Code::HarnessStateIo);
    assert_eq!(simulation.files.names("/agent").expect("listed"), before);
    assert_eq!(observe(&writer, &idle()), Outcome::Landed);
}

#[test]
fn hs_22_a_directory_that_was_replaced_is_noticed_by_the_next_call() {
    let seat = crate::support::Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    let aside = seat.root().join("aside");
    std::fs::rename(&seat.dir, &aside).expect("moved");
    std::fs::create_dir(&seat.dir).expect("another in its place");
    assert_eq!(observe(&writer, &idle()), Outcome::Landed);
    assert_eq!(seat.record().seq, 1);
    let before =
        gallivant_core::harness_state::decode(&std::fs::read(aside.join("harness-state")).expect("there"));
    assert_eq!(before.expect("whole").observation(), active(), "what was moved away is left alone");
    std::fs::remove_dir_all(&seat.dir).expect("removed");
    assert!(matches!(writer.heartbeat(), Ok(gallivant_core::harness_state::Heartbeat::Skipped(_))));
    assert!(!seat.dir.exists(), "a heartbeat creates nothing");
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
}

#[test]
fn hs_03_a_umask_that_changes_between_two_calls_takes_nothing_from_the_owner() {
    let seat = crate::support::Seat::new();
    let modes = crate::support::in_forked_child(|| {
        let writer = seat.owner("tok-a");
        observe(&writer, &active());
        // SAFETY: the umask of the forked child only.
        unsafe { libc::umask(0o777) };
        observe(&writer, &idle());
        let first = seat.mode("harness-state") == 0o600;
        observe(&writer, &active());
        u8::from(!(first && seat.mode("harness-state") == 0o600))
    });
    assert_eq!(modes, 0);
    assert_eq!(seat.reads().0, gallivant_core::harness_state::State::Active);
}
