//! Of section G: what watching (HS-93) costs, where it cannot be notified, its descriptor, and its end.

use std::time::Duration;

use gallivant_core::harness_state::{
    FleetOptions, FleetProbe, Noticing, Options, Watch, WatchOptions, WatchProbe,
};
use gallivant_core::testing::simulated_host;
use gallivant_core::{Code, Host};

use crate::harness_state_watch::{
    LONG, QUIET, fleet, fleet_with, is_quiet, session, told, told_at_last, watching, words,
};
use crate::support::ground::Ground;
use crate::support::{in_forked_child, line};

fn is_readable(watch: &Watch, wait: Duration) -> bool {
    let descriptor = watch.descriptor().expect("a descriptor");
    let mut polled = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
    let wait = rustix::event::Timespec::try_from(wait).expect("in range");
    rustix::event::poll(&mut polled, Some(&wait)).expect("polls") == 1
}

#[test]
fn hs_93_nothing_is_looked_at_while_nothing_changes() {
    let ground = Ground::new();
    let session = session(&ground, "a");
    let options = WatchOptions::default();
    // Each looks at the lease, which must not wake the other.
    let mut first = watching(&ground, "a", WatchProbe::Lease, &options, ground.host());
    let mut second = fleet_with(&ground, FleetProbe::Lease, &options);
    for watch in [&mut first, &mut second] {
        told(watch);
    }
    while first.next(QUIET).expect("no error").is_some() || second.next(QUIET).expect("no error").is_some() {}
    let before = ground.machine.operations().len();
    std::fs::write(ground.path("a/another-file"), "x").expect("written");
    assert!(is_quiet(&mut first) && is_quiet(&mut second));
    let looked = ground.machine.operations().split_off(before);
    assert!(looked.is_empty(), "{looked:?}");
    assert!(!is_readable(&first, Duration::from_millis(20)), "nor does the descriptor wake anybody");
    drop(session);
    assert_eq!(told(&mut first), [". session-dead"]);
    assert_eq!(told(&mut second), ["a session-dead"]);
}

