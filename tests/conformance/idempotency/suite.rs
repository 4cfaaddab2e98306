//! What every engine has to do (IK-20): the life of a key from before its thing exists until after it is gone.

use std::time::{Duration, Instant};

use gallivant_core::Code;
use gallivant_core::idempotency::{Ask, Begin, Fingerprint};

use super::world::{
    BODY, KEY, OPERATION, SCOPE, World, created, over_every_engine, replayed, running, unknown, word,
};

over_every_engine! {
    fn ik_01_a_repeat_gets_the_resource_and_the_answer_byte_for_byte(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        let answer: Vec<u8> = (0..=255).collect();
        created(first.begin()).complete("r-1", &answer).expect("it completes");
        for process in [&first, &second, &world.process(12)] {
            let claim = replayed(process.begin());
            assert_eq!((claim.resource(), claim.answer()), ("r-1", Some(&*answer)));
            assert_eq!(claim.how().word(), "replayed");
            assert_eq!(claim.completed_ms(), super::world::NOW);
        }
        let empty = first.store.begin(OPERATION, SCOPE, "k-2", b"").expect("an answer");
        created(empty).complete("r-2", b"").expect("it completes");
        let claim = replayed(second.store.begin(OPERATION, SCOPE, "k-2", b"").expect("an answer"));
        assert_eq!(claim.answer(), Some(&b""[..]), "an empty answer is one");
    }

    fn ik_02_another_body_is_refused_while_it_runs_and_afterwards(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        let mut held = created(first.begin());
        assert_eq!(second.refused_with(b"{} "), Code::IdempotencyKeyReused);
        assert_eq!(first.refused_with(b""), Code::IdempotencyKeyReused);
        assert_eq!(second.state(), "reserved");
        held.complete("r-1", b"ok").expect("the refusals changed nothing");
        assert_eq!(second.refused_with(b"{ }"), Code::IdempotencyKeyReused);
        assert_eq!(replayed(second.begin()).resource(), "r-1");
    }

    fn ik_03_the_bytes_decide_however_they_are_cut(world: World) {
        let process = world.process(10);
        created(process.begin_with(br#"{"a":1}"#).expect("an answer")).complete("r-1", b"").expect("it completes");
        for other in [&br#"{ "a": 1 }"#[..], br#"{"a":1.0}"#, b"{\"a\":1}\n", b""] {
            assert_eq!(process.refused_with(other), Code::IdempotencyKeyReused);
        }
        let mut parts = Fingerprint::builder();
        for byte in br#"{"a":1}"# {
            parts.update(&[*byte]);
        }
        let fingerprint = parts.finish();
        assert_eq!(fingerprint, Fingerprint::of(br#"{"a":1}"#));
        let ask = Ask { operation: OPERATION, scope: SCOPE, key: KEY, fingerprint, deadline: None };
        assert_eq!(replayed(process.store.ask(&ask).expect("an answer")).resource(), "r-1");
        // SHA-256 of the empty text, by FIPS 180-4.
        assert_eq!(format!("{:?}", Fingerprint::of(b""))[..16], *"e3b0c44298fc1c14");
    }

    fn ik_05_a_release_or_a_drop_before_the_mark_frees_the_key_for_any_body(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        let mut held = created(first.begin());
        held.release().expect("it is released");
        assert_eq!(second.state(), "none");
        drop(held);
        let dropped = created(second.begin_with(b"another").expect("an answer"));
        assert_eq!(word(&first.begin_with(b"another").expect("an answer")), "in_progress:fresh");
        drop(dropped);
        assert_eq!(word(&first.begin_with(b"a third").expect("an answer")), "create:fresh");
        assert_eq!(first.state(), "none", "the answer was dropped at once");
    }

    /// Inside the window between the mark and the end: nobody may guess.
    fn ik_05_after_the_mark_nothing_releases_but_settling_and_the_owner(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        let mut held = created(first.begin());
        held.effect_starting().expect("it is marked");
        held.effect_starting().expect("a mark may be repeated");
        assert_eq!((second.state(), word(&second.begin()).as_str()), ("marked", "in_progress:fresh"));
        drop(held);
        for _ in 0..3 {
            assert_eq!(word(&first.begin()), "unknown:fresh");
            assert_eq!(word(&second.begin()), "unknown:fresh");
        }
        assert_eq!(second.refused_with(b"another"), Code::IdempotencyKeyReused, "it still belongs to its body");
        world.pass(Duration::from_secs(40 * 24 * 3600));
        let claim = unknown(second.begin());
        let begin = claim.settle(Some("r-found")).expect("it is settled");
        assert_eq!(word(&begin), "replay:settled");
        let found = replayed(begin);
        assert_eq!((found.resource(), found.answer()), ("r-found", None), "nobody knows how it was answered");
        assert_eq!(replayed(first.begin()).resource(), "r-found");
        assert_eq!(word(&claim.settle(None).expect("an answer")), "replay:replayed", "it is settled already");

        // The owner itself may still release after the mark.
        let mut held = created(found.recreate().expect("an answer"));
        held.effect_starting().expect("it is marked");
        held.release().expect("the owner knows");
        assert_eq!(first.state(), "none");
    }

    fn ik_05_a_late_complete_of_the_owner_counts_while_the_answer_is_unknown(world: World) {
        let (owner, other) = (world.stranger("far", 10), world.process(11));
        let mut held = created(owner.begin());
        held.effect_starting().expect("it is marked");
        world.pass(Duration::from_secs(120));
        let claim = unknown(other.begin());
        held.complete("r-late", b"late").expect("nobody took it");
        let begin = claim.settle(None).expect("an answer");
        assert_eq!(replayed(begin).resource(), "r-late", "there is nothing to settle any more");
    }

    fn ik_05_settled_as_absent_gives_the_key_to_the_settler_and_the_owner_has_lost(world: World) {
        let (owner, other) = (world.stranger("far", 10), world.process(11));
        let mut held = created(owner.begin());
        held.effect_starting().expect("it is marked");
        world.pass(Duration::from_secs(120));
        let begin = unknown(other.begin()).settle(None).expect("it is settled");
        assert_eq!(word(&begin), "create:settled");
        let mut next = created(begin);
        assert_eq!(other.state(), "reserved", "what settling hands out is not marked");
        assert_eq!(held.complete("r-late", b"").expect_err("lost").code(), Code::IdempotencyClaimLost);
        next.complete("r-2", b"2").expect("it completes");
        assert_eq!(replayed(owner.begin()).resource(), "r-2");
    }

    fn ik_06_a_repeat_waits_for_the_first_and_gets_what_it_made(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        let mut held = created(first.begin());
        let ticket = running(second.begin());
        let timed_out = ticket.wait(Duration::from_millis(30)).expect_err("it runs");
        assert_eq!(timed_out.code(), Code::IdempotencyInProgress);
        assert_eq!(word(&ticket.look().expect("the ticket stays good")), "in_progress:waited");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ticket.wait(Duration::from_secs(120)).expect("an answer"));
            std::thread::sleep(Duration::from_millis(60));
            assert!(!waiting.is_finished());
            let completed = Instant::now();
            held.complete("r-1", b"ok").expect("it completes");
            let begin = waiting.join().expect("no panic");
            assert!(completed.elapsed() < Duration::from_secs(60));
            assert_eq!(word(&begin), "replay:waited");
            assert_eq!(replayed(begin).answer(), Some(&b"ok"[..]));
        });
    }

    fn ik_06_a_release_wakes_exactly_one_and_the_others_wait_on_it(world: World) {
        let first = world.process(10);
        let mut held = created(first.begin());
        let waiters: Vec<_> = (20..24).map(|pid| world.process(pid)).collect();
        let counts = std::thread::scope(|scope| {
            let waiting: Vec<_> = waiters
                .iter()
                .map(|process| {
                    let ticket = running(process.begin());
                    scope.spawn(move || {
                        let begin = ticket.wait(Duration::from_secs(120)).expect("an answer");
                        let said = word(&begin);
                        if let Begin::Create(mut reservation) = begin {
                            std::thread::sleep(Duration::from_millis(20));
                            reservation.complete("r-2", b"2").expect("it completes");
                        }
                        said
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(40));
            held.release().expect("it is released");
            let mut said: Vec<_> = waiting.into_iter().map(|thread| thread.join().expect("no panic")).collect();
            said.sort();
            said
        });
        assert_eq!(counts, ["create:waited", "replay:waited", "replay:waited", "replay:waited"]);
    }

    fn ik_07_claims_are_apart_by_operation_and_by_the_whole_scope(world: World) {
        let process = world.process(10);
        let names: &[(&str, &[&str])] = &[
            ("things.create", &["a", "b"]),
            ("things.create", &["ab"]),
            ("things.create", &["a/b"]),
            ("things.create", &["a", "b", "c"]),
            ("things.create", &["a"]),
            ("things.create", &["b", "a"]),
            ("other.create", &["a", "b"]),
            ("things.createa", &["b"]),
        ];
        for (position, (operation, scope)) in names.iter().enumerate() {
            let begin = process.store.begin(operation, scope, KEY, BODY).expect("an answer");
            assert_eq!(word(&begin), "create:fresh", "{operation} {scope:?}");
            created(begin).complete(&format!("r-{position}"), b"").expect("it completes");
        }
        for (position, (operation, scope)) in names.iter().enumerate() {
            let claim = replayed(process.store.begin(operation, scope, KEY, BODY).expect("an answer"));
            assert_eq!(claim.resource(), format!("r-{position}"));
        }
        // What only looks like the key of another scope.
        let begin = process.store.begin("things.create", &["a", "b"], "k-1\u{7e}", BODY).expect("an answer");
        assert_eq!(word(&begin), "create:fresh");
    }

    fn ik_08_of_all_who_report_the_resource_gone_one_makes_it_again(world: World) {
        let processes: Vec<_> = (10..18).map(|pid| world.process(pid)).collect();
        created(processes[0].begin()).complete("r-1", b"1").expect("it completes");
        let claims: Vec<_> = processes.iter().map(|process| replayed(process.begin())).collect();
        assert!(claims[3].still_stands().expect("it can be looked at"));
        let barrier = std::sync::Barrier::new(claims.len());
        let mut said = std::thread::scope(|scope| {
            let racing: Vec<_> = claims
                .iter()
                .map(|claim| {
                    scope.spawn(|| {
                        barrier.wait();
                        let begin = claim.recreate().expect("an answer");
                        let said = word(&begin);
                        std::mem::forget(begin);
                        said
                    })
                })
                .collect();
            racing.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        said.sort();
        assert_eq!(said[0], "create:recreated");
        assert!(said[1..].iter().all(|word| word == "in_progress:fresh"), "{said:?}");
        assert!(!claims[3].still_stands().expect("it can be looked at"));
    }

    fn ik_08_a_claim_that_was_replaced_answers_what_replaced_it(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        created(first.begin()).complete("r-1", b"1").expect("it completes");
        let (mine, theirs) = (replayed(first.begin()), replayed(second.begin()));
        let mut held = created(mine.recreate().expect("an answer"));
        let ticket = running(theirs.recreate().expect("an answer"));
        held.complete("r-2", b"2").expect("it completes");
        assert_eq!(replayed(theirs.recreate().expect("an answer")).resource(), "r-2");
        assert_eq!(replayed(mine.recreate().expect("an answer")).resource(), "r-2");
        assert_eq!(word(&ticket.look().expect("an answer")), "replay:waited");
        drop(created(replayed(first.begin()).recreate().expect("an answer")));
        assert_eq!(word(&theirs.recreate().expect("an answer")), "create:fresh", "the key names nothing");
    }

    fn ik_10_whoever_was_taken_over_learns_it_and_what_the_winner_made(world: World) {
        let (owner, other) = (world.stranger("far", 10), world.process(11));
        let mut held = created(owner.begin());
        world.pass(Duration::from_secs(120));
        let mut taken = created(other.begin());
        assert_eq!(taken.how().word(), "taken-over");
        let lost = held.complete("r-mine", b"mine").expect_err("lost");
        assert_eq!((lost.code(), lost.resource()), (Code::IdempotencyClaimLost, None), "nothing is made yet");
        taken.complete("r-theirs", b"theirs").expect("it completes");
        let lost = held.complete("r-mine", b"mine").expect_err("lost");
        assert_eq!((lost.code(), lost.resource()), (Code::IdempotencyClaimLost, Some("r-theirs")));
        for refused in [held.release(), held.keep_alive(), held.effect_starting()] {
            assert_eq!(refused.expect_err("lost").code(), Code::IdempotencyClaimLost);
        }
        drop(held);
        assert_eq!(replayed(owner.begin()).answer(), Some(&b"theirs"[..]), "the loser changed nothing");
        let lost = taken.complete("r-again", b"").expect_err("it has ended");
        assert_eq!((lost.code(), lost.resource()), (Code::IdempotencyClaimLost, Some("r-theirs")));
        assert_eq!(lost.reason(), Some("ended"), "by itself, so that nothing is to be undone");
        assert!(!lost.remedy().starts_with("undo"), "{}", lost.remedy());
        taken.release().expect("releasing what one has completed does nothing");
        assert_eq!(taken.keep_alive().expect_err("it has ended").reason(), Some("ended"));
        assert_eq!(replayed(other.begin()).resource(), "r-theirs");
    }

    fn ik_11_a_claim_lives_its_window_from_its_completion_to_the_millisecond(world: World) {
        let process = world.process(10);
        let mut held = created(process.begin());
        world.pass(Duration::from_secs(50));
        held.complete("r-1", b"").expect("it completes");
        let day = Duration::from_secs(24 * 3600);
        world.pass(day - Duration::from_millis(1));
        assert_eq!(word(&process.begin()), "replay:replayed");
        assert_eq!(process.state(), "finished");
        world.pass(Duration::from_millis(1));
        assert_eq!(process.state(), "none");
        let begin = process.begin_with(b"another").expect("the key names nothing any more");
        assert_eq!(word(&begin), "create:expired");
    }

    fn ik_11_a_stamp_from_the_future_counts_as_just_written(world: World) {
        let process = world.process(10);
        created(process.begin()).complete("r-1", b"").expect("it completes");
        // The clock that stamped it had run a year ahead, and was set.
        world.clock.set_wall_ms(super::world::NOW - 365 * 86_400_000);
        assert_eq!(word(&process.begin()), "replay:replayed");
        assert_eq!(process.store.sweep().expect("it sweeps").removed, 0);
        world.clock.set_wall_ms(super::world::NOW + 86_400_000 - 1);
        assert_eq!(word(&process.begin()), "replay:replayed");
    }

    fn ik_17_a_sweep_is_done_in_bounded_parts(world: World) {
        let process = world.process(10);
        for number in 0..600 {
            let begin = process.store.begin(OPERATION, SCOPE, &format!("k{number}"), BODY).expect("an answer");
            created(begin).complete("r", b"x").expect("it completes");
        }
        world.pass(Duration::from_secs(86_400));
        let (mut removed, mut calls) = (0, 0);
        loop {
            let swept = process.store.sweep().expect("it sweeps");
            assert!(swept.removed <= 32, "a call is bounded");
            removed += swept.removed;
            calls += 1;
            if !swept.has_more {
                break;
            }
        }
        assert_eq!((removed, calls), (600, 19));
        assert_eq!(process.store.sweep().expect("it sweeps").removed, 0);
    }

    fn ik_18_a_sweep_leaves_what_runs_what_is_marked_and_what_has_not_expired(world: World) {
        let process = world.process(10);
        let begin = |key| process.store.begin(OPERATION, SCOPE, key, BODY).expect("an answer");
        let running = created(begin("running"));
        let mut marked = created(begin("marked"));
        marked.effect_starting().expect("it is marked");
        std::mem::forget(marked);
        created(begin("old")).complete("r-old", b"").expect("it completes");
        world.pass(Duration::from_secs(86_400 - 1));
        created(begin("young")).complete("r-young", b"").expect("it completes");
        world.pass(Duration::from_secs(1));
        assert_eq!(process.store.sweep().expect("it sweeps").removed, 1);
        let state = |key| process.store.inspect(OPERATION, SCOPE, key).expect("it can be looked at").map(|claim| claim.state.word());
        assert_eq!(
            (state("running"), state("marked"), state("old"), state("young")),
            (Some("reserved"), Some("marked"), None, Some("finished"))
        );
        drop(running);
    }

    fn ik_20_a_whole_life(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        assert_eq!(first.inspect(), None);
        let mut held = created(first.begin());
        let ticket = running(second.begin());
        held.effect_starting().expect("it is marked");
        held.keep_alive().expect("it lives");
        held.complete("r-1", b"1").expect("it completes");
        let claim = replayed(ticket.wait(Duration::from_secs(120)).expect("an answer"));
        let view = first.inspect().expect("it stands");
        assert_eq!((view.state.word(), view.resource.as_deref(), view.answer.as_deref()), ("finished", Some("r-1"), Some(&b"1"[..])));
        created(claim.recreate().expect("an answer")).complete("r-2", b"2").expect("it completes");
        world.pass(Duration::from_secs(86_400));
        assert_eq!(second.store.sweep().expect("it sweeps").removed, 1);
        assert_eq!(word(&first.begin_with(b"new").expect("an answer")), "create:fresh");
        first.store.capability().expect("creates are available");
    }

    /// Sixteen threads of four processes over one key, in rounds: at most one holds it at a time, and what was answered
    /// to one is what all are answered.
    fn iki_1_at_most_one_create_holds_the_key(world: World) {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let processes: Vec<_> = (10..14).map(|pid| world.process(pid)).collect();
        for round in 0..5 {
            let key = format!("round-{round}");
            let (holders, completed) = (AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for (number, process) in processes.iter().cycle().take(16).enumerate() {
                    let (key, holders, completed) = (&key, &holders, &completed);
                    scope.spawn(move || {
                        let mut begin = process.store.begin(OPERATION, SCOPE, key, BODY).expect("an answer");
                        loop {
                            begin = match begin {
                                Begin::Create(mut reservation) => {
                                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold the key");
                                    std::thread::yield_now();
                                    holders.fetch_sub(1, Ordering::SeqCst);
                                    if number % 3 == 0 {
                                        reservation.release().expect("it is released");
                                        return;
                                    }
                                    completed.fetch_add(1, Ordering::SeqCst);
                                    reservation.complete("r", b"").expect("it completes");
                                    return;
                                }
                                Begin::InProgress(ticket) => ticket.wait(Duration::from_secs(120)).expect("an answer"),
                                Begin::Replay(_) => return,
                                Begin::Unknown(claim) => panic!("{claim:?}"),
                            };
                        }
                    });
                }
            });
            assert!(completed.load(Ordering::SeqCst) <= 1, "two completed");
        }
    }

    fn iki_2_nothing_of_one_scope_reads_a_claim_of_another(world: World) {
        let process = world.process(10);
        created(process.store.begin("op", &["a", "b"], "key", BODY).expect("an answer")).complete("secret", b"secret").expect("it completes");
        // Every way to cut the same letters, and names that hold what separates parts on disk.
        for (operation, scope, key) in [
            ("op", &["a"][..], "key"),
            ("op", &["a", "b", "key"], "key"),
            ("op", &["ab"], "key"),
            ("op", &["a\u{0}b"], "key"),
            ("op", &["[\"a\",\"b\"]"], "key"),
            ("opa", &["b"], "key"),
            ("op", &["a", "b' OR '1'='1"], "key"),
            ("op", &["b", "a"], "key"),
            ("op", &["A", "b"], "key"),
        ] {
            assert_eq!(process.store.inspect(operation, scope, key).expect("it can be looked at"), None, "{operation} {scope:?}");
            assert_eq!(word(&process.store.begin(operation, scope, key, BODY).expect("an answer")), "create:fresh");
        }
    }
}
