//! Whose a reservation is (IK-09), and that a crash leaves no key behind (IKI-3).

use std::time::Duration;

use gallivant_core::idempotency::StoreOptions;
use gallivant_core::process::ProcessFact;
use gallivant_core::testing::SimulatedProcesses;

use super::world::{
    BODY, KEY, NOW, OPERATION, SCOPE, World, created, over_every_engine, replayed, running, unknown, word,
};

const TWO_MINUTES: Duration = Duration::from_secs(120);
const MILLISECOND: Duration = Duration::from_millis(1);

over_every_engine! {
    fn ik_09_a_provably_dead_owner_is_taken_over_at_once(world: World) {
        let other = world.process(20);
        for (pid, dies) in [
            (10, "gone"),
            (11, "zombie"),
            (12, "its pid is another's"),
        ] {
            let owner = world.process(pid);
            let held = created(owner.begin());
            assert_eq!(word(&other.begin()), "in_progress:fresh");
            std::mem::forget(held);
            match dies {
                "gone" => world.machine.end(pid),
                "zombie" => world.machine.set(pid, ProcessFact::Zombie),
                _ => world.machine.start(pid, 99_999),
            }
            let begin = other.begin_with(b"any body").expect("the key is free");
            assert_eq!(word(&begin), "create:taken-over", "{dies}");
            created(begin).release().expect("it is released");
        }
    }

    fn ik_09_a_proved_live_owner_is_never_taken_over_however_slow(world: World) {
        let (owner, other) = (world.process(10), world.process(11));
        let mut held = created(owner.begin());
        for _ in 0..59 {
            world.pass(Duration::from_secs(60));
            assert_eq!(word(&other.begin()), "in_progress:fresh");
        }
        // The wall clock may say what it wants.
        world.clock.set_wall_ms(NOW + 30 * 86_400_000);
        assert_eq!(word(&other.begin()), "in_progress:fresh");
        held.complete("r-1", b"").expect("it was never taken over");
    }

    fn ik_09_an_owner_that_cannot_be_judged_holds_for_two_minutes_to_the_millisecond(world: World) {
        let other = world.process(20);
        for what in ["another host", "another pid namespace", "an unreadable table"] {
            let machine = SimulatedProcesses::new(1, 1);
            match what {
                "another host" => machine.set_host("far"),
                "another pid namespace" => machine.set_pid_namespace("pid:[1]"),
                _ => {}
            }
            let owner = world.process_of(&machine, 10);
            let mut held = created(owner.begin());
            if what == "an unreadable table" {
                world.machine.set_readable(false);
            }
            world.pass(Duration::from_secs(100));
            held.keep_alive().expect("it lives");
            world.pass(TWO_MINUTES - MILLISECOND);
            assert_eq!(word(&other.begin()), "in_progress:fresh", "{what}");
            world.pass(MILLISECOND);
            let begin = other.begin();
            assert_eq!(word(&begin), "create:taken-over", "{what}");
            created(begin).release().expect("it is released");
            world.machine.set_readable(true);
            drop(held);
        }
    }

    fn ik_09_another_boot_of_the_same_machine_proves_death_and_a_stopped_process_is_alive(world: World) {
        let owner = world.process(10);
        let held = created(owner.begin());
        // A stopped process runs, as far as a process table is concerned.
        assert_eq!(word(&world.process(11).begin()), "in_progress:fresh");
        std::mem::forget(held);
        let rebooted = world.process_of(&world.machine.rebooted(), 10);
        assert_eq!(word(&rebooted.begin()), "create:taken-over", "the same pid of another boot");
    }

    fn ik_09_a_reservation_that_a_living_process_forgot_answers_unknown_and_never_create(world: World) {
        let (owner, other) = (world.process(10), world.process(11));
        let mut held = created(owner.begin());
        world.pass(Duration::from_secs(1800));
        held.keep_alive().expect("it lives");
        // The clock that it is measured on runs.
        world.pass(Duration::from_secs(3600 - 30));
        assert_eq!(word(&other.begin()), "in_progress:fresh");
        // A machine that sleeps makes nobody forget.
        world.clock.suspend(Duration::from_secs(7200));
        assert_eq!(word(&other.begin()), "in_progress:fresh");
        world.pass(Duration::from_secs(30));
        assert_eq!(word(&other.begin()), "unknown:fresh");
        assert_eq!(word(&owner.begin()), "unknown:fresh");
        held.keep_alive().expect("nobody took it");
        assert_eq!(word(&other.begin()), "in_progress:fresh");
        world.pass(Duration::from_secs(3600));
        let mut next = created(unknown(other.begin()).settle(None).expect("an answer"));
        assert_eq!(held.complete("r-mine", b"").expect_err("lost").code().name(), "IDEMPOTENCY_CLAIM_LOST");
        next.complete("r-2", b"").expect("it completes");
    }

    fn ik_09_an_unknown_whose_owner_is_heard_of_again_cannot_be_settled(world: World) {
        let (owner, other) = (world.stranger("far", 10), world.process(11));
        let mut held = created(owner.begin());
        held.effect_starting().expect("it is marked");
        world.pass(TWO_MINUTES);
        let claim = unknown(other.begin());
        held.keep_alive().expect("it lives");
        assert_eq!(word(&claim.settle(None).expect("an answer")), "in_progress:fresh");
        held.complete("r-1", b"").expect("nobody took it");
    }

    fn ik_09_after_a_sleep_of_the_machine_each_owner_has_one_window_of_grace(world: World) {
        let (owner, other) = (world.stranger("far", 10), world.process(11));
        let held = created(owner.begin());
        world.clock.suspend(Duration::from_secs(8 * 3600));
        assert_eq!(word(&other.begin()), "in_progress:fresh", "it had no time to refresh");
        world.pass(TWO_MINUTES - MILLISECOND);
        assert_eq!(word(&other.begin()), "in_progress:fresh");
        world.pass(MILLISECOND);
        assert_eq!(word(&other.begin()), "create:taken-over");
        drop(held);

        // A container of the same machine, and a process that did not live to see the sleep.
        let machine = SimulatedProcesses::new(1, 1);
        machine.set_host("container");
        let held = created(world.process_of(&machine, 12).store.begin(OPERATION, SCOPE, "k-2", BODY).expect("an answer"));
        world.clock.suspend(Duration::from_secs(8 * 3600));
        let fresh = world.process(13);
        let begin = || word(&fresh.store.begin(OPERATION, SCOPE, "k-2", BODY).expect("an answer"));
        assert_eq!(begin(), "in_progress:fresh");
        world.pass(TWO_MINUTES - Duration::from_secs(30));
        assert_eq!(begin(), "in_progress:fresh");
        world.pass(Duration::from_secs(30));
        assert_eq!(begin(), "create:taken-over");
        std::mem::forget(held);
    }

    fn ik_09_a_clock_that_ran_ahead_holds_no_key_for_ever(world: World) {
        let machine = SimulatedProcesses::new(1, 1);
        machine.set_host("container");
        let owner = world.process_of(&machine, 10);
        let other = world.process(11);
        world.clock.set_wall_ms(NOW + 365 * 86_400_000);
        let held = created(owner.begin());
        world.clock.set_wall_ms(NOW);
        world.pass(TWO_MINUTES - Duration::from_secs(30));
        assert_eq!(word(&other.begin()), "in_progress:fresh");
        world.pass(Duration::from_secs(30));
        assert_eq!(word(&other.begin()), "create:taken-over");
        drop(held);
    }

    fn ik_09_of_sixteen_takers_one_takes_over(world: World) {
        let owner = world.process(10);
        let held = created(owner.begin());
        let takers: Vec<_> = (20..36).map(|pid| world.process(pid)).collect();
        world.kill(&owner, Some(held));
        let barrier = std::sync::Barrier::new(takers.len());
        let mut said = std::thread::scope(|scope| {
            let racing: Vec<_> = takers
                .iter()
                .map(|process| {
                    scope.spawn(|| {
                        barrier.wait();
                        let begin = process.begin();
                        let said = word(&begin);
                        std::mem::forget(begin);
                        said
                    })
                })
                .collect();
            racing.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        said.sort();
        assert_eq!(said[0], "create:taken-over");
        assert!(said[1..].iter().all(|word| word == "in_progress:fresh"), "{said:?}");
    }

    fn ik_06_a_wait_ends_when_the_owner_dies(world: World) {
        let (owner, other) = (world.process(10), world.process(11));
        let held = created(owner.begin());
        let ticket = running(other.begin());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ticket.wait(Duration::from_secs(120)).expect("an answer"));
            std::thread::sleep(Duration::from_millis(40));
            world.kill(&owner, Some(held));
            assert_eq!(word(&waiting.join().expect("no panic")), "create:taken-over");
        });
    }

    /// A crash in each window: before the reservation, after it, after the mark, after the end.
    fn iki_3_after_a_crash_in_any_window_the_next_begin_terminates(world: World) {
        let other = world.process(99);
        let begin = |key: &str| other.store.begin(OPERATION, SCOPE, key, BODY).expect("an answer");
        for (pid, window) in (10..14).zip(["before", "reserved", "marked", "finished"]) {
            let process = world.process(pid);
            if window != "before" {
                let mut held = created(process.store.begin(OPERATION, SCOPE, window, BODY).expect("an answer"));
                match window {
                    "marked" => held.effect_starting().expect("it is marked"),
                    "finished" => held.complete("r-1", b"1").expect("it completes"),
                    _ => {}
                }
                std::mem::forget(held);
            }
            world.kill(&process, None);
            let expected = match window {
                "before" => "create:fresh",
                "reserved" => "create:taken-over",
                "marked" => "unknown:fresh",
                _ => "replay:replayed",
            };
            assert_eq!(word(&begin(window)), expected, "{window}");
        }
        assert_eq!(replayed(unknown(begin("marked")).settle(Some("r")).expect("an answer")).resource(), "r");
    }
}

#[test]
fn ik_09_the_longest_reservation_is_an_option() {
    let mut world = World::new(super::world::Engine::Memory);
    world.options = StoreOptions { max_reservation: Duration::from_secs(60), ..StoreOptions::default() };
    let (owner, other) = (world.process(10), world.process(11));
    let held = created(owner.store.begin(OPERATION, SCOPE, KEY, BODY).expect("an answer"));
    world.pass(Duration::from_secs(60));
    assert_eq!(word(&other.begin()), "unknown:fresh");
    drop(held);
    assert_eq!(other.state(), "none", "the owner may still release it");
}