#[test]
fn hs_93_where_watches_run_out_it_looks_instead_and_says_so() {
    let ground = Ground::new();
    for agent in ["a", "b"] {
        ground.publish(agent, "active");
    }
    let faults = r#"[{"on":"watch","name":"*/b","repeat":true,"do":"error","errno":"ENOSPC"}]"#;
    let faults = faults.replace("*/b", &ground.path("b").display().to_string());
    ground.machine.set_faults(&faults).expect("faults");
    let options = WatchOptions { poll_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let mut watch = fleet_with(&ground, FleetProbe::None, &options);
    let change = watch.next(LONG).expect("no error").expect("a change");
    assert_eq!((words(&change).len(), change.noticing), (2, Noticing::PolledLimit));
    ground.publish("b", "idle");
    assert_eq!(told(&mut watch), ["b idle"]);
    ground.publish("a", "ready");
    assert_eq!(told(&mut watch), ["a ready"]);
    // Once there is room again, it is watched as the others are.
    ground.machine.set_faults("[]").expect("no faults");
    let change = watch.next(LONG).expect("no error").expect("a change");
    assert_eq!((change.seats.len(), change.noticing), (0, Noticing::Notified));
    ground.publish("b", "child");
    assert_eq!(told(&mut watch), ["b child"]);

    let faults = r#"[{"on":"watch","repeat":true,"do":"error","errno":"EMFILE"}]"#;
    ground.machine.set_faults(faults).expect("faults");
    let mut watch = watching(&ground, "a", WatchProbe::None, &options, ground.host());
    let change = watch.next(LONG).expect("no error").expect("a change");
    assert_eq!(change.noticing, Noticing::PolledLimit);
    ground.publish("a", "idle");
    assert_eq!(told(&mut watch), [". idle"]);
}

#[test]
fn hs_93_where_the_system_does_not_notify_it_looks_at_its_interval() {
    let (host, simulation) = simulated_host(1);
    let publish = |state: &str| {
        let now = simulation.host().clock.wall_ms().to_string();
        let text = line(&[("state", &format!("\"{state}\"")), ("writtenAtMs", &now)]);
        simulation.files.plant_file("/fleet/a/harness-state", text).expect("planted");
    };
    publish("active");
    let (bounds, options) = (FleetOptions::default(), Options::default());
    let interval = WatchOptions::default().poll_interval;
    let fleet = Watch::fleet("/fleet", &bounds, FleetProbe::None, &WatchOptions::default(), &options, &host);
    let record = Watch::record("/fleet/a", WatchProbe::None, &WatchOptions::default(), &options, &host);
    for mut watch in [fleet.expect("it watches"), record.expect("it watches")] {
        let change = watch.next(None).expect("no error").expect("a change");
        assert_eq!(change.noticing, Noticing::PolledUnsupported);
        assert!(watch.descriptor().is_none());
        let began = host.clock.awake();
        publish("idle");
        assert!(words(&watch.next(None).expect("no error").expect("a change"))[0].ends_with(" idle"));
        assert!(host.clock.awake() - began <= interval, "within the interval");
        // It sleeps exactly until the answer changes by time alone.
        let stale = words(&watch.next(None).expect("no error").expect("a change"));
        assert!(stale[0].ends_with(" stale"), "{stale:?}");
        let late = host.clock.awake() - began;
        assert!(late <= Duration::from_millis(options.stale_ms) + interval, "{late:?}");
        publish("active");
        told(&mut watch);
    }
}

#[test]
fn hs_93_a_record_that_is_a_link_is_looked_at_besides() {
    let ground = Ground::new();
    ground.publish_in(&ground.beside("outside"), "idle");
    std::fs::create_dir_all(ground.path("a")).expect("made");
    std::os::unix::fs::symlink("../../outside/harness-state", ground.path("a/harness-state"))
        .expect("linked");
    let options = WatchOptions { poll_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let record = watching(&ground, "a", WatchProbe::None, &options, ground.host());
    for mut watch in [record, fleet_with(&ground, FleetProbe::None, &options)] {
        let change = watch.next(LONG).expect("no error").expect("a change");
        assert_eq!(change.noticing, Noticing::PolledUnsupported);
        ground.publish_in(&ground.beside("outside"), "ready");
        assert!(told(&mut watch)[0].ends_with(" ready"));
        ground.publish_in(&ground.beside("outside"), "idle");
        assert!(told(&mut watch)[0].ends_with(" idle"));
    }
}

#[test]
fn hs_93_what_could_not_be_read_for_a_moment_is_read_again() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let options = WatchOptions { poll_interval: Duration::from_millis(20), ..WatchOptions::default() };
    for on in ["read", "open"] {
        let mut watch = fleet_with(&ground, FleetProbe::None, &options);
        told(&mut watch);
        let faults = format!(r#"[{{"on":"{on}","do":"error","errno":"EMFILE"}}]"#);
        ground.machine.set_faults(&faults).expect("faults");
        ground.publish("a", "idle");
        assert_eq!(told(&mut watch), ["a unreadable-record"], "{on}");
        assert_eq!(told(&mut watch), ["a idle"], "{on}");
        ground.publish("a", "active");
        assert_eq!(told(&mut watch), ["a active"], "{on}");
    }
    let mut watch = watching(&ground, "a", WatchProbe::None, &options, ground.host());
    told(&mut watch);
    ground.machine.set_faults(r#"[{"on":"read","do":"error","errno":"EIO"}]"#).expect("faults");
    ground.publish("a", "idle");
    assert_eq!(told(&mut watch), [". unreadable-record"]);
    assert_eq!(told(&mut watch), [". idle"]);
}

#[test]
fn hs_93_whatever_operation_fails_nothing_is_missed_for_longer_than_an_interval() {
    let ground = Ground::new();
    let options = WatchOptions { poll_interval: Duration::from_millis(10), ..WatchOptions::default() };
    let watch_fleet = || fleet_with(&ground, FleetProbe::None, &options);
    let watch_record = || watching(&ground, "host/a", WatchProbe::None, &options, ground.host());
    type Watched<'a> = (&'a dyn Fn() -> Watch, &'static str);
    let watched: [Watched<'_>; 2] = [(&watch_fleet, "host/a"), (&watch_record, ".")];
    for (open, agent) in watched {
        ground.publish("host/a", "active");
        let before = ground.machine.operations().len();
        let mut watch = open();
        told(&mut watch);
        ground.publish("host/a", "idle");
        told_at_last(&mut watch, &format!("{agent} idle"));
        let operations = ground.machine.operations().len() - before;
        assert!(operations > 15);
        for number in 1..=operations {
            ground.publish("host/a", "active");
            let at = ground.machine.operations().len() + number;
            let fault = format!(r#"[{{"at":{at},"do":"error","errno":"EMFILE"}}]"#);
            ground.machine.set_faults(&fault).expect("faults");
            let mut watch = open();
            told_at_last(&mut watch, &format!("{agent} active"));
            ground.publish("host/a", "idle");
            told_at_last(&mut watch, &format!("{agent} idle"));
            while watch.next(Some(Duration::from_millis(25))).expect("no error").is_some() {}
            // The directories above are watched as well, whatever failed.
            std::fs::rename(ground.root(), ground.beside("away")).expect("moved");
            told_at_last(&mut watch, &format!("{agent} -"));
            std::fs::rename(ground.beside("away"), ground.root()).expect("moved");
            told_at_last(&mut watch, &format!("{agent} idle"));
        }
    }
}

#[test]
fn hs_93_notices_that_the_system_dropped_lose_nothing() {
    let ground = Ground::new();
    ground.publish("a", "active");
    ground.publish("b", "active");
    let mut watch = fleet(&ground);
    told(&mut watch);
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a limit");
    let limit: u32 = limit.trim().parse().expect("a number");
    for number in 0..limit / 2 + 10 {
        let path = ground.path(&format!("a/noise-{}", number % 2));
        std::fs::write(&path, "x").expect("written");
        std::fs::remove_file(&path).expect("removed");
    }
    ground.publish("b", "idle");
    ground.publish("new", "ready");
    assert_eq!(told(&mut watch), ["b idle", "new ready"]);
    ground.publish("new", "idle");
    assert_eq!(told(&mut watch), ["new idle"]);
}

#[test]
fn hs_93_it_offers_a_descriptor_that_can_be_polled() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let mut watch = fleet(&ground);
    assert!(watch.poll().expect("no error").is_some());
    assert!(!is_readable(&watch, Duration::from_millis(30)));
    ground.publish("a", "idle");
    // As an event loop does it: whenever it is readable, poll.
    let change = loop {
        assert!(is_readable(&watch, Duration::from_secs(60)), "it wakes");
        if let Some(change) = watch.poll().expect("no error") {
            break change;
        }
    };
    assert_eq!(words(&change), ["a idle"]);
    assert!(watch.poll().expect("no error").is_none());
    assert!(!is_readable(&watch, Duration::from_millis(30)));
}

#[test]
fn hs_93_a_wait_can_be_ended_from_another_thread() {
    fn may_go_to_another_thread(_: &impl Send) {}
    let ground = Ground::new();
    ground.publish("a", "active");
    let mut watch = fleet(&ground);
    told(&mut watch);
    may_go_to_another_thread(&watch);
    let waker = watch.waker();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            ground.publish("a", "idle");
            waker.wake();
        });
        let mut ended = false;
        let mut change = None;
        while !ended || change.is_none() {
            match watch.next(LONG) {
                Ok(told) => change = Some(told.expect("a change")),
                Err(error) => {
                    assert_eq!(error.code(), Code::Cancelled);
                    ended = true;
                }
            }
        }
        assert_eq!(change.as_ref().map(words), Some(vec!["a idle".to_owned()]), "nothing is lost by it");
    });
    waker.wake();
    assert!(is_readable(&watch, Duration::from_secs(60)));
    assert_eq!(watch.next(QUIET).err().map(|error| error.code()), Some(Code::Cancelled), "the next one");
    assert!(is_quiet(&mut watch));
    watch.close();
    waker.wake();
}

#[test]
fn hs_93_a_wake_that_comes_during_a_turn_ends_the_wait_after_it() {
    let host = Host::system();
    let mut notifier = host.files.notifier(&host.clock).expect("a notifier");
    assert!(!notifier.was_woken());
    notifier.waker().wake();
    // The turn takes whatever is readable, the wake's own sign with it.
    notifier.drain(&mut |_| {}).expect("drained");
    let started = host.clock.awake();
    notifier.wait(Some(Duration::from_secs(30))).expect("waited");
    assert!(host.clock.awake().saturating_sub(started) < Duration::from_secs(15));
    assert!(notifier.was_woken() && !notifier.was_woken());
    // Asked for, it ends no further wait.
    let started = host.clock.awake();
    notifier.wait(Some(Duration::from_millis(60))).expect("waited");
    assert!(host.clock.awake().saturating_sub(started) >= Duration::from_millis(50));
}

#[test]
fn hs_93_closing_leaves_no_thread_and_no_descriptor() {
    let ground = Ground::new();
    let session = session(&ground, "a");
    let count = |directory: &str| std::fs::read_dir(directory).expect("listed").count();
    // A child has one thread, and no descriptor comes and goes by what other tests do.
    let failed = in_forked_child(|| {
        let before = (count("/proc/self/fd"), count("/proc/self/task"));
        let mut watches = vec![
            fleet_with(&ground, FleetProbe::Lease, &WatchOptions::default()),
            watching(&ground, "a", WatchProbe::Lease, &WatchOptions::default(), ground.host()),
        ];
        for watch in &mut watches {
            told(watch);
        }
        ground.publish("b", "idle");
        told_at_last(&mut watches[0], "b idle");
        if count("/proc/self/task") != 1 || count("/proc/self/fd") != before.0 + 10 {
            return 1;
        }
        let waker = watches[0].waker();
        watches.into_iter().for_each(Watch::close);
        let after = (count("/proc/self/fd"), count("/proc/self/task"));
        drop(waker);
        u8::from(after != before) * 2
    });
    assert_eq!(failed, 0);
    drop(session);
}

#[test]
fn hs_93_without_descriptors_it_says_so() {
    let ground = Ground::new();
    let failed = in_forked_child(|| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure outlives the call, which changes this child only.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) }, 0);
        let options = (WatchOptions::default(), Options::default());
        let refused =
            Watch::record(ground.path("a"), WatchProbe::None, &options.0, &options.1, ground.host());
        u8::from(refused.err().map(|error| error.code()) != Some(Code::HarnessStateIo))
    });
    assert_eq!(failed, 0);
}

#[test]
fn hs_93_in_a_forked_child_it_is_dead_and_the_parents_goes_on() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let mut watch = fleet(&ground);
    told(&mut watch);
    ground.publish("a", "idle");
    let failed = in_forked_child(|| {
        let refused = [watch.next(QUIET).err(), watch.poll().err()];
        let forked = refused
            .iter()
            .flatten()
            .filter(|error| error.code() == Code::HarnessStateInput && error.reason() == Some("forked"));
        watch.waker().wake();
        u8::from(forked.count() != 2 || watch.descriptor().is_some())
    });
    assert_eq!(failed, 0);
    assert_eq!(told(&mut watch), ["a idle"], "the child took no notice from it, and woke nobody");
}
